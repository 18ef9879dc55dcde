"""Machine configs that are minijinja templates: rendered where every variable is known, else read line by line.

What is known stands in the repo: the ``defines`` of ``.minijinja.toml``. The environment and the ``--define`` of a
script are not known. Nothing is loaded, included or run. minijinja itself does not protect its host: a short
expression can make it fill the memory or overflow the stack, so only tame expressions reach it.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import toml_reader
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import go_template
from firstlight.repo.talos import template_tags
from firstlight.repo.talos.template_tags import (
    JinjaError,
    JinjaSyntax,
    Skeleton,
    TagKind,
    TagPiece,
    jinja_pieces,
    names_used,
)
from firstlight.repo.work_tree import WorkTree

OUTPUT = 8_000_000
"""Characters that a rendering may grow to; a machine config has some ten thousand."""
JINJA_SIZE = 1_000_000
"""Characters of a template."""
_EXPRESSION = 500
"""Characters of an expression that reaches minijinja, which overflows the stack at some thousand operators."""

_TOKEN = re.compile(r"""\s+|'[^'\\]*'|"[^"\\]*"|\d+(?:\.\d+)?|[A-Za-z_]\w*|==|!=|<=|>=|[-<>.,|()]""")
_CALLS = {"default", "d"}
_FILTERS = {
    "default",
    "d",
    "lower",
    "upper",
    "trim",
    "int",
    "float",
    "first",
    "last",
    "length",
    "count",
    "bool",
    "tojson",
}


@dataclasses.dataclass(frozen=True)
class JinjaSettings:
    """What a repo says about its templates."""

    syntax: JinjaSyntax = dataclasses.field(default_factory=JinjaSyntax)
    trim_blocks: bool = False
    lstrip_blocks: bool = False
    autoescape: str = "auto"
    variables: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass(frozen=True)
class RenderedJinja:
    """A template, as far as it is known."""

    skeleton: Skeleton
    rendered: str | None
    """The whole, if every variable is known; None else."""
    missing: Mapping[str, tuple[int, ...]]
    """Variables that are not known, with their lines."""
    reason: str = ""
    """Why it is not rendered, if not for a variable."""


def jinja_settings(tree: WorkTree, path: str) -> tuple[JinjaSettings, list[Diagnostic]]:
    """The settings for a template: those of the next ``.minijinja.toml`` above it."""
    directory = path
    while directory not in ("", "."):
        directory = directory.rpartition("/")[0]
        file = f"{directory}/.minijinja.toml" if directory else ".minijinja.toml"
        if tree.is_file(file):
            return _settings(tree, file)
    return JinjaSettings(), []


def _settings(tree: WorkTree, file: str) -> tuple[JinjaSettings, list[Diagnostic]]:
    try:
        found = toml_reader.read(tree.text(file) or "")
    except toml_reader.TomlUnreadable as error:
        place = Place(file, error.line)
        return JinjaSettings(), [Diagnostic.error("toml-wrong", f"this is no TOML: {error}", at=place)]
    table, defines = found.get("syntax"), found.get("defines")
    given = {key.replace("-", "_"): str(value) for key, value in (table if isinstance(table, dict) else {}).items()}
    fields = {field.name for field in dataclasses.fields(JinjaSyntax)}
    try:
        syntax = JinjaSyntax(**{key: value for key, value in given.items() if key in fields})
    except ValueError as error:
        return JinjaSettings(), [
            Diagnostic.error("minijinja-settings-wrong", f"templates cannot be read: {error}", at=Place(file))
        ]
    return JinjaSettings(
        syntax=syntax,
        trim_blocks=found.get("trim-blocks") is True,
        lstrip_blocks=found.get("lstrip-blocks") is True,
        autoescape=str(found.get("autoescape", "auto")),
        variables=defines if isinstance(defines, dict) else {},
    ), []


