"""The text of a template in pieces: what is outside of the braces, and the words inside of them."""

import dataclasses
import enum
import re
from collections.abc import Iterator

from firstlight.repo.go_template.unknown_values import GoTemplateError, TemplateLimitExceeded

MAX_WORDS = 10_000
"""In one pair of braces."""
_SPACE = " \t\r\n"


class TemplateWordKind(enum.Enum):
    """What a word inside of the braces is."""

    STRING = "string"
    CHARACTER = "character"
    NUMBER = "number"
    NAME = "name"
    FIELD = "field"
    VARIABLE = "variable"
    DOT = "dot"
    SIGN = "sign"


@dataclasses.dataclass(frozen=True, slots=True)
class TemplateWord:
    """A word inside of the braces."""

    kind: TemplateWordKind
    text: str
    is_apart: bool
    """Whether space stands before it: ``(f).a`` is a field of a result, ``(f) .a`` another argument."""


@dataclasses.dataclass(frozen=True, slots=True)
class TemplatePiece:
    """Text, or one pair of braces with its words."""

    text: str
    line: int
    words: tuple[TemplateWord, ...] | None = None
    """None for text."""


_WORD = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    | (?P<character>'(?:[^'\\\n]|\\.)*')
    | (?P<number>[+-]?(?:0[xX][0-9a-fA-F_]+|[0-9][0-9_]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+))
    | (?P<field>\.[^\W\d]\w*)
    | (?P<variable>\$\w*)
    | (?P<dot>\.)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign>:=|[|(),=])
    """,
    re.VERBOSE,
)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`|\'(?:[^\'\\\n]|\\.)*\'')


def pieces(text: str, *, left: str = "{{", right: str = "}}") -> Iterator[TemplatePiece]:
    """The pieces of a template, with the trimming of ``{{-`` and ``-}}`` done.

    Raises:
        TemplateError: Braces or quotes are not closed, or a character means nothing.
    """
    position, line, is_trimming = 0, 1, False
    while True:
        start = text.find(left, position)
        plain = text[position:] if start < 0 else text[position:start]
        line_after = line + plain.count("\n")
        trimmed = plain.lstrip(_SPACE) if is_trimming else plain
        if start >= 0 and _trims_left(text, start + len(left)):
            trimmed = trimmed.rstrip(_SPACE)
        if trimmed:
            yield TemplatePiece(trimmed, line + plain.count("\n", 0, plain.find(trimmed[0])))
        if start < 0:
            return
        line = line_after
        end, is_trimming, inner = _action(text, start, line=line, left=left, right=right)
        source = text[start:end]
        if not inner.startswith("/*"):
            yield TemplatePiece(source, line, tuple(_words(inner, line)))
        line += source.count("\n")
        position = end


def _trims_left(text: str, after: int) -> bool:
    return text[after : after + 1] == "-" and text[after + 1 : after + 2] in tuple(_SPACE)


def _action(text: str, start: int, *, line: int, left: str, right: str) -> tuple[int, bool, str]:
    """Where the braces end, whether they trim what follows, and what is in them."""
    begin = start + len(left)
    if _trims_left(text, begin):
        begin += 2
    if text.startswith("/*", begin):
        close = text.find("*/", begin)
        if close < 0:
            raise GoTemplateError("a comment is not closed", line=line)
        position = close + 2
    else:
        position = begin
    # Braces inside of quotes do not close anything.
    stop = re.compile(f"[\"`']|{re.escape(right)}")
    while (found := stop.search(text, position)) is not None and found.group() != right:
        string = _STRING.match(text, found.start())
        if string is None:
            raise GoTemplateError("a quote is not closed", line=line + text.count("\n", start, found.start()))
        position = string.end()
    if found is None:
        raise GoTemplateError(f"{left} is not closed by {right}", line=line)
    close = found.start()
    is_trimming = text[close - 1] == "-" and text[close - 2] in _SPACE and close - 2 >= begin - 1
    inner = text[begin : close - 2 if is_trimming else close].strip(_SPACE)
    return close + len(right), is_trimming, inner


def _words(inner: str, line: int) -> Iterator[TemplateWord]:
    position, is_apart, count = 0, True, 0
    while position < len(inner):
        count += 1
        if count > MAX_WORDS:
            raise TemplateLimitExceeded(f"an action has more than {MAX_WORDS} words", line=line)
        match = _WORD.match(inner, position)
        if match is None:
            raise GoTemplateError(f"unexpected {inner[position : position + 10]!r}", line=line)
        kind = match.lastgroup or ""
        position = match.end()
        if kind == "space":
            is_apart = True
            continue
        yield TemplateWord(TemplateWordKind(kind), match.group(), is_apart)
        is_apart = False


# Strings, characters and numbers as Go writes them.


_ESCAPE = re.compile(r"\\(?:(x[0-9a-fA-F]{2})|(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_MAX_DIGITS = 25
"""More than any 64-bit number has; Python would convert thousands of digits in quadratic time."""


def string_literal(text: str, line: int) -> str:
    """A quoted or raw string."""
    return text[1:-1].replace("\r", "") if text.startswith("`") else _unescape(text[1:-1], line)


def character_literal(text: str, line: int) -> int:
    """A character constant, which is a number in Go."""
    value = _unescape(text[1:-1], line)
    if len(value) != 1:
        raise GoTemplateError(f"{text} is not one character", line=line)
    return ord(value)


def number_literal(text: str, line: int) -> int | float:
    """A number; underscores and hexadecimal digits as in Go."""
    plain = text.replace("_", "")
    if len(plain) > _MAX_DIGITS:
        raise GoTemplateError("a number is too long", line=line)
    try:
        if plain.lstrip("+-")[:2].lower() == "0x":
            return int(plain, 16)
        return float(plain) if any(each in plain for each in ".eE") else int(plain)
    except ValueError:
        raise GoTemplateError(f"{text} is not a number", line=line) from None


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
            raise GoTemplateError(f"{match.group()} is not an escape", line=line) from None

    return _ESCAPE.sub(value, text)
