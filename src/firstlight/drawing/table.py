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
    for word in text.split():
        if width(word) <= cells and line and width(line) + 1 + width(word) <= cells:
            line = f"{line} {word}"
            continue
        found += [line] if line else []
        *whole, line = _pieces(word, cells)
        found += whole
    return [*found, line] if line or not found else found


def _pieces(word: str, cells: int) -> list[str]:
    """A word in pieces of so many cells, each of one character at least; colours stay with what they are before."""
    found: list[str] = []
    start = position = used = 0
    while position < len(word):
        if match := ESCAPE.match(word, position):
            position = match.end()
            continue
        more = width(word[position])
        if used and used + more > cells:
            found.append(word[start:position])
            start, used = position, 0
        used, position = used + more, position + 1
    return [*found, word[start:]]


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


# A command on as many lines as it needs: each but the last ends in a backslash, so that it can still be pasted.


_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""")
_OPTION = re.compile(r"-[a-zA-Z]|--[\w-]*")
_MORE = " \\"
_INDENT = "  "


def wrapped_command(command: str, cells: int) -> list[str]:
    """The lines of a command; a word that is wider than all of them stands on one of its own."""
    if width(command) <= cells:
        return [command]
    words = _WORD.findall(command)
    if " ".join(words) != command:  # quotes that do not end: nobody knows where a word does
        return [command]
    lines, line = list[str](), words[0]
    for each in _units(words[1:]):
        if width(f"{line} {each}{_MORE}") <= cells:
            line = f"{line} {each}"
        else:
            lines.append(f"{line}{_MORE}")
            line = f"{_INDENT}{each}"
    return [*lines, line]


def _units(words: Sequence[str]) -> list[str]:
    """Words, an option together with what it is set to."""
    found: list[str] = []
    for each in words:
        if found and _OPTION.fullmatch(found[-1]) and not each.startswith("-"):
            found[-1] = f"{found[-1]} {each}"
        else:
            found.append(each)
    return found


_NARROWEST = 12
"""Cells of a column that is cut: a name should still be told from another."""


def fitted(rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    """Rows as aligned lines that fit a terminal: the widest columns give way first."""
    if not rows:
        return []
    widths = [max(width(row[index]) for row in rows) for index in range(len(rows[0]))]
    gaps = 2 + len(GAP) * (len(widths) - 1)
    while sum(widths) + gaps > columns and max(widths) > _NARROWEST:
        # Names matter more than the rest.
        widest = max(range(len(widths)), key=lambda index: widths[index] / (1.6 if index == 1 else 1.0))
        widths[widest] -= 1
    return render([[cut(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows], indent="  ")
