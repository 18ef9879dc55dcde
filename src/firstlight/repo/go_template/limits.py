"""How much a template may do; what strangers write must neither run for ever nor fill the memory."""

from collections.abc import Mapping
from typing import Any

from firstlight.repo.go_template.problem import TooMuch

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


def text(value: str) -> str:
    """A string that is short enough."""
    if len(value) > MAX_TEXT:
        raise TooMuch(f"a text grows beyond {MAX_TEXT} characters")
    return value


def repeated(length: int, times: int) -> None:
    """Refuse, before it is made, what would be too long."""
    if length * times > MAX_TEXT:
        raise TooMuch(f"a text grows beyond {MAX_TEXT} characters")


def value(thing: Any) -> Any:
    """A value that can be walked through: not too large, not too deep, and not inside of itself."""
    _measure(thing, 0, 0)
    return thing


def _measure(thing: Any, seen: int, depth: int) -> int:
    seen += 1
    if depth > MAX_DEPTH:
        raise TooMuch(f"values are nested deeper than {MAX_DEPTH} levels")
    if seen > MAX_ITEMS:
        raise TooMuch(f"a value has more than {MAX_ITEMS} items")
    if isinstance(thing, Mapping):
        for each in thing.values():
            seen = _measure(each, seen, depth + 1)
    elif isinstance(thing, (list, tuple)):
        for each in thing:
            seen = _measure(each, seen, depth + 1)
    return seen
