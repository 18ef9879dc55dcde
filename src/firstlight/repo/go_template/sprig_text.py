"""Sprig's functions for text and numbers, as far as they only depend on their arguments."""

import base64
import binascii
import hashlib
import math
import posixpath
from typing import Any

from firstlight.repo.go_template import limits, printing
from firstlight.repo.go_template.formatting import quoted
from firstlight.repo.go_template.problem import TemplateError
from firstlight.repo.go_template.signature import Function

_SPACE = " \t\n\v\f\r\x85\xa0"
_MAX_INT = 2**63


def _replace(old: str, new: str, text: str) -> str:
    limits.repeated(len(new), text.count(old))
    return text.replace(old, new)


def _indent(spaces: int, text: str) -> str:
    limits.repeated(max(spaces, 0), text.count("\n") + 1)
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def _repeat(times: int, text: str) -> str:
    if times < 0:
        raise TemplateError("repeat wants a count that is not negative", name="repeat")
    limits.repeated(len(text), times)
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
    return " ".join(quoted(printing.text(value)) for value in values if value is not None)


def _squote(*values: Any) -> str:
    return " ".join(f"'{printing.text(value)}'" for value in values if value is not None)


def _cat(*values: Any) -> str:
    return " ".join(printing.text(value) for value in values if value is not None)


def strings(value: Any) -> list[str]:
    """A list as strings; a single value is a list of one, and nothing is left out."""
    values = value if isinstance(value, (list, tuple)) else [value]
    return [printing.text(each) for each in values if each is not None]


def _join(separator: str, value: Any) -> str:
    parts = strings(value)
    limits.repeated(len(separator), len(parts))
    limits.repeated(sum(len(each) for each in parts), 1)
    return separator.join(parts)


def split(separator: str, text: str, times: int = -1) -> list[str]:
    """A text in parts; an empty separator gives its characters."""
    limits.repeated(len(text) * 64 if not separator else text.count(separator) * 64, 1)
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
        raise TemplateError("b64dec is given what is no text in base64", name="b64dec") from None


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
        raise TemplateError("a number is too large")
    return value


def _divide(a: Any, b: Any) -> int:
    divisor = integer(b)
    if not divisor:
        raise TemplateError("division by zero")
    return _bounded(int(math.copysign(1, integer(a)) * math.copysign(1, divisor)) * (abs(integer(a)) // abs(divisor)))


def _modulo(a: Any, b: Any) -> int:
    return integer(a) - _divide(a, b) * integer(b)


def _multiply(*values: Any) -> int:
    found = 1
    for value in values:
        found = _bounded(found * integer(value))
    return found


def _until(count: int) -> list[int]:
    limits.repeated(abs(count) * 64, 1)
    return list(range(count)) if count >= 0 else list(range(0, count, -1))


def _sum_of(name: str) -> Function:
    return Function("s", lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest())


FUNCTIONS = {
    "trim": Function("s", lambda text: text.strip(_SPACE)),
    "trimAll": Function("ss", lambda cut, text: text.strip(cut)),
    "trimall": Function("ss", lambda cut, text: text.strip(cut)),
    "trimPrefix": Function("ss", lambda prefix, text: text.removeprefix(prefix)),
    "trimSuffix": Function("ss", lambda suffix, text: text.removesuffix(suffix)),
    "nospace": Function("s", lambda text: "".join(text.split())),
    "upper": Function("s", str.upper),
    "lower": Function("s", str.lower),
    "title": Function("s", _title),
    "untitle": Function("s", lambda text: text[:1].lower() + text[1:]),
    "substr": Function("iis", _substr),
    "trunc": Function("is", _trunc),
    "repeat": Function("is", _repeat),
    "replace": Function("sss", _replace),
    "contains": Function("ss", lambda part, text: part in text),
    "hasPrefix": Function("ss", lambda prefix, text: text.startswith(prefix)),
    "hasSuffix": Function("ss", lambda suffix, text: text.endswith(suffix)),
    "quote": Function("a*", _quote),
    "squote": Function("a*", _squote),
    "cat": Function("a*", _cat),
    "indent": Function("is", _indent),
    "nindent": Function("is", lambda spaces, text: "\n" + _indent(spaces, text)),
    "toString": Function("a", printing.text),
    "toStrings": Function("a", strings),
    "join": Function("sa", _join),
    "split": Function("ss", lambda separator, text: _numbered(split(separator, text))),
    "splitList": Function("ss", split),
    "splitn": Function("sis", lambda separator, times, text: _numbered(split(separator, text, max(times - 1, 0)))),
    "plural": Function("ssi", lambda one, many, count: one if count == 1 else many),
    "b64enc": Function("s", lambda text: base64.b64encode(text.encode()).decode()),
    "b64dec": Function("s", _decode),
    "sha256sum": _sum_of("sha256"),
    "sha1sum": _sum_of("sha1"),
    "sha512sum": _sum_of("sha512"),
    "int": Function("a", integer),
    "int64": Function("a", integer),
    "atoi": Function("s", integer),
    "add": Function("a*", lambda *values: _bounded(sum(integer(each) for each in values))),
    "add1": Function("a", lambda value: _bounded(integer(value) + 1)),
    "sub": Function("aa", lambda a, b: _bounded(integer(a) - integer(b))),
    "mul": Function("aa*", _multiply),
    "div": Function("aa", _divide),
    "mod": Function("aa", _modulo),
    "max": Function("aa*", lambda *values: max(integer(each) for each in values)),
    "min": Function("aa*", lambda *values: min(integer(each) for each in values)),
    "until": Function("i", _until),
    "base": Function("s", lambda path: posixpath.basename(path.rstrip("/")) or ("/" if path.startswith("/") else ".")),
    "dir": Function("s", lambda path: posixpath.normpath(posixpath.dirname(path) or ".")),
    "clean": Function("s", lambda path: posixpath.normpath(path or ".")),
    "ext": Function("s", lambda path: path[path.rindex(".") :] if "." in path.rpartition("/")[2] else ""),
    "isAbs": Function("s", lambda path: path.startswith("/")),
}
