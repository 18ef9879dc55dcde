"""Machine configs that are Go templates, as topf has them: read line by line, with what is known put in."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.repo import go_template
from firstlight.repo.talos import skeleton
from firstlight.repo.talos.jinja_tags import TemplateError
from firstlight.repo.talos.skeleton import Kind, Piece, Skeleton

SIZE = 1_000_000
"""Characters of a template."""

_KINDS = {
    "if": Kind.IF, "with": Kind.IF, "range": Kind.LOOP, "define": Kind.HIDDEN, "block": Kind.OPEN, "end": Kind.END,
    "template": Kind.OTHER, "break": Kind.OTHER, "continue": Kind.OTHER,
}  # fmt: skip
_STEP = re.compile(
    r"""(?s:"(?:[^"\\]|\\.)*+(?:"|\Z)|`[^`]*+(?:`|\Z)|'(?:[^'\\]|\\.)*+(?:'|\Z)|/\*.*?(?:\*/|\Z))|(?P<end>\}\})"""
)
_ASSIGNMENT = re.compile(r"\$\w*\s*(:=|=)(?!=)")
_FIELD = re.compile(r"(?<![\w.\"`)$])\.([A-Za-z_][\w.]*)")


def read(text: str, data: Mapping[str, Any]) -> Skeleton:
    """Read a template.

    Raises:
        TemplateError: It is none: a tag does not end, it is too large, or nested too deeply.
    """
    if len(text) > SIZE:
        raise TemplateError(f"it has more than {SIZE} characters")
    try:
        return skeleton.make(pieces(text), lambda piece: _evaluate(piece, data))
    except skeleton.TooDeep:
        raise TemplateError(f"its blocks are nested deeper than {skeleton.DEPTH} levels") from None


def pieces(text: str) -> Iterator[Piece]:
    """Cut a template into text and tags.

    Raises:
        TemplateError: A tag does not end.
    """
    at, line = 0, 1
    rebinding: list[bool] = []  # inside of range and with, the dot is something else
    while (start := text.find("{{", at)) >= 0:
        if start > at:
            yield Piece(Kind.TEXT, text[at:start], line)
        line += text.count("\n", at, start)
        end = next((match.end() for match in _STEP.finditer(text, start + 2) if match["end"]), None)
        if end is None:
            raise TemplateError("{{ does not end", line=line)
        source = text[start:end]
        piece = _tag(source, line)
        if piece.kind is Kind.END and rebinding:
            rebinding.pop()
        yield dataclasses.replace(piece, inner="") if any(rebinding) else piece
        if piece.kind in (Kind.IF, Kind.LOOP, Kind.HIDDEN, Kind.OPEN):
            rebinding.append(source.strip("{}- ").startswith(("range", "with")))
            if len(rebinding) > skeleton.DEPTH:
                raise skeleton.TooDeep
        line += source.count("\n")
        at = end
    if at < len(text):
        yield Piece(Kind.TEXT, text[at:], line)


def _tag(source: str, line: int) -> Piece:
    inner = source[2:-2].removeprefix("-").removesuffix("-").strip()
    word, _, rest = inner.partition(" ")
    if inner.startswith("/*") or _ASSIGNMENT.match(inner):
        return Piece(Kind.OTHER, source, line)
    if word == "else":
        condition = re.match(r"(if|with)\s+(.*)", rest, re.DOTALL)
        return Piece(Kind.ELIF, source, line, condition[2]) if condition else Piece(Kind.ELSE, source, line)
    kind = _KINDS.get(word, Kind.VALUE)
    return Piece(kind, source, line, inner if kind is Kind.VALUE else rest.strip())


def _evaluate(piece: Piece, data: Mapping[str, Any]) -> str | None:
    """What an expression writes, if all of it is known."""
    if not piece.inner or re.search(r"(?<![\w.)\]])\.(?![\w.])", piece.inner):  # the dot alone is everything
        return None
    is_value = piece.kind is Kind.VALUE
    template = f"{{{{ {piece.inner} }}}}" if is_value else f"{{{{ if {piece.inner} }}}}yes{{{{ end }}}}"
    if not _is_known(piece.inner, data):
        return None
    try:
        return go_template.render(template, data, missing_key=go_template.MissingKey.ERROR)
    except go_template.TemplateError:
        return None


def _is_known(expression: str, data: Any) -> bool:
    """Whether every field that an expression names is there; Go would write ``<no value>``."""
    for match in _FIELD.finditer(expression):
        here = data
        for name in match[1].strip(".").split("."):
            if not isinstance(here, Mapping) or name not in here:
                return False
            here = here[name]
    return True
