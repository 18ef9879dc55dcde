"""What a value must become so that what is made of it becomes another: the tag of an image, a port in a URL."""

from collections.abc import Iterator
from typing import Any

from firstlight.ownership.field_values import is_same

_SHORTEST = 2
"""Letters of a part of a text: single ones are everywhere."""


def derived(before: Any, after: Any, leaf: Any) -> Iterator[Any]:
    """The values that ``leaf`` may have to become, the likeliest first; none where nothing is made of it.

    Args:
        before: What is made of it now.
        after: What is to be made of it.
        leaf: The value as it is.
    """
    if is_same(leaf, before):
        yield after
        return
    if not _is_plain(before) or not _is_plain(after) or not _is_plain(leaf):
        return
    old, new, part = written(before), written(after), written(leaf)
    if part == old:
        yield from _typed(new, leaf)
        return
    if not isinstance(before, str) or len(part) < _SHORTEST:
        return
    at = old.find(part)
    while at >= 0:
        head, tail = old[:at], old[at + len(part) :]
        middle = new[at : len(new) - len(tail)]
        if middle and new == head + middle + tail:
            yield from _typed(middle, leaf)
        at = old.find(part, at + 1)


def written(value: Any) -> str:
    """A plain value as templates write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _typed(text: str, like: Any) -> Iterator[Any]:
    """A text as what the value was before, and else as a text."""
    if isinstance(like, bool):
        if text in ("true", "false"):
            yield text == "true"
    elif isinstance(like, int) and text.removeprefix("-").isdecimal() and str(int(text)) == text:
        yield int(text)
    yield text
