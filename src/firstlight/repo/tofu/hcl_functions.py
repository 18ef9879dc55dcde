"""Functions and operators of OpenTofu whose results files alone can tell."""

import base64
import functools
import ipaddress
import itertools
import json
import operator
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.repo.go_template import unknown_values
from firstlight.repo.tofu.hcl_values import HclObject, UnknownValue

LARGEST = 20_000
"""Members of a collection."""


def call(name: str, arguments: Sequence[Any], source: str) -> Any:
    """Return the result of a function; ``UnknownValue`` if it is not one of these, or an argument is not known."""
    function = _FUNCTIONS.get(name)
    if function is None:
        return UnknownValue(source, f"the function {name} is not read")
    lazy = name in _TAKES_UNKNOWN
    for each in arguments:
        if isinstance(each, UnknownValue) and not lazy:
            return UnknownValue(source, each.reason)
    try:
        made = function(*arguments)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError):
        return UnknownValue(source, f"{name} does not take these arguments")
    if isinstance(made, list | dict) and len(made) > LARGEST:
        return UnknownValue(source, "it grows too large")
    return made


def operation(sign: str, values: Sequence[Any], source: str) -> Any:
    """Return the result of an operator."""
    known = [each for each in values if not isinstance(each, UnknownValue)]
    if sign == "&&" and any(each is False for each in known):
        return False
    if sign == "||" and any(each is True for each in known):
        return True
    if len(known) < len(values) or any(isinstance(each, str) and unknown_values.has_mark(each) for each in values):
        return UnknownValue(source, "an operand is not known")
    function = (_UNARY if len(values) == 1 else _BINARY).get(sign)
    if function is None:
        return UnknownValue(source, "this operator is not read")
    try:
        return function(*values)
    except (TypeError, ZeroDivisionError, OverflowError):
        return UnknownValue(source, "the operands do not fit")


_UNARY: Mapping[str, Callable[..., Any]] = {"!": operator.not_, "-": operator.neg}
_BINARY: Mapping[str, Callable[..., Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "&&": lambda one, other: one and other,
    "||": lambda one, other: one or other,
    "+": operator.add,
    "-": operator.sub,
    "*": lambda one, other: operator.mul(_number(one), _number(other)),
    "/": operator.truediv,
    "%": operator.mod,
}


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return value


def _merge(*maps: Any) -> Any:
    merged: dict[str, Any] = {}
    lines: dict[str, int] = {}
    places = [each.place for each in maps if isinstance(each, HclObject)]
    for each in maps:
        if each is None:
            continue
        merged |= each
        lines |= each.lines if isinstance(each, HclObject) else {}
    return HclObject(merged, places[0], lines) if places else merged


def _format(pattern: str, *values: Any) -> str:
    given = iter(values)

    def one(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = next(given)
        flags, verb = match[1], match[2]
        if verb == "d":
            return f"%{flags}d" % int(value)
        if verb in ("s", "v"):
            return f"%{flags}s" % _shown(value)
        if verb == "q":
            return json.dumps(value)
        raise ValueError(verb)

    if re.search(r"%[0-9]{4}", pattern):
        raise ValueError(pattern)
    return re.sub(r"%([-+ 0]?[0-9]{0,3}(?:\.[0-9]{1,2})?)([a-z])|%%", one, pattern)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise TypeError
    return str(value)


def _flatten(values: Sequence[Any]) -> list[Any]:
    made: list[Any] = []
    for each in values:
        made += _flatten(each) if isinstance(each, list) else [each]
    return made


def _lookup(values: Mapping[str, Any], key: Any, *otherwise: Any) -> Any:
    return values[str(key)] if str(key) in values or not otherwise else otherwise[0]


def _cidrhost(prefix: str, number: int) -> str:
    network = ipaddress.ip_network(prefix, strict=False)
    return str(network[int(number)])


def _coalesce(*values: Any) -> Any:
    for each in values:
        if isinstance(each, UnknownValue) or each not in (None, ""):
            return each
    raise ValueError("coalesce")


def _jsonencode(value: Any) -> str:
    if _has_unknown(value):
        raise ValueError("unknown")
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _has_unknown(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_unknown, value.values()))
    return any(map(_has_unknown, value)) if isinstance(value, list) else isinstance(value, UnknownValue)


def _indent(width: int, text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * min(int(width), 100) + each if each else each for each in rest)])


def _setproduct(*lists: Sequence[Any]) -> list[Any]:
    if functools.reduce(operator.mul, map(len, lists), 1) > LARGEST:
        raise ValueError("setproduct")
    return [list(each) for each in itertools.product(*lists)]


def _unique(values: Sequence[Any]) -> list[Any]:
    return [each for at, each in enumerate(values) if each not in values[:at]]


_TAKES_UNKNOWN = {"coalesce", "concat", "merge", "flatten", "tolist", "tomap", "toset", "sensitive", "nonsensitive"}
"""Functions whose result is known in part where an argument is."""
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abspath": lambda path: path,
    "base64encode": lambda text: base64.b64encode(text.encode()).decode(),
    "basename": posixpath.basename,
    "cidrhost": _cidrhost,
    "coalesce": _coalesce,
    "compact": lambda values: [each for each in values if each not in (None, "")],
    "concat": lambda *lists: [each for one in lists for each in (one if isinstance(one, list) else [one])],
    "contains": lambda values, one: one in values,
    "dirname": posixpath.dirname,
    "distinct": _unique,
    "element": lambda values, at: values[int(at) % len(values)],
    "endswith": lambda text, end: text.endswith(end),
    "flatten": _flatten,
    "format": _format,
    "indent": _indent,
    "join": lambda between, values: between.join(map(_shown, values)),
    "jsonencode": _jsonencode,
    "keys": lambda values: sorted(values),
    "length": len,
    "lookup": _lookup,
    "lower": lambda text: text.lower(),
    "max": max,
    "merge": _merge,
    "min": min,
    "nonsensitive": lambda value: value,
    "one": lambda values: values[0] if len(values) == 1 else None,
    "range": lambda *bounds: list(range(*(int(each) for each in bounds)))[: LARGEST + 1],
    "replace": lambda text, old, new: text.replace(old, new) if not old.startswith("/") else _refuse(),
    "reverse": lambda values: list(reversed(values)),
    "sensitive": lambda value: value,
    "setproduct": _setproduct,
    "slice": lambda values, start, end: values[int(start) : int(end)],
    "sort": sorted,
    "split": lambda between, text: text.split(between),
    "startswith": lambda text, start: text.startswith(start),
    "tobool": lambda value: {"true": True, "false": False}[_shown(value)],
    "tolist": lambda values: values if isinstance(values, UnknownValue) else list(values),
    "tomap": lambda values: values,
    "tonumber": lambda value: float(value) if "." in _shown(value) else int(value),
    "toset": lambda values: values if isinstance(values, UnknownValue) else _unique(list(values)),
    "tostring": _shown,
    "trim": lambda text, cut: text.strip(cut),
    "trimprefix": lambda text, cut: text.removeprefix(cut),
    "trimspace": lambda text: text.strip(),
    "trimsuffix": lambda text, cut: text.removesuffix(cut),
    "upper": lambda text: text.upper(),
    "values": lambda values: [values[key] for key in sorted(values)],
    "zipmap": lambda keys, values: dict(zip(map(str, keys), values, strict=True)),
}


def _refuse() -> Any:
    raise ValueError("a regular expression")
