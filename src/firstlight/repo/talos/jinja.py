"""Machine configs that are minijinja templates: rendered where every variable is known, else read line by line.

What is known stands in the repo: the ``defines`` of ``.minijinja.toml``. The environment and the ``--define`` of a
script are not known. Nothing is loaded, included or run. minijinja itself does not protect its host: a short
expression can make it fill the memory or overflow the stack, so only tame expressions reach it.
"""

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.talos import skeleton
from firstlight.repo.talos.jinja_tags import Syntax, TemplateError, names, pieces
from firstlight.repo.talos.skeleton import Kind, Piece, Skeleton
from firstlight.repo.work_tree import WorkTree

OUTPUT = 8_000_000
"""Characters that a rendering may grow to; a machine config has some ten thousand."""
SIZE = 1_000_000
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
class Settings:
    """What a repo says about its templates."""

    syntax: Syntax = dataclasses.field(default_factory=Syntax)
    trim_blocks: bool = False
    lstrip_blocks: bool = False
    autoescape: str = "auto"
    variables: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass(frozen=True)
class Read:
    """A template, as far as it is known."""

    skeleton: Skeleton
    rendered: str | None
    """The whole, if every variable is known; None else."""
    missing: Mapping[str, tuple[int, ...]]
    """Variables that are not known, with their lines."""
    reason: str = ""
    """Why it is not rendered, if not for a variable."""


def settings(tree: WorkTree, path: str) -> tuple[Settings, list[Remark]]:
    """The settings for a template: those of the next ``.minijinja.toml`` above it."""
    directory = path
    while directory not in ("", "."):
        directory = directory.rpartition("/")[0]
        file = f"{directory}/.minijinja.toml" if directory else ".minijinja.toml"
        if tree.is_file(file):
            return _settings(tree, file)
    return Settings(), []


def _settings(tree: WorkTree, file: str) -> tuple[Settings, list[Remark]]:
    try:
        found = tomllib.loads(tree.text(file) or "")
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = Place(file, int(line[1]) if line else 0)
        return Settings(), [Remark(place, Grade.ERROR, f"this is no TOML: {error}")]
    table, defines = found.get("syntax"), found.get("defines")
    given = {key.replace("-", "_"): str(value) for key, value in (table if isinstance(table, dict) else {}).items()}
    fields = {field.name for field in dataclasses.fields(Syntax)}
    try:
        syntax = Syntax(**{key: value for key, value in given.items() if key in fields})
    except ValueError as error:
        return Settings(), [Remark(Place(file), Grade.ERROR, f"templates cannot be read: {error}")]
    return Settings(
        syntax=syntax,
        trim_blocks=found.get("trim-blocks") is True,
        lstrip_blocks=found.get("lstrip-blocks") is True,
        autoescape=str(found.get("autoescape", "auto")),
        variables=defines if isinstance(defines, dict) else {},
    ), []


def read(text: str, given: Settings) -> Read:
    """Read a template.

    Raises:
        TemplateError: It is none: a tag does not end, it is too large, or nested too deeply.
    """
    if len(text) > SIZE:
        raise TemplateError(f"it has more than {SIZE} characters")
    found = list(pieces(text, given.syntax))
    missing = {name: lines for name, lines in names(found).items() if name.partition(".")[0] not in given.variables}
    unsafe = next((each for each in found if each.kind is not Kind.TEXT and not _is_tame(each)), None)
    rendered, reason = None, ""
    if not missing and unsafe is not None:
        reason = f"line {unsafe.line} does more than can be rendered without a risk: {_short(unsafe.source)}"
    elif not missing:
        rendered, reason = _render(text, found, given)
    try:
        lines = skeleton.make(found, lambda piece: _evaluate(piece, given))
    except skeleton.TooDeep:
        raise TemplateError(f"its blocks are nested deeper than {skeleton.DEPTH} levels") from None
    return Read(lines, rendered, missing, reason)


def _is_tame(piece: Piece) -> bool:
    """Whether minijinja can be trusted with a tag: no arithmetic, no literals that grow, no calls but a few."""
    if len(piece.inner) > _EXPRESSION or piece.kind in (Kind.HIDDEN, Kind.OPEN):
        return False
    if piece.kind is Kind.OTHER and piece.inner:
        return False
    if piece.kind is Kind.END or not piece.inner:
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


def _environment(given: Settings, fuel: int) -> Any:
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


def _render(text: str, found: list[Piece], given: Settings) -> tuple[str | None, str]:
    values = len(str(dict(given.variables)))
    longest = max([16, values, *(len(each.source) for each in found)])
    try:
        return str(_environment(given, OUTPUT // longest).render_str(text, "template.yaml", **given.variables)), ""
    except (RuntimeError, TypeError, ValueError) as error:
        return None, f"minijinja refuses it: {_short(getattr(error, 'message', str(error)))}"


def _evaluate(piece: Piece, given: Settings) -> str | None:
    """What an expression writes, if all of it is known."""
    if not _is_tame(piece) or any(name.partition(".")[0] not in given.variables for name in names([piece])):
        return None
    try:
        value = _environment(given, 1_000).eval_expr(piece.inner, **given.variables)
    except (RuntimeError, TypeError, ValueError):
        return None
    if piece.kind is Kind.VALUE:
        return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return "yes" if value else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"
