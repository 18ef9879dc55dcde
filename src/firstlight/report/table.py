"""Rows as aligned columns: calm text for a terminal, no frames."""

import re
import shutil
import unicodedata
from collections.abc import Sequence

GAP = "   "
LABEL = 11
"""Cells of what stands before lines that are labelled."""
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def width(text: str) -> int:
    """How many cells a terminal gives to a text; colours take none, wide characters two."""
    if text.isascii() and "\x1b" not in text:
        return len(text)  # most text, and a screen asks often
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in ESCAPE.sub("", text))


def render(rows: Sequence[Sequence[str]], *, indent: str = "", columns: int = 0) -> list[str]:
    """Lines with each column as wide as its widest cell; the last column is cut so that a line fits."""
    if not rows:
        return []
    widths = [max(width(row[n]) for row in rows if n < len(row)) for n in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [cell + " " * (widths[n] - width(cell)) for n, cell in enumerate(row[:-1])]
        line = (indent + GAP.join([*cells, row[-1]])).rstrip()
        lines.append(cut(line, columns) if columns else line)
    return lines


def wrapped(rows: Sequence[Sequence[str]], *, indent: str = "", columns: int, narrowest: int = 24) -> list[list[str]]:
    """Each row as lines that fit a terminal, with nothing cut off: the last column goes on below itself.

    Args:
        rows: All of the same length.
        indent: Before each line.
        columns: How wide the terminal is; 0 for lines of any length.
        narrowest: Cells that the last column has at least: where there are fewer, it stands below the others.
    """
    heads = render([[*row[:-1], "|"] for row in rows], indent=indent)
    found: list[list[str]] = []
    for row, line in zip(rows, heads, strict=True):
        head, left, last = line[:-1], width(line) - 1, row[-1]
        if not columns or left + width(last) <= columns:
            found.append([f"{head}{last}".rstrip()])
        elif columns - left >= narrowest:
            first, *rest = wrap(last, columns - left)
            found.append([f"{head}{first}", *(" " * left + each for each in rest)])
        else:
            below = " " * min(len(indent) + 4, columns // 4)
            found.append([cut(head.rstrip(), columns), *(below + each for each in wrap(last, columns - len(below)))])
    return found


def labelled(label: str, lines: Sequence[str]) -> list[str]:
    """Lines beside what they are about, which stands once; nothing where there are none."""
    if not lines:
        return []
    first, *rest = lines
    return [f"  {label:<{LABEL}}{first}", *(" " * (2 + LABEL) + each for each in rest)]


def wrap(text: str, cells: int) -> list[str]:
    """Words in lines of so many cells; a word that is too long is broken. One line at least."""
    found, line = [], ""
    for each in text.split():
        word = each
        while word:
            joined = f"{line} {word}" if line else word
            if width(joined) <= cells:
                line, word = joined, ""
            elif line:
                found.append(line)
                line = ""
            else:
                size = max(
                    1,
                    next(
                        n for n in range(min(len(word), max(4 * cells, 1)), 0, -1) if n == 1 or width(word[:n]) <= cells
                    ),
                )
                found.append(word[:size])
                word = word[size:]
    return [*found, line] if line or not found else found


def cut(line: str, columns: int) -> str:
    """A line that is no wider than the terminal, with a mark where it was cut."""
    if width(line) <= columns:
        return line
    kept, used, position = "", 0, 0
    while position < len(line):
        if match := ESCAPE.match(line, position):
            kept += match.group()
            position = match.end()
            continue
        cells = width(line[position])
        if used + cells > columns - 1:
            break
        kept, used, position = kept + line[position], used + cells, position + 1
    return kept + "…" + ("\x1b[0m" if "\x1b[" in kept else "")


def terminal_columns() -> int:
    """How wide the terminal is; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns
