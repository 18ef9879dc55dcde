"""What goes wrong in a template."""

from collections.abc import Mapping
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
