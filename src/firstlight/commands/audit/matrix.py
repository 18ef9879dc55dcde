"""Patterns against clusters, and against what reference platforms do."""

from collections.abc import Iterable, Iterator, Sequence

from firstlight.commands.audit import conditions, finding_words
from firstlight.commands.audit.rule_form import AuditPattern
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.drawing import decision_words, table
from firstlight.model.finding import Finding, Matrix, MatrixCell, MatrixRow, PatternStanding
from firstlight.repo.platform_view import PlatformView


def matrix(
    scene: PlatformView, book: AuditRulebook, found: Iterable[Finding], *, tried: Iterable[str], clusters: Sequence[str]
) -> Matrix:
    """The comparison.

    Args:
        scene: Tells to which clusters a pattern can apply.
        book: The patterns.
        found: All findings, excused ones included: an excuse does not make a cluster follow a pattern.
        tried: Ids of the rules that were run.
        clusters: The clusters that are compared.
    """
    known = frozenset(tried)
    by_rule: dict[str, list[Finding]] = {}
    for each in found:
        by_rule.setdefault(each.code, []).append(each)
    references = tuple(dict.fromkeys(name for each in book.patterns for name in each.references))
    rows = tuple(
        MatrixRow(
            pattern=each.id,
            title=each.title,
            cells=(
                *(_cell(each, scene, name, by_rule, known) for name in clusters),
                *(_reference(each, name) for name in references),
            ),
        )
        for each in book.patterns
    )
    return Matrix(columns=(*clusters, *references), references=len(references), rows=rows)


def _cell(
    pattern: AuditPattern, scene: PlatformView, cluster: str, by_rule: dict[str, list[Finding]], tried: frozenset[str]
) -> MatrixCell:
    answer = conditions.applicability(pattern.applies, scene, cluster)
    if answer.can_apply is False:
        return MatrixCell(standing=PatternStanding.NOT_APPLICABLE, why=answer.why)
    broken = [
        each
        for rule in pattern.rules
        for each in by_rule.get(rule, ())
        if not each.clusters or cluster in each.clusters
    ]
    if broken:
        rules = tuple(dict.fromkeys(each.code for each in broken))
        return MatrixCell(standing=PatternStanding.BREAKS, why=broken[0].message, rules=rules)
    if answer.can_apply is None:
        return MatrixCell(standing=PatternStanding.UNKNOWN, why=answer.why)
    if not any(rule in tried for rule in pattern.rules):
        return MatrixCell(standing=PatternStanding.UNKNOWN, why="none of its rules was tried")
    return MatrixCell(standing=PatternStanding.FOLLOWS)


def _reference(pattern: AuditPattern, name: str) -> MatrixCell:
    said = pattern.references.get(name)
    return MatrixCell(standing=PatternStanding(said)) if said else MatrixCell(standing=PatternStanding.UNKNOWN)


# The comparison as text: patterns down, clusters across, then references; below it why a cluster does not follow.


_TITLE = 30
"""Cells that a pattern's title has at least; where there are fewer, columns go to a table of their own."""
_GAP = "  "


def matrix_lines(found: Matrix, *, columns: int) -> list[str]:
    """The tables, what the marks mean, and the reasons."""
    told: list[str] = []
    for chosen in _chunks(found, columns):
        told += [*_table(found, chosen, columns), ""]
    legend = table.wrap(finding_words.LEGEND, columns) if table.width(finding_words.LEGEND) > columns else []
    told += legend or [finding_words.LEGEND]
    reasons = _reasons(found, columns)
    return [*told, "", *reasons] if reasons else told


def matrix_mark(cell: MatrixCell, *, is_reference: bool) -> str:
    """A cell in a sign."""
    if is_reference and cell.standing is PatternStanding.UNKNOWN:
        return finding_words.UNSAID
    return finding_words.STANDINGS[cell.standing]


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
    return max(3, table.width(decision_words.plain(name)))


def _table(found: Matrix, chosen: Sequence[int], columns: int) -> list[str]:
    names = [decision_words.plain(found.columns[n]) for n in chosen]
    first_reference = len(found.columns) - found.references
    taken = sum(_width(each) + len(_GAP) for each in names)
    longest = max((table.width(row.title) for row in found.rows), default=0)
    room = max(10, min(longest, columns - taken))
    told = [_line("", names, names, room)]
    for row in found.rows:
        marks = [matrix_mark(row.cells[n], is_reference=n >= first_reference) for n in chosen]
        first, *rest = table.wrap(decision_words.plain(row.title), room)
        told += [_line(first, marks, names, room), *(f"  {each}" for each in rest)]
    return told


def _line(title: str, cells: Sequence[str], names: Sequence[str], room: int) -> str:
    padded = [cell + " " * (_width(name) - table.width(cell)) for cell, name in zip(cells, names, strict=True)]
    return _GAP.join([title + " " * (room - table.width(title)), *padded]).rstrip()


def _reasons(found: Matrix, columns: int) -> list[str]:
    """Why clusters do not follow: the pattern once, then who, by which rules, and what the first of them says."""
    told: list[str] = []
    last = ""
    for title, names, rules, why in finding_words.broken_cells(found):
        if title != last:
            told += table.wrap(f"✘ {decision_words.plain(title)}", columns)
        last = title
        who = decision_words.plain(", ".join(names))
        told += [f"    {each}" for each in table.wrap(f"{who}: {decision_words.plain(why)}", columns - 4)]
        told += [f"      {each}" for each in table.wrap(", ".join(map(decision_words.plain, rules)), columns - 6)]
    return told
