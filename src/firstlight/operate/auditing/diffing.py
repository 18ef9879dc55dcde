"""Two contents of a file as a unified diff that ``git apply`` takes, whatever their line ends."""

import difflib
import re

_ODD = re.compile(r'["\\\x00-\x1f\x7f]')
_NO_END = "\\ No newline at end of file\n"


def unified(path: str, before: bytes | None, after: bytes | None) -> str:
    """The difference; empty if there is none.

    Args:
        path: Relative to the directory in which the patch is applied.
        before: None for a file that is new.
        after: What it is to be; None for a file that goes.
    """
    old, new = _lines(before or b""), _lines(after or b"")
    names = (
        _name("a", path) if before is not None else "/dev/null",
        _name("b", path) if after is not None else "/dev/null",
    )
    lines = difflib.unified_diff(old, new, *names, lineterm="\n")
    return "".join(_ended(each) for each in lines)


def _lines(content: bytes) -> list[str]:
    """Lines with their ends, which only a line feed is: other separators belong to the text."""
    pieces = content.decode(errors="surrogateescape").split("\n")
    lines = [f"{each}\n" for each in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{_NO_END}"


def _name(side: str, path: str) -> str:
    """A name as Git writes it: odd ones in quotes, and a tab after those with spaces, so that they end somewhere."""
    name = f"{side}/{path}"
    if _ODD.search(name):
        escaped = _ODD.sub(lambda match: "\\" + (match[0] if match[0] in '"\\' else f"{ord(match[0]):03o}"), name)
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name
