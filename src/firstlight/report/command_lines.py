"""A command on as many lines as it needs: each but the last ends in a backslash, so that it can still be pasted."""

import re
from collections.abc import Sequence

from firstlight.report import table

_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+""")
_OPTION = re.compile(r"-[a-zA-Z]|--[\w-]*")
_MORE = " \\"
_INDENT = "  "


def wrapped(command: str, cells: int) -> list[str]:
    """The lines of a command; a word that is wider than all of them stands on one of its own."""
    if table.width(command) <= cells:
        return [command]
    words = _WORD.findall(command)
    if " ".join(words) != command:  # quotes that do not end: nobody knows where a word does
        return [command]
    lines, line = list[str](), words[0]
    for each in _units(words[1:]):
        if table.width(f"{line} {each}{_MORE}") <= cells:
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
