"""What kinds of arguments a function takes; Go checks that before it calls, and so it is done here.

A signature has one letter for each argument: ``s`` string, ``i`` integer, ``b`` boolean, ``d`` map, ``l`` list,
``a`` anything. A ``*`` after a letter takes any number of them, a ``?`` none or one.
"""

import html as html_escapes
import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from firstlight.repo.go_template import go_format, template_errors
from firstlight.repo.go_template.template_errors import GoTemplateError

_PART = re.compile(r"([sibdla])([*?]?)")


class TemplateFunction(NamedTuple):
    """A function of templates."""

    signature: str
    run: Callable[..., Any]


def check_arguments(name: str, signature: str, arguments: Sequence[Any]) -> None:
    """Refuse arguments that Go would refuse."""
    at = 0
    for letter, times in _PART.findall(signature):
        if times == "*":
            for argument in arguments[at:]:
                _check(name, letter, argument)
            return
        if at >= len(arguments):
            if times == "?":
                return
            raise GoTemplateError(f"{name} is given too few arguments", name=name)
        _check(name, letter, arguments[at])
        at += 1
    if at < len(arguments):
        raise GoTemplateError(f"{name} is given too many arguments", name=name)


def _check(name: str, letter: str, argument: Any) -> None:
    match letter:
        case "s":
            good, wanted = isinstance(argument, str), "a string"
        case "i":
            good, wanted = isinstance(argument, int) and not isinstance(argument, bool), "an integer"
        case "b":
            good, wanted = isinstance(argument, bool), "a boolean"
        case "d":
            good, wanted = isinstance(argument, Mapping), "a map"
        case "l":
            good, wanted = isinstance(argument, (list, tuple)), "a list"
        case _:
            return
    if not good:
        raise GoTemplateError(f"{name} wants {wanted}, not {argument_kind(argument)}", name=name)


def argument_kind(value: Any) -> str:
    """A value's kind, as people call it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (int, float)):
        return "a number"
    return "a map" if isinstance(value, Mapping) else "a list"


# The functions of Go's text/template itself; ``and`` and ``or`` are the evaluator's, since they stop early.


def _basic(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    return "string" if isinstance(value, str) else "nil" if value is None else "other"


def _equal(first: Any, *others: Any) -> bool:
    if not others:
        raise GoTemplateError("eq is given too few arguments", name="eq")
    for other in others:
        one, two = _basic(first), _basic(other)
        if "nil" in (one, two):
            if first is None and other is None:
                return True
        elif one != two or one == "other":
            raise GoTemplateError(f"{argument_kind(first)} and {argument_kind(other)} cannot be compared", name="eq")
        elif first == other:
            return True
    return False


def _less(first: Any, second: Any) -> bool:
    one, two = _basic(first), _basic(second)
    if one != two or one not in ("int", "float", "string"):
        raise GoTemplateError(f"{argument_kind(first)} and {argument_kind(second)} cannot be compared", name="lt")
    return bool(first < second)


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, (list, tuple, str)):
            if not isinstance(key, int) or isinstance(key, bool):
                raise GoTemplateError(f"{argument_kind(key)} is no index of a list", name="index")
            if not 0 <= key < len(value):
                raise GoTemplateError(f"index {key} is out of range", name="index")
            value = ord(value[key]) if isinstance(value, str) else value[key]
        else:
            raise GoTemplateError(f"{argument_kind(value)} has no index", name="index")
    return value


def _length(value: Any) -> int:
    if isinstance(value, (str, Mapping, list, tuple)):
        return len(value.encode()) if isinstance(value, str) else len(value)
    raise GoTemplateError(f"{argument_kind(value)} has no length", name="len")


def _slice(value: Any, *bounds: int) -> Any:
    """Sprig's, which takes the place of Go's own and does not slice texts."""
    if len(bounds) > 2:
        raise GoTemplateError("slice is given too many arguments", name="slice")
    start = bounds[0] if bounds else 0
    end = bounds[1] if len(bounds) > 1 else len(value)
    if not 0 <= start <= end <= len(value):
        raise GoTemplateError("a slice is out of range", name="slice")
    return value[start:end]


def _print(*values: Any) -> str:
    """As fmt.Sprint: spaces only between values of which neither is a string."""
    found = ""
    for n, value in enumerate(values):
        if n and not isinstance(value, str) and not isinstance(values[n - 1], str):
            found += " "
        found += go_format.printed_text(template_errors.limited_value(value))
    return found


def _println(*values: Any) -> str:
    return " ".join(go_format.printed_text(template_errors.limited_value(value)) for value in values) + "\n"


def _html(*values: Any) -> str:
    return html_escapes.escape(_print(*values)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


FUNCTIONS = {
    "eq": TemplateFunction("aa*", _equal),
    "ne": TemplateFunction("aa", lambda a, b: not _equal(a, b)),
    "lt": TemplateFunction("aa", _less),
    "le": TemplateFunction("aa", lambda a, b: _less(a, b) or _equal(a, b)),
    "gt": TemplateFunction("aa", lambda a, b: not (_less(a, b) or _equal(a, b))),
    "ge": TemplateFunction("aa", lambda a, b: not _less(a, b)),
    "not": TemplateFunction("a", lambda value: not go_format.is_true(value)),
    "index": TemplateFunction("aa*", _index),
    "len": TemplateFunction("a", _length),
    "slice": TemplateFunction("li*", _slice),
    "print": TemplateFunction("a*", _print),
    "println": TemplateFunction("a*", _println),
    "printf": TemplateFunction("sa*", go_format.printf),
    "html": TemplateFunction("a*", _html),
    "urlquery": TemplateFunction("a*", lambda *values: urllib.parse.quote_plus(_print(*values))),
}
