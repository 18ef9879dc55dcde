"""Two command lines compared word by word."""

import difflib
import re
import shlex
from collections.abc import Iterator

from firstlight.repo.changing import writing
from firstlight.repo.changing.comparing import Steps

_ASSIGNMENT = re.compile(
    r"(?:(?:export|readonly|local)\s+)?(?P<name>[A-Za-z_][\w.-]*)\s*(?::=|\?=|=|:)\s*(?P<value>[^=].*|)"
)
_PROGRAM = re.compile(r"[\w$./{-]")
_ALIKE = 0.4
"""Of the words of two lines, from which on one is the other with other arguments."""

Words = Iterator[tuple[Steps, str | None, str | None]]


def words(before: str, after: str) -> Words:
    """The arguments that differ between command lines of one program, or the value of a variable; else nothing."""
    one, other = _ASSIGNMENT.fullmatch(before), _ASSIGNMENT.fullmatch(after)
    if one and other and one["name"] == other["name"]:
        yield (one["name"],), one["value"].strip("\"' "), other["value"].strip("\"' ")
        return
    first, second = _split(before), _split(after)
    if len(first) < 2 or len(second) < 2 or first[0] != second[0] or not _PROGRAM.match(first[0]):
        return
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return
    differing = [each for each in matcher.get_opcodes() if each[0] != "equal"]
    if any(map(_is_other_command, (word for _, i, j, k, m in differing for word in (*first[i:j], *second[k:m])))):
        return
    for _, i, j, k, m in differing:
        for at in range(max(j - i, m - k)):
            was = first[i + at] if i + at < j else None
            will = second[k + at] if k + at < m else None
            flag = first[i - 1] if at == 0 and i and first[i - 1].startswith("-") and "=" not in first[i - 1] else ""
            yield _word(was, will, flag, k + at)


def _is_other_command(word: str) -> bool:
    """Whether a line with this word does something else than one without: it is more than an argument."""
    return word in writing.WEIGHTY or any(mark in word for mark in (";", "|", "&", "`", "$("))


def _word(was: str | None, will: str | None, flag: str, at: int) -> tuple[Steps, str | None, str | None]:
    """One word of a command, under the name of its flag: ``--version 1.2`` and ``--set a.b=c`` alike."""
    steps: Steps = (flag,) if flag else ()
    while True:
        given = [each for each in (was, will) if each is not None]
        names = {each.partition("=")[0] for each in given}
        if len(steps) > 1 or len(names) > 1 or not all("=" in each for each in given):
            return steps or (f"[{at}]",), was, will
        steps = (*steps, names.pop())
        was, will = (None if each is None else each.partition("=")[2] for each in (was, will))


def _split(text: str) -> list[str]:
    text = text.strip().removesuffix("\\").removeprefix("@")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
