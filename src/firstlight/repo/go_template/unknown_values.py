"""What a template cannot tell: its errors, the limits of what it may do, and values known only when something runs.

A lenient rendering puts a short mark where a value would stand, so that the YAML around it can still be read.
Afterwards ``settle`` makes values of ``Unknown`` from the strings with marks.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any


class GoTemplateError(ValueError):
    """A template that cannot be rendered: it is wrong, or asks for what reading alone cannot tell."""

    def __init__(self, reason: str, *, line: int = 0, name: str = "") -> None:
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.reason = reason
        self.line = line
        """In the template, from 1; 0 where it is not known."""
        self.name = name
        """The function, field or variable that is not known, as it is written."""
        self.is_secret = False
        """Whether it is only not known because it is encrypted."""

    def at(self, line: int) -> "GoTemplateError":
        """The same error with a line, unless it has one."""
        return self if self.line else GoTemplateError(self.reason, line=line, name=self.name)


class NotKnownBeforeRun(GoTemplateError):
    """The template may be right; what it asks for is only known when something runs."""

    def __init__(self, reason: str, *, line: int = 0, name: str = "", is_secret: bool = False) -> None:
        super().__init__(reason, line=line, name=name)
        self.is_secret = is_secret

    def at(self, line: int) -> "NotKnownBeforeRun":
        """The same error with a line, unless it has one."""
        if self.line:
            return self
        return NotKnownBeforeRun(self.reason, line=line, name=self.name, is_secret=self.is_secret)


class TemplateLimitExceeded(GoTemplateError):
    """A template that would never end, or fill the memory; it is given up, also where others would go on."""

    def at(self, line: int) -> "TemplateLimitExceeded":
        """The same error with a line, unless it has one."""
        return self if self.line else TemplateLimitExceeded(self.reason, line=line, name=self.name)


# How much a template may do; what strangers write must neither run for ever nor fill the memory.


MAX_TEMPLATE = 1_000_000
"""Characters of a template; the largest that people write have some thousand lines."""
MAX_TEXT = 4_000_000
"""Characters of any string that is made on the way, and of the result."""
MAX_ITEMS = 100_000
"""Values in one list or map, with all that is in them."""
MAX_STEPS = 200_000
"""Actions, loop turns and function calls."""
MAX_DEPTH = 60
"""Templates, blocks and values inside of each other; Python's stack is the reason."""


def limited_text(value: str) -> str:
    """A string that is short enough."""
    if len(value) > MAX_TEXT:
        raise TemplateLimitExceeded(f"a text grows beyond {MAX_TEXT} characters")
    return value


def check_repetition(length: int, times: int) -> None:
    """Refuse, before it is made, what would be too long."""
    if length * times > MAX_TEXT:
        raise TemplateLimitExceeded(f"a text grows beyond {MAX_TEXT} characters")


def limited_value(thing: Any) -> Any:
    """A value that can be walked through: not too large, not too deep, and not inside of itself."""
    _measure(thing, 0, 0)
    return thing


def _measure(thing: Any, seen: int, depth: int) -> int:
    seen += 1
    if depth > MAX_DEPTH:
        raise TemplateLimitExceeded(f"values are nested deeper than {MAX_DEPTH} levels")
    if seen > MAX_ITEMS:
        raise TemplateLimitExceeded(f"a value has more than {MAX_ITEMS} items")
    if isinstance(thing, Mapping):
        for each in thing.values():
            seen = _measure(each, seen, depth + 1)
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            seen = _measure(each, seen, depth + 1)
    return seen


# Values that are only known when something runs, and the marks that stand for them in a rendered text.


_OPEN, _CLOSE = "\ue0f0", "\ue0f1"  # from Unicode's private area: nobody writes them, and YAML takes them as letters
_MARK = re.compile(f"{_OPEN}([0-9]{{1,9}}){_CLOSE}")


class FirstDocument(dict[str, Any]):
    """The first of several documents of a text: whoever looks for something in it may mean another one."""


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
