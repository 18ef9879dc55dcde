"""Strings, characters and numbers as Go writes them."""

import re

from firstlight.repo.go_template.problem import TemplateError

_ESCAPE = re.compile(r"\\(?:(x[0-9a-fA-F]{2})|(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_MAX_DIGITS = 25
"""More than any 64-bit number has; Python would convert thousands of digits in quadratic time."""


def string(text: str, line: int) -> str:
    """A quoted or raw string."""
    return text[1:-1].replace("\r", "") if text.startswith("`") else _unescape(text[1:-1], line)


def character(text: str, line: int) -> int:
    """A character constant, which is a number in Go."""
    value = _unescape(text[1:-1], line)
    if len(value) != 1:
        raise TemplateError(f"{text} is not one character", line=line)
    return ord(value)


def number(text: str, line: int) -> int | float:
    """A number; underscores and hexadecimal digits as in Go."""
    plain = text.replace("_", "")
    if len(plain) > _MAX_DIGITS:
        raise TemplateError("a number is too long", line=line)
    try:
        if plain.lstrip("+-")[:2].lower() == "0x":
            return int(plain, 16)
        return float(plain) if any(each in plain for each in ".eE") else int(plain)
    except ValueError:
        raise TemplateError(f"{text} is not a number", line=line) from None


def _unescape(text: str, line: int) -> str:
    def value(match: re.Match[str]) -> str:
        byte, rune, octal, short = match.groups()
        try:
            if byte or rune:
                return chr(int((byte or rune)[1:], 16))
            if octal:
                return chr(int(octal, 8))
            return _SHORT[short]
        except (KeyError, ValueError):
            raise TemplateError(f"{match.group()} is not an escape", line=line) from None

    return _ESCAPE.sub(value, text)
