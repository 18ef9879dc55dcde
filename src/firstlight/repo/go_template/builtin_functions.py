"""The functions that Go's templates have, and sprig's for text and numbers, with the arguments that each takes.

Go checks arguments before it calls, and so it is done here. A signature has one letter for each argument: ``s`` string,
``i`` integer, ``b`` boolean, ``d`` map, ``l`` list, ``a`` anything. A ``*`` after a letter takes any number of them,
a ``?`` none or one.
"""

import base64
import binascii
import hashlib
import html as html_escapes
import math
import posixpath
import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from firstlight.repo.go_template import go_format, unknown_values
from firstlight.repo.go_template.go_format import quoted
from firstlight.repo.go_template.unknown_values import GoTemplateError

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
        found += go_format.printed_text(unknown_values.limited_value(value))
    return found


def _println(*values: Any) -> str:
    return " ".join(go_format.printed_text(unknown_values.limited_value(value)) for value in values) + "\n"


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


# Sprig's functions for text and numbers, as far as they only depend on their arguments.


_SPACE = " \t\n\v\f\r\x85\xa0"
_MAX_INT = 2**63


def _replace(old: str, new: str, text: str) -> str:
    unknown_values.check_repetition(len(new), text.count(old))
    return text.replace(old, new)


def _indent(spaces: int, text: str) -> str:
    unknown_values.check_repetition(max(spaces, 0), text.count("\n") + 1)
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def _repeat(times: int, text: str) -> str:
    if times < 0:
        raise GoTemplateError("repeat wants a count that is not negative", name="repeat")
    unknown_values.check_repetition(len(text), times)
    return text * times


def _trunc(count: int, text: str) -> str:
    data = text.encode()  # bytes, as in Go
    if count < 0:
        return data[count:].decode(errors="ignore") if len(data) + count > 0 else text
    return data[:count].decode(errors="ignore")


def _substr(start: int, end: int, text: str) -> str:
    data = text.encode()
    last = max(end, 0) if start < 0 else len(data) if end < 0 else end
    return data[max(start, 0) : last].decode(errors="ignore")


def _quote(*values: Any) -> str:
    return " ".join(quoted(go_format.printed_text(value)) for value in values if value is not None)


def _squote(*values: Any) -> str:
    return " ".join(f"'{go_format.printed_text(value)}'" for value in values if value is not None)


def _cat(*values: Any) -> str:
    return " ".join(go_format.printed_text(value) for value in values if value is not None)


