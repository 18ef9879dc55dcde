"""How wide a text is, near enough for any sans-serif: pictures are drawn where no font can be asked."""

import functools
import re
import unicodedata
from xml.sax import saxutils

from firstlight.drawing import safe

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


_UNFIT = re.compile("[\ud800-\udfff\ufffe\uffff\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What XML does not take, and what would turn the direction of a text."""


def escaped(text: str) -> str:
    """A text of strangers for XML: shown as it is, obeyed never."""
    plain = _UNFIT.sub("\N{REPLACEMENT CHARACTER}", safe.text(text).replace("\t", " "))
    return saxutils.escape(plain, {'"': "&quot;"})
