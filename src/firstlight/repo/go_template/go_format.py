"""Values as Go prints them."""

import math
import re
from collections.abc import Mapping
from typing import Any

from firstlight.repo.go_template import unknown_values
from firstlight.repo.go_template.unknown_values import GoTemplateError, Unknown

NO_VALUE = "<no value>"
_FIXED = (-4, 6)
"""Exponents between which Go prints a float without one."""


def shown_value(value: Any) -> str:
    """A value as an action prints it."""
    if isinstance(value, str):
        return value
    if value is None:
        return NO_VALUE
    return printed_text(unknown_values.limited_value(value))


def printed_text(value: Any) -> str:
    """A value as ``%v`` prints it."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return floating(value)
    if isinstance(value, Unknown):
        raise value.error()
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{printed_text(key)}:{printed_text(value[key])}" for key in ordered(value)) + "]"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(printed_text(each) for each in value) + "]"
    return str(value)


def floating(value: float) -> str:
    """A float as ``%v`` prints it: the shortest digits, and an exponent only where it is very large or small."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    digits, _, exponent = f"{value!r}e0".partition("e")
    exponent = exponent.removesuffix("e0") or "0"
    sign = "-" if digits.startswith("-") else ""
    whole, _, part = digits.lstrip("-").partition(".")
    shift = int(exponent)
    number = (whole + part).lstrip("0")
    point = len(whole + part) - len((whole + part).lstrip("0"))
    scale = len(whole) + shift - point - 1  # of the first digit that is not 0
    number = number.rstrip("0") or "0"
    if not _FIXED[0] <= scale < _FIXED[1]:
        mantissa = number[0] + ("." + number[1:] if len(number) > 1 else "")
        return f"{sign}{mantissa}e{'-' if scale < 0 else '+'}{abs(scale):02d}"
    if scale < 0:
        return f"{sign}0.{'0' * (-scale - 1)}{number}"
    padded = number.ljust(scale + 1, "0")
    return sign + padded[: scale + 1] + ("." + padded[scale + 1 :] if len(padded) > scale + 1 else "")


def ordered(value: Mapping[Any, Any]) -> list[Any]:
    """The keys of a map in the order in which Go walks through it."""
    return sorted(
        value, key=lambda key: (isinstance(key, str), key if isinstance(key, (str, int, float)) else str(key))
    )


def is_true(value: Any) -> bool:
    """Whether Go takes a value for true: neither zero nor empty."""
    if isinstance(value, Unknown):
        raise value.error()
    return bool(value)


# ``printf`` with Go's verbs.


_VERB = re.compile(r"%([-+# 0]*)(\d*)(?:\.(\d*))?(.)", re.DOTALL)
_MAX_WIDTH = 1000
"""Columns; more is not a table but an attack."""


def printf(form: str, *values: Any) -> str:
    """A text with values put into it.

    Raises:
        TemplateError: There are too few or too many values, or a width that nobody means.
    """
    left = list(values)

    def verb(match: re.Match[str]) -> str:
        flags, width, precision, letter = match.groups()
        if letter == "%":
            return "%"
        if (
            len(width) > 4
            or len(precision or "") > 4
            or int(width or 0) > _MAX_WIDTH
            or int(precision or 0) > _MAX_WIDTH
        ):
            raise GoTemplateError(f"{match.group()[:20]} is too wide", name="printf")
        if not left:
            raise GoTemplateError(f"printf has no value for {match.group()}", name="printf")
        text = _one(letter, flags, None if precision is None else int(precision or 0), left.pop(0))
        if "-" in flags:
            return text.ljust(int(width or 0))
        if "0" in flags and letter in "dfx":
            return text.zfill(int(width or 0))
        return text.rjust(int(width or 0))

    unknown_values.check_repetition(_MAX_WIDTH, form.count("%"))
    unknown_values.check_repetition(sum(len(each) for each in values if isinstance(each, str)) + len(form), 1)
    found = _VERB.sub(verb, form)
    if left:
        raise GoTemplateError("printf is given more values than it has verbs", name="printf")
    return found


def _one(letter: str, flags: str, precision: int | None, value: Any) -> str:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if letter == "s" and isinstance(value, list):
        return "[" + " ".join(_one("s", flags, precision, each) for each in unknown_values.limited_value(value)) + "]"
    if letter in "vs" and (letter == "v" or isinstance(value, (str, dict))):
        text = printed_text(unknown_values.limited_value(value))
        return text if precision is None or letter == "v" else text[:precision]
    if letter == "d" and is_int:
        return ("+" if "+" in flags and value >= 0 else "") + str(value)
    if letter == "t" and isinstance(value, bool):
        return printed_text(value)
    if letter == "q" and isinstance(value, str):
        return quoted(value)
    if letter in "xX" and (is_int or isinstance(value, str)):
        text = f"{value:x}" if is_int else value.encode().hex()
        return text.upper() if letter == "X" else text
    if letter in "feg" and isinstance(value, float):
        return floating(value) if letter == "g" else f"{value:.{6 if precision is None else precision}{letter}}"
    if letter == "c" and is_int and 0 <= value < 0x110000:
        return chr(value)
    # Go says it this way, and goes on.
    return f"%!{letter}({_type(value)}={printed_text(unknown_values.limited_value(value))})"


def _type(value: Any) -> str:
    kinds = {bool: "bool", int: "int", float: "float64", str: "string"}
    return kinds.get(type(value), "<nil>" if value is None else type(value).__name__)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
            "\\": "\\\\", '"': '\\"'}  # fmt: skip


def quoted(text: str) -> str:
    """A string in double quotes, as ``%q`` writes it; printable characters stay as they are."""
    return '"' + "".join(_escaped(each) for each in text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
