"""Values as Go prints them."""

import math
from collections.abc import Mapping
from typing import Any

from firstlight.repo.go_template import limits
from firstlight.repo.go_template.problem import NotKnown
from firstlight.repo.go_template.unknown import Unknown

NO_VALUE = "<no value>"
_FIXED = (-4, 6)
"""Exponents between which Go prints a float without one."""


def shown(value: Any) -> str:
    """A value as an action prints it."""
    if isinstance(value, str):
        return value
    if value is None:
        return NO_VALUE
    return text(limits.value(value))


def text(value: Any) -> str:
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
        raise NotKnown(value.reason, name=value.name)
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{text(key)}:{text(value[key])}" for key in ordered(value)) + "]"
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(text(each) for each in value) + "]"
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
        raise NotKnown(value.reason, name=value.name)
    return bool(value)
