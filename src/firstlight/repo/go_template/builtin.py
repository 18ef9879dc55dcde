"""The functions of Go's text/template itself; ``and`` and ``or`` are the evaluator's, since they stop early."""

import html as html_escapes
import urllib.parse
from collections.abc import Mapping
from typing import Any

from firstlight.repo.go_template import formatting, limits, printing
from firstlight.repo.go_template.problem import TemplateError
from firstlight.repo.go_template.signature import Function, kind


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
        raise TemplateError("eq is given too few arguments", name="eq")
    for other in others:
        one, two = _basic(first), _basic(other)
        if "nil" in (one, two):
            if first is None and other is None:
                return True
        elif one != two or one == "other":
            raise TemplateError(f"{kind(first)} and {kind(other)} cannot be compared", name="eq")
        elif first == other:
            return True
    return False


def _less(first: Any, second: Any) -> bool:
    one, two = _basic(first), _basic(second)
    if one != two or one not in ("int", "float", "string"):
        raise TemplateError(f"{kind(first)} and {kind(second)} cannot be compared", name="lt")
    return bool(first < second)


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, (list, tuple, str)):
            if not isinstance(key, int) or isinstance(key, bool):
                raise TemplateError(f"{kind(key)} is no index of a list", name="index")
            if not 0 <= key < len(value):
                raise TemplateError(f"index {key} is out of range", name="index")
            value = ord(value[key]) if isinstance(value, str) else value[key]
        else:
            raise TemplateError(f"{kind(value)} has no index", name="index")
    return value


def _length(value: Any) -> int:
    if isinstance(value, (str, Mapping, list, tuple)):
        return len(value.encode()) if isinstance(value, str) else len(value)
    raise TemplateError(f"{kind(value)} has no length", name="len")


def _slice(value: Any, *bounds: int) -> Any:
    """Sprig's, which takes the place of Go's own and does not slice texts."""
    if len(bounds) > 2:
        raise TemplateError("slice is given too many arguments", name="slice")
    start = bounds[0] if bounds else 0
    end = bounds[1] if len(bounds) > 1 else len(value)
    if not 0 <= start <= end <= len(value):
        raise TemplateError("a slice is out of range", name="slice")
    return value[start:end]


def _print(*values: Any) -> str:
    """As fmt.Sprint: spaces only between values of which neither is a string."""
    found = ""
    for n, value in enumerate(values):
        if n and not isinstance(value, str) and not isinstance(values[n - 1], str):
            found += " "
        found += printing.text(limits.value(value))
    return found


def _println(*values: Any) -> str:
    return " ".join(printing.text(limits.value(value)) for value in values) + "\n"


def _html(*values: Any) -> str:
    return html_escapes.escape(_print(*values)).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


FUNCTIONS = {
    "eq": Function("aa*", _equal),
    "ne": Function("aa", lambda a, b: not _equal(a, b)),
    "lt": Function("aa", _less),
    "le": Function("aa", lambda a, b: _less(a, b) or _equal(a, b)),
    "gt": Function("aa", lambda a, b: not (_less(a, b) or _equal(a, b))),
    "ge": Function("aa", lambda a, b: not _less(a, b)),
    "not": Function("a", lambda value: not printing.is_true(value)),
    "index": Function("aa*", _index),
    "len": Function("a", _length),
    "slice": Function("li*", _slice),
    "print": Function("a*", _print),
    "println": Function("a*", _println),
    "printf": Function("sa*", formatting.printf),
    "html": Function("a*", _html),
    "urlquery": Function("a*", lambda *values: urllib.parse.quote_plus(_print(*values))),
}
