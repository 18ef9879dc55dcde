"""How wide a text is, near enough for any sans-serif: pictures are drawn where no font can be asked."""

import functools
import unicodedata

_NARROW = frozenset("iljtfrI.,:;|!'()[]{}/\\-` ")
_WIDE = frozenset("mwMWOQGD%@—…›")


def width(text: str, size: float) -> float:
    """The width of a text in pixels."""
    return sum(_of(each) for each in text) * size


@functools.cache
def _of(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in _NARROW:
        return 0.34
    if character in _WIDE:
        return 0.82
    return 0.66 if character.isupper() else 0.575


def cut(text: str, size: float, limit: float) -> str:
    """A text that is no wider than the limit, with a mark where it was cut."""
    if width(text, size) <= limit:
        return text
    while text and width(f"{text}…", size) > limit:
        text = text[:-1]
    return f"{text.rstrip()}…"
