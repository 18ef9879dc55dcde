"""``printf`` with Go's verbs."""

import re
from typing import Any

from firstlight.repo.go_template import limits, printing
from firstlight.repo.go_template.problem import TemplateError

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
            raise TemplateError(f"{match.group()[:20]} is too wide", name="printf")
        if not left:
            raise TemplateError(f"printf has no value for {match.group()}", name="printf")
        text = _one(letter, flags, None if precision is None else int(precision or 0), left.pop(0))
        if "-" in flags:
            return text.ljust(int(width or 0))
        if "0" in flags and letter in "dfx":
            return text.zfill(int(width or 0))
        return text.rjust(int(width or 0))

    limits.repeated(_MAX_WIDTH, form.count("%"))
    limits.repeated(sum(len(each) for each in values if isinstance(each, str)) + len(form), 1)
    found = _VERB.sub(verb, form)
    if left:
        raise TemplateError("printf is given more values than it has verbs", name="printf")
    return found


def _one(letter: str, flags: str, precision: int | None, value: Any) -> str:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if letter == "s" and isinstance(value, list):
        return "[" + " ".join(_one("s", flags, precision, each) for each in limits.value(value)) + "]"
    if letter in "vs" and (letter == "v" or isinstance(value, (str, dict))):
        text = printing.text(limits.value(value))
        return text if precision is None or letter == "v" else text[:precision]
    if letter == "d" and is_int:
        return ("+" if "+" in flags and value >= 0 else "") + str(value)
    if letter == "t" and isinstance(value, bool):
        return printing.text(value)
    if letter == "q" and isinstance(value, str):
        return quoted(value)
    if letter in "xX" and (is_int or isinstance(value, str)):
        text = f"{value:x}" if is_int else value.encode().hex()
        return text.upper() if letter == "X" else text
    if letter in "feg" and isinstance(value, float):
        return (
            printing.floating(value) if letter == "g" else f"{value:.{6 if precision is None else precision}{letter}}"
        )
    if letter == "c" and is_int and 0 <= value < 0x110000:
        return chr(value)
    return f"%!{letter}({_type(value)}={printing.text(limits.value(value))})"  # Go says it this way, and goes on


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