def read_jinja(text: str, given: JinjaSettings) -> RenderedJinja:
    """Read a template.

    Raises:
        TemplateError: It is none: a tag does not end, it is too large, or nested too deeply.
    """
    if len(text) > JINJA_SIZE:
        raise JinjaError(f"it has more than {JINJA_SIZE} characters")
    found = list(jinja_pieces(text, given.syntax))
    missing = {
        name: lines for name, lines in names_used(found).items() if name.partition(".")[0] not in given.variables
    }
    unsafe = next((each for each in found if each.kind is not TagKind.TEXT and not _is_tame(each)), None)
    rendered, reason = None, ""
    if not missing and unsafe is not None:
        reason = f"line {unsafe.line} does more than can be rendered without a risk: {_short(unsafe.source)}"
    elif not missing:
        rendered, reason = _render(text, found, given)
    try:
        lines = template_tags.make_skeleton(found, lambda piece: _evaluate(piece, given))
    except template_tags.TagsTooDeep:
        raise JinjaError(f"its blocks are nested deeper than {template_tags.DEPTH} levels") from None
    return RenderedJinja(lines, rendered, missing, reason)


def _is_tame(piece: TagPiece) -> bool:
    """Whether minijinja can be trusted with a tag: no arithmetic, no literals that grow, no calls but a few."""
    if len(piece.inner) > _EXPRESSION or piece.kind in (TagKind.HIDDEN, TagKind.OPEN):
        return False
    if piece.kind is TagKind.OTHER and piece.inner:
        return False
    if piece.kind is TagKind.END or not piece.inner:
        return True
    previous = ""
    for word in _tokens(piece.inner):
        if word is None or (previous == "|" and word not in _FILTERS):
            return False
        is_call = word == "(" and re.fullmatch(r"[A-Za-z_]\w*", previous) is not None
        if is_call and previous not in {*_CALLS, "not", "and", "or", "in", "if", "else"}:
            return False
        previous = word
    return True


def _tokens(text: str) -> list[str | None]:
    found: list[str | None] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return [None]
        if not match[0].isspace():
            found.append(match[0])
        at = match.end()
    return found


def _environment(given: JinjaSettings, fuel: int) -> Any:
    import minijinja  # a megabyte of code that most repos do not need

    escapes: dict[str, str | bool] = {"none": False, "html": "html", "json": "json", "auto": "json"}
    escape = escapes.get(given.autoescape, False)
    syntax = given.syntax
    return minijinja.Environment(
        fuel=fuel,
        undefined_behavior="strict",
        auto_escape_callback=lambda _: escape,
        trim_blocks=given.trim_blocks,
        lstrip_blocks=given.lstrip_blocks,
        keep_trailing_newline=True,
        block_start_string=syntax.block_start,
        block_end_string=syntax.block_end,
        variable_start_string=syntax.variable_start,
        variable_end_string=syntax.variable_end,
        comment_start_string=syntax.comment_start,
        comment_end_string=syntax.comment_end,
        line_statement_prefix=syntax.line_statement_prefix or None,
        line_comment_prefix=syntax.line_comment_prefix or None,
        pycompat=False,
    )


