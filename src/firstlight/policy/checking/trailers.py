"""Trailers of a commit's message, found as ``git interpret-trailers --parse --no-divider`` finds them.

They are in the last paragraph alone, and never in the first, which is the title. A paragraph in which not every line is
a trailer has none, unless Git itself wrote one of them and at least a quarter of the lines are.
"""

import dataclasses
import re
from collections.abc import Iterator

_TRAILER = re.compile(r"(?P<key>[A-Za-z0-9-]+)[ \t]*:(?P<value>.*)")
_OF_GIT = ("Signed-off-by: ", "(cherry picked from commit ")
_SPACE = " \t\r\n"
"""What Git takes for space; Python knows more."""
_SCISSORS = "# ------------------------ >8 ------------------------"
_CONFLICTS = "Conflicts:"
_PERSON = re.compile(r"(?P<name>[^<>]*)<(?P<email>[^<>\s]+)>\s*")


@dataclasses.dataclass(frozen=True, slots=True)
class Trailer:
    """One line at the end of a message."""

    key: str
    value: str


@dataclasses.dataclass(frozen=True, slots=True)
class Named:
    """A person as a trailer names one."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>" if self.name else self.email


def of_body(body: str) -> tuple[Trailer, ...]:
    """The trailers of a message without its title.

    Args:
        body: What follows the title and the blank lines after it.
    """
    return _of_block(_last_paragraph(body))


def person(value: str) -> Named | None:
    """Whom a trailer names; None where it is no ``Name <address>``."""
    found = _PERSON.fullmatch(value.strip())
    return Named(" ".join(found["name"].split()), found["email"]) if found else None


def _last_paragraph(body: str) -> list[str]:
    """The lines after the last blank one, comments left out as Git leaves them out."""
    block: list[str] = []
    for line in reversed(_message(body.split("\n"))):
        if line.strip(_SPACE):
            block.append(line)
        elif any(not each.startswith("#") for each in block):
            break
    return block[::-1]


def _message(lines: list[str]) -> list[str]:
    """What Git takes for the message: nothing from scissors on, and no comments and conflicts at its end."""
    if _SCISSORS in lines:
        lines = lines[: lines.index(_SCISSORS)]
    end: int | None = None
    is_conflicts = False
    for number, line in enumerate(lines):
        if not line or line.startswith("#") or line == _CONFLICTS:
            is_conflicts = is_conflicts or line == _CONFLICTS
            end = number if end is None else end
        elif not (is_conflicts and line.startswith("\t")):
            end, is_conflicts = None, False
    return lines[:end]


def _of_block(lines: list[str]) -> tuple[Trailer, ...]:
    return tuple(_trailers(lines)) if _is_block(lines) else ()


def _is_block(lines: list[str]) -> bool:
    trailers = others = inner = 0
    is_of_git = False
    for line in reversed(lines):
        if line.startswith("#"):
            others, inner = others + inner, 0
        elif line.startswith(_OF_GIT):
            is_of_git = True
            trailers, inner = trailers + 1, 0
        elif _TRAILER.fullmatch(line):
            trailers, inner = trailers + 1, 0
        elif line[0] in _SPACE:
            inner += 1  # it goes on with the line above, if that is a trailer
        else:
            others, inner = others + inner + 1, 0
    others += inner
    return (is_of_git and trailers * 3 >= others) or (trailers > 0 and not others)


def _trailers(lines: list[str]) -> Iterator[Trailer]:
    last: Trailer | None = None
    for line in lines:
        if last is not None and line[0] in _SPACE:
            last = Trailer(last.key, f"{last.value} {line.strip(_SPACE)}".strip(_SPACE))
            continue
        if last is not None:
            yield last
        match = _TRAILER.fullmatch(line)
        last = Trailer(match["key"], match["value"].strip(_SPACE)) if match else None
    if last is not None:
        yield last
