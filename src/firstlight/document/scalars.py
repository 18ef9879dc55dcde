"""What a plain scalar means to Go: the rules of its YAML libraries, word for word.

Kubernetes reads with ``go.yaml.in/yaml/v2`` and makes JSON of it, Talos and Omni read with ``go.yaml.in/yaml/v4``.
Neither follows a YAML standard: ``0777`` is octal to both, ``y`` is true to one of them, ``12:30`` a text to both.
"""

import datetime
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

FIRST = frozenset("+-.0123456789yYnNtTfFoO~<") | {""}
"""First characters of the plain scalars that may be something else than a text; nothing at all is a null."""

_COMMON: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_V2 = {
    **_COMMON,
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_V4 = {**_COMMON, "-0": -0.0, "-0.0": -0.0}
_NUMERIC = frozenset("+-.0123456789")

_INT = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_ODD_BINARY = re.compile(r"0b[-+][01]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOTTED = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
"""What begins with a dot Go parses as it is, and underscores must stand between digits; else it drops them first."""
_TIME = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})"
    r"(?:(?P<gap>[Tt ])(?P<time>[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2})(?:[.,](?P<part>[0-9]+))?"
    r"(?P<zone>Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_LONGEST = 400
"""Characters of a number: no finite one that people write has more, and Python is slow with thousands of digits."""


def kubernetes(text: str) -> Any:
    """As yaml.v2 reads it, before it becomes JSON."""
    if text[:1] not in FIRST:
        return text
    if text in _V2:
        return _V2[text]
    if text[0] not in _NUMERIC:
        return text
    number = _number(text)
    if number is None and _ODD_BINARY.fullmatch(plain := text.replace("_", "")):
        number = _fitting(int(plain[2:], 2))  # it takes the prefix off, and only then looks for a sign
    return text if number is None else number


def talos(text: str) -> Any:
    """As yaml.v4 reads it; a date is a text as Go writes dates."""
    if text[:1] not in FIRST:
        return text
    if text in _V4:
        return _V4[text]
    if text[0] not in _NUMERIC:
        return text
    moment = time(text)
    if moment is not None:
        return moment
    number = _number(text)
    return text if number is None else number


def is_text(text: str) -> bool:
    """Whether both dialects read a plain scalar as the text that it is."""
    return text[:1] not in FIRST or (
        text not in _V2
        and text != "<<"
        and isinstance(kubernetes(text), str)
        and time(text) is None
        and _number(text) is None
    )


def as_json(value: Any) -> Any:
    """A number as JSON tells it on: whole ones are integers, whatever they were before.

    Raises:
        ValueError: JSON has no such number.
    """
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise ValueError("Kubernetes knows no such number")
    if value.is_integer() and abs(value) < 1 << 63:
        return int(Decimal(repr(value)))  # the digits that Go writes, not those that the float stands for
    return value


def key_of(value: Any) -> str:
    """A key as Kubernetes turns it into a text.

    Raises:
        ValueError: It refuses such a key.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if value < 1 << 63:
            return str(value)
        case float():
            return _short(value)
        case None:
            raise ValueError("a key is empty")
    raise ValueError("a key is no text")


def typed_key(text: str) -> str:
    """A key as Talos reads it, whose keys are always texts: as it is written.

    Raises:
        ValueError: It refuses such a key.
    """
    if text in _V4 and _V4[text] is None:
        raise ValueError("a key is empty")
    return text


def format_float(number: float) -> str:
    """As Go's strconv writes the shortest form, with an exponent from a million on."""
    return _shortest(number, repr(number))


def _number(text: str) -> int | float | None:
    if len(text) > _LONGEST:
        return None
    plain = text.replace("_", "")
    if text[0] == ".":
        if plain != text and not _DOTTED.fullmatch(text):
            return None
    else:
        if _INT.fullmatch(plain):
            number = int(plain, 8) if _OCTAL.fullmatch(plain) else int(plain, 0)
            fitting = _fitting(number, signed=plain[0] in "+-")
            if fitting is not None:
                return fitting
    if _FLOAT.fullmatch(plain) and math.isfinite(real := float(plain)):
        return real
    return None


def _fitting(number: int, *, signed: bool = False) -> int | None:
    """A number that fits into Go's integers; without a sign one more bit does."""
    return number if -(1 << 63) <= number < 1 << (63 if signed else 64) else None


def time(text: str) -> str | None:
    """A date or a time in the forms that Go takes for one, as Go writes it again; None if it is none."""
    found = _TIME.fullmatch(text)
    # A T needs a zone, and a space must have none.
    if not found or (found["gap"] is not None and (found["gap"] == " ") == (found["zone"] is not None)):
        return None
    year, month, day = (int(each) for each in found["date"].split("-"))
    hour, minute, second = (int(each) for each in (found["time"] or "0:0:0").split(":"))
    zone = found["zone"] or "Z"
    if zone != "Z" and (int(zone[1:3]) > 24 or int(zone[4:]) > 60):
        return None
    try:
        # A year that Python does not have is as long as 2000, which is also a leap year.
        datetime.datetime(year or 2000, month, day, hour, minute, second)
    except ValueError:
        return None
    part = (found["part"] or "")[:9].rstrip("0")
    zone = "Z" if zone[1:] == "00:00" else zone
    return (
        f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        f"{'.' if part else ''}{part}{zone}"
    )  # fmt: skip


def _short(number: float) -> str:
    """A float as a key: Go writes it with the precision of 32 bits."""
    if math.isnan(number):
        return ".nan"
    try:
        rounded = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        rounded = math.copysign(math.inf, number)
    if math.isinf(rounded):
        return ".inf" if rounded > 0 else "-.inf"
    for digits in range(1, 10):
        written = f"{rounded:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(written)))[0] == rounded:
            return _shortest(rounded, written)
    return _shortest(rounded, repr(rounded))


def _shortest(number: float, written: str) -> str:
    sign, digits, exponent = Decimal(written).normalize().as_tuple()
    assert isinstance(exponent, int)
    figures, minus = "".join(map(str, digits)), "-" if sign else ""
    power = len(figures) + exponent - 1
    if number == 0:
        return f"{minus}0"
    if -4 <= power < 6:
        return f"{minus}{Decimal(written).normalize().copy_abs():f}"
    rest = f".{figures[1:]}" if figures[1:] else ""
    return f"{minus}{figures[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"


class ScalarCache(dict[str, Any]):
    """What plain scalars mean, remembered: names and numbers come again and again in a repo."""

    def __init__(self, resolve: Callable[[str], Any]) -> None:
        super().__init__()
        self._resolve = resolve

    def __missing__(self, text: str) -> Any:
        value = self._resolve(text)
        if len(text) <= _REMEMBERED_LENGTH:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[text] = value
        return value


_REMEMBERED = 50_000
_REMEMBERED_LENGTH = 64
"""Bounds of what is remembered, so that a hostile repo does not fill the memory."""