def _render(text: str, found: list[TagPiece], given: JinjaSettings) -> tuple[str | None, str]:
    values = len(str(dict(given.variables)))
    longest = max([16, values, *(len(each.source) for each in found)])
    try:
        return str(_environment(given, OUTPUT // longest).render_str(text, "template.yaml", **given.variables)), ""
    except (RuntimeError, TypeError, ValueError) as error:
        return None, f"minijinja refuses it: {_short(getattr(error, 'message', str(error)))}"


def _evaluate(piece: TagPiece, given: JinjaSettings) -> str | None:
    """What an expression writes, if all of it is known."""
    if not _is_tame(piece) or any(name.partition(".")[0] not in given.variables for name in names_used([piece])):
        return None
    try:
        value = _environment(given, 1_000).eval_expr(piece.inner, **given.variables)
    except (RuntimeError, TypeError, ValueError):
        return None
    if piece.kind is TagKind.VALUE:
        return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return "yes" if value else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"


# Machine configs that are Go templates, as topf has them: read line by line, with what is known put in.


GO_TEMPLATE_SIZE = 1_000_000
"""Characters of a template."""

_KINDS = {
    "if": TagKind.IF,
    "with": TagKind.IF,
    "range": TagKind.LOOP,
    "define": TagKind.HIDDEN,
    "block": TagKind.OPEN,
    "end": TagKind.END,
    "template": TagKind.OTHER,
    "break": TagKind.OTHER,
    "continue": TagKind.OTHER,
}
_STEP = re.compile(
    r"""(?s:"(?:[^"\\]|\\.)*+(?:"|\Z)|`[^`]*+(?:`|\Z)|'(?:[^'\\]|\\.)*+(?:'|\Z)|/\*.*?(?:\*/|\Z))|(?P<end>\}\})"""
)
_ASSIGNMENT = re.compile(r"\$\w*\s*(:=|=)(?!=)")
_FIELD = re.compile(r"(?<![\w.\"`)$])\.([A-Za-z_][\w.]*)")


def read_go_template(text: str, data: Mapping[str, Any]) -> Skeleton:
    """Read a template.

    Raises:
        TemplateError: It is none: a tag does not end, it is too large, or nested too deeply.
    """
    if len(text) > GO_TEMPLATE_SIZE:
        raise JinjaError(f"it has more than {GO_TEMPLATE_SIZE} characters")
    try:
        return template_tags.make_skeleton(go_pieces(text), lambda piece: _go_tags_evaluate(piece, data))
    except template_tags.TagsTooDeep:
        raise JinjaError(f"its blocks are nested deeper than {template_tags.DEPTH} levels") from None


def go_pieces(text: str) -> Iterator[TagPiece]:
    """Cut a template into text and tags.

    Raises:
        TemplateError: A tag does not end.
    """
    at, line = 0, 1
    rebinding: list[bool] = []  # inside of range and with, the dot is something else
    while (start := text.find("{{", at)) >= 0:
        if start > at:
            yield TagPiece(TagKind.TEXT, text[at:start], line)
        line += text.count("\n", at, start)
        end = next((match.end() for match in _STEP.finditer(text, start + 2) if match["end"]), None)
        if end is None:
            raise JinjaError("{{ does not end", line=line)
        source = text[start:end]
        piece = _tag(source, line)
        if piece.kind is TagKind.END and rebinding:
            rebinding.pop()
        yield dataclasses.replace(piece, inner="") if any(rebinding) else piece
        if piece.kind in (TagKind.IF, TagKind.LOOP, TagKind.HIDDEN, TagKind.OPEN):
            rebinding.append(source.strip("{}- ").startswith(("range", "with")))
            if len(rebinding) > template_tags.DEPTH:
                raise template_tags.TagsTooDeep
        line += source.count("\n")
        at = end
    if at < len(text):
        yield TagPiece(TagKind.TEXT, text[at:], line)


def _tag(source: str, line: int) -> TagPiece:
    inner = source[2:-2].removeprefix("-").removesuffix("-").strip()
    word, _, rest = inner.partition(" ")
    if inner.startswith("/*") or _ASSIGNMENT.match(inner):
        return TagPiece(TagKind.OTHER, source, line)
    if word == "else":
        condition = re.match(r"(if|with)\s+(.*)", rest, re.DOTALL)
        return TagPiece(TagKind.ELIF, source, line, condition[2]) if condition else TagPiece(TagKind.ELSE, source, line)
    kind = _KINDS.get(word, TagKind.VALUE)
    return TagPiece(kind, source, line, inner if kind is TagKind.VALUE else rest.strip())


def _go_tags_evaluate(piece: TagPiece, data: Mapping[str, Any]) -> str | None:
    """What an expression writes, if all of it is known."""
    if not piece.inner or re.search(r"(?<![\w.)\]])\.(?![\w.])", piece.inner):  # the dot alone is everything
        return None
    is_value = piece.kind is TagKind.VALUE
    template = f"{{{{ {piece.inner} }}}}" if is_value else f"{{{{ if {piece.inner} }}}}yes{{{{ end }}}}"
    if not _is_known(piece.inner, data):
        return None
    try:
        return go_template.render(template, data, missing_key=go_template.MissingKey.ERROR)
    except go_template.GoTemplateError:
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
