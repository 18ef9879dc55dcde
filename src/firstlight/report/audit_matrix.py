"""The comparison as text: patterns down, clusters across, then references; below it why a cluster does not follow."""

from collections.abc import Iterator, Sequence

from firstlight.model.finding import Cell, Matrix, Standing
from firstlight.report import audit_words as words
from firstlight.report import decision_words as texts
from firstlight.report import table

_TITLE = 30
"""Cells that a pattern's title has at least; where there are fewer, columns go to a table of their own."""
_GAP = "  "


def lines(found: Matrix, *, columns: int) -> list[str]:
    """The tables, what the marks mean, and the reasons."""
    told: list[str] = []
    for chosen in _chunks(found, columns):
        told += [*_table(found, chosen, columns), ""]
    legend = table.wrap(words.LEGEND, columns) if table.width(words.LEGEND) > columns else []
    told += legend or [words.LEGEND]
    reasons = _reasons(found, columns)
    return [*told, "", *reasons] if reasons else told


def mark(cell: Cell, *, is_reference: bool) -> str:
    """A cell in a sign."""
    if is_reference and cell.standing is Standing.UNKNOWN:
        return words.UNSAID
    return words.STANDINGS[cell.standing]


def _chunks(found: Matrix, columns: int) -> Iterator[list[int]]:
    """Columns that fit beside the titles; all of them, if they do."""
    chosen: list[int] = []
    left = columns - _TITLE
    for number, name in enumerate(found.columns):
        cells = _width(name) + len(_GAP)
        if chosen and cells > left:
            yield chosen
            chosen, left = [], columns - _TITLE
        chosen.append(number)
        left -= cells
    if chosen or not found.columns:
        yield chosen


def _width(name: str) -> int:
    return max(3, table.width(texts.plain(name)))


def _table(found: Matrix, chosen: Sequence[int], columns: int) -> list[str]:
    names = [texts.plain(found.columns[n]) for n in chosen]
    first_reference = len(found.columns) - found.references
    taken = sum(_width(each) + len(_GAP) for each in names)
    longest = max((table.width(row.title) for row in found.rows), default=0)
    room = max(10, min(longest, columns - taken))
    told = [_line("", names, names, room)]
    for row in found.rows:
        marks = [mark(row.cells[n], is_reference=n >= first_reference) for n in chosen]
        first, *rest = table.wrap(texts.plain(row.title), room)
        told += [_line(first, marks, names, room), *(f"  {each}" for each in rest)]
    return told


def _line(title: str, cells: Sequence[str], names: Sequence[str], room: int) -> str:
    padded = [cell + " " * (_width(name) - table.width(cell)) for cell, name in zip(cells, names, strict=True)]
    return _GAP.join([title + " " * (room - table.width(title)), *padded]).rstrip()


def _reasons(found: Matrix, columns: int) -> list[str]:
    """Why clusters do not follow: the pattern once, then who, by which rules, and what the first of them says."""
    told: list[str] = []
    last = ""
    for title, names, rules, why in words.broken_cells(found):
        if title != last:
            told += table.wrap(f"✘ {texts.plain(title)}", columns)
        last = title
        who = texts.plain(", ".join(names))
        told += [f"    {each}" for each in table.wrap(f"{who}: {texts.plain(why)}", columns - 4)]
        told += [f"      {each}" for each in table.wrap(", ".join(map(texts.plain, rules)), columns - 6)]
    return told
