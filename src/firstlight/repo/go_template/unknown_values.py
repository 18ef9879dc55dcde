"""Values that are only known when something runs, and how they pass through a rendered text.

A lenient rendering puts a short mark where a value would stand, so that the YAML around it can still be read.
Afterwards ``settle`` makes values of ``Unknown`` from the strings with marks.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.repo.go_template.template_errors import NotKnownBeforeRun

_OPEN, _CLOSE = "\ue0f0", "\ue0f1"  # from Unicode's private area: nobody writes them, and YAML takes them as letters
_MARK = re.compile(f"{_OPEN}([0-9]{{1,9}}){_CLOSE}")


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """A value that reading alone cannot tell."""

    text: str
    """As it is written, with its actions: ``v{{ requiredEnv "VERSION" }}``."""
    reason: str
    line: int = 0
    """In the template."""
    name: str = ""
    """The function, field or variable that is not known."""
    end: int = 0
    """Of a condition or loop: the line of its end."""
    is_wrong: bool = False
    """Whether nobody will know it: a run would fail here."""
    is_secret: bool = False
    """Whether it is only not known because it is encrypted."""

    def __str__(self) -> str:
        return self.text

    def error(self, name: str = "") -> NotKnownBeforeRun:
        """Return the error of a template that needs this value; the name is used where it has none."""
        return NotKnownBeforeRun(self.reason, name=self.name or name, is_secret=self.is_secret)


def mark(number: int) -> str:
    """The mark for one of the unknowns of a rendering."""
    return f"{_OPEN}{number}{_CLOSE}"


def has_mark(text: str) -> bool:
    """Whether something in a text is not known."""
    return _OPEN in text


def remove_marks(text: str) -> str:
    """A text in which nothing looks like a mark."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def without_marks(text: str) -> str:
    """A text without its marks."""
    return _MARK.sub("", text)


def restore(text: str, unknowns: Sequence[Unknown]) -> str:
    """A text with the actions back in the place of their marks."""

    def source(match: re.Match[str]) -> str:
        number = int(match[1])
        return unknowns[number].text if number < len(unknowns) else ""

    return _MARK.sub(source, text)


def find(text: str, unknowns: Sequence[Unknown]) -> list[Unknown]:
    """What the marks in a text stand for, in their order, each once."""
    numbers = dict.fromkeys(int(match[1]) for match in _MARK.finditer(text))
    return [unknowns[number] for number in numbers if number < len(unknowns)]


def settle(value: Any, unknowns: Sequence[Unknown]) -> Any:
    """A value read from a rendered text, with ``Unknown`` in the place of every string with a mark; keys too."""
    if not unknowns:
        return value
    return _settle(value, unknowns, {})


def _settle(value: Any, unknowns: Sequence[Unknown], done: dict[int, Any]) -> Any:
    if isinstance(value, str):
        return _text(value, unknowns) if has_mark(value) else value
    if not isinstance(value, (Mapping, list)):
        return value
    if id(value) in done:  # an anchor that is used again
        return done[id(value)]
    made: Any
    if isinstance(value, Mapping):
        made = {
            restore(key, unknowns) if isinstance(key, str) else key: _settle(each, unknowns, done)
            for key, each in value.items()
        }
    else:
        made = [_settle(each, unknowns, done) for each in value]
    done[id(value)] = made
    return made


def _text(value: str, unknowns: Sequence[Unknown]) -> Unknown:
    first = _MARK.search(value)
    number = int(first[1]) if first else len(unknowns)
    if number >= len(unknowns):
        return Unknown(remove_marks(value), "it is not known")
    cause = unknowns[number]
    return dataclasses.replace(cause, text=restore(value, unknowns))
