"""Sprig's functions for text and numbers, as far as they only depend on their arguments."""

import base64
import binascii
import hashlib
import math
import posixpath
from typing import Any

from firstlight.repo.go_template import go_format, template_errors
from firstlight.repo.go_template.builtin_functions import TemplateFunction
from firstlight.repo.go_template.go_format import quoted
from firstlight.repo.go_template.template_errors import GoTemplateError

_SPACE = " \t\n\v\f\r\x85\xa0"
_MAX_INT = 2**63


def _replace(old: str, new: str, text: str) -> str:
    template_errors.check_repetition(len(new), text.count(old))
    return text.replace(old, new)


def _indent(spaces: int, text: str) -> str:
    template_errors.check_repetition(max(spaces, 0), text.count("\n") + 1)
    pad = " " * spaces
    return pad + text.replace("\n", "\n" + pad)


def _repeat(times: int, text: str) -> str:
    if times < 0:
        raise GoTemplateError("repeat wants a count that is not negative", name="repeat")
    template_errors.check_repetition(len(text), times)
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
    template_errors.check_repetition(len(separator), len(parts))
    template_errors.check_repetition(sum(len(each) for each in parts), 1)
    return separator.join(parts)


def split(separator: str, text: str, times: int = -1) -> list[str]:
    """A text in parts; an empty separator gives its characters."""
    template_errors.check_repetition(len(text) * 64 if not separator else text.count(separator) * 64, 1)
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
    template_errors.check_repetition(abs(count) * 64, 1)
    return list(range(count)) if count >= 0 else list(range(0, count, -1))


def _sum_of(name: str) -> TemplateFunction:
    return TemplateFunction("s", lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest())


FUNCTIONS = {
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