def strings(value: Any) -> list[str]:
    """A list as strings; a single value is a list of one, and nothing is left out."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [go_format.printed_text(each) for each in values if each is not None]


def _join(separator: str, value: Any) -> str:
    parts = strings(value)
    unknown_values.check_repetition(len(separator), len(parts))
    unknown_values.check_repetition(sum(len(each) for each in parts), 1)
    return separator.join(parts)


def split(separator: str, text: str, times: int = -1) -> list[str]:
    """A text in parts; an empty separator gives its characters."""
    unknown_values.check_repetition(len(text) * 64 if not separator else text.count(separator) * 64, 1)
    if not separator:
        return list(text)
    return text.split(separator, times)


def _numbered(parts: list[str]) -> dict[str, str]:
    return {f"_{n}": part for n, part in enumerate(parts)}


def _title(text: str) -> str:
    return "".join(
        each.upper() if n == 0 or not (text[n - 1].isalnum() or text[n - 1] == "_") else each
        for n, each in enumerate(text)
    )


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise GoTemplateError("b64dec is given what is no text in base64", name="b64dec") from None


def integer(value: Any) -> int:
    """Any value as an integer; what is none is 0, as sprig has it."""
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else 0
    if isinstance(value, (int, bool)):
        return int(value)
    if not isinstance(value, str) or len(value) > 25:
        return 0
    try:
        is_octal = value.lstrip("+-").startswith("0") and value.lstrip("+-").isdigit()
        return int(value, 8 if is_octal else 0)
    except ValueError:
        return 0


def _bounded(value: int) -> int:
    if not -_MAX_INT <= value < _MAX_INT:
        raise GoTemplateError("a number is too large")
    return value


def _divide(a: Any, b: Any) -> int:
    divisor = integer(b)
    if not divisor:
        raise GoTemplateError("division by zero")
    return _bounded(int(math.copysign(1, integer(a)) * math.copysign(1, divisor)) * (abs(integer(a)) // abs(divisor)))


def _modulo(a: Any, b: Any) -> int:
    return integer(a) - _divide(a, b) * integer(b)


def _multiply(*values: Any) -> int:
    found = 1
    for value in values:
        found = _bounded(found * integer(value))
    return found


def _until(count: int) -> list[int]:
    unknown_values.check_repetition(abs(count) * 64, 1)
    return list(range(count)) if count >= 0 else list(range(0, count, -1))


def _sum_of(name: str) -> TemplateFunction:
    return TemplateFunction("s", lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest())


TEXT_FUNCTIONS = {
    "trim": TemplateFunction("s", lambda text: text.strip(_SPACE)),
    "trimAll": TemplateFunction("ss", lambda cut, text: text.strip(cut)),
    "trimall": TemplateFunction("ss", lambda cut, text: text.strip(cut)),
    "trimPrefix": TemplateFunction("ss", lambda prefix, text: text.removeprefix(prefix)),
    "trimSuffix": TemplateFunction("ss", lambda suffix, text: text.removesuffix(suffix)),
    "nospace": TemplateFunction("s", lambda text: "".join(text.split())),
    "upper": TemplateFunction("s", str.upper),
    "lower": TemplateFunction("s", str.lower),
    "title": TemplateFunction("s", _title),
    "untitle": TemplateFunction("s", lambda text: text[:1].lower() + text[1:]),
    "substr": TemplateFunction("iis", _substr),
    "trunc": TemplateFunction("is", _trunc),
    "repeat": TemplateFunction("is", _repeat),
    "replace": TemplateFunction("sss", _replace),
    "contains": TemplateFunction("ss", lambda part, text: part in text),
    "hasPrefix": TemplateFunction("ss", lambda prefix, text: text.startswith(prefix)),
    "hasSuffix": TemplateFunction("ss", lambda suffix, text: text.endswith(suffix)),
    "quote": TemplateFunction("a*", _quote),
    "squote": TemplateFunction("a*", _squote),
    "cat": TemplateFunction("a*", _cat),
    "indent": TemplateFunction("is", _indent),
    "nindent": TemplateFunction("is", lambda spaces, text: "\n" + _indent(spaces, text)),
    "toString": TemplateFunction("a", go_format.printed_text),
    "toStrings": TemplateFunction("a", strings),
    "join": TemplateFunction("sa", _join),
    "split": TemplateFunction("ss", lambda separator, text: _numbered(split(separator, text))),
    "splitList": TemplateFunction("ss", split),
    "splitn": TemplateFunction(
        "sis", lambda separator, times, text: _numbered(split(separator, text, max(times - 1, 0)))
    ),
    "plural": TemplateFunction("ssi", lambda one, many, count: one if count == 1 else many),
    "b64enc": TemplateFunction("s", lambda text: base64.b64encode(text.encode()).decode()),
    "b64dec": TemplateFunction("s", _decode),
    "sha256sum": _sum_of("sha256"),
    "sha1sum": _sum_of("sha1"),
    "sha512sum": _sum_of("sha512"),
    "int": TemplateFunction("a", integer),
    "int64": TemplateFunction("a", integer),
    "atoi": TemplateFunction("s", integer),
    "add": TemplateFunction("a*", lambda *values: _bounded(sum(integer(each) for each in values))),
    "add1": TemplateFunction("a", lambda value: _bounded(integer(value) + 1)),
    "sub": TemplateFunction("aa", lambda a, b: _bounded(integer(a) - integer(b))),
    "mul": TemplateFunction("aa*", _multiply),
    "div": TemplateFunction("aa", _divide),
    "mod": TemplateFunction("aa", _modulo),
    "max": TemplateFunction("aa*", lambda *values: max(integer(each) for each in values)),
    "min": TemplateFunction("aa*", lambda *values: min(integer(each) for each in values)),
    "until": TemplateFunction("i", _until),
    "base": TemplateFunction(
        "s", lambda path: posixpath.basename(path.rstrip("/")) or ("/" if path.startswith("/") else ".")
    ),
    "dir": TemplateFunction("s", lambda path: posixpath.normpath(posixpath.dirname(path) or ".")),
    "clean": TemplateFunction("s", lambda path: posixpath.normpath(path or ".")),
    "ext": TemplateFunction("s", lambda path: path[path.rindex(".") :] if "." in path.rpartition("/")[2] else ""),
    "isAbs": TemplateFunction("s", lambda path: path.startswith("/")),
}
