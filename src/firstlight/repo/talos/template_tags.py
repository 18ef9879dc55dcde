"""A template as plain text, line by line: what is known is put in, what is not becomes a mark, statements vanish.

The result is no rendering. Loops are read once, and of an unknown condition the first branch: enough to see what a
template says whatever its variables are. Every line stays where it was, so that places are right.
"""

import dataclasses
import enum
import re
from collections.abc import Callable, Iterable, Iterator

from firstlight.repo.go_template import unknown_values
from firstlight.repo.go_template.unknown_values import Unknown


class TagKind(enum.Enum):
    """What a piece of a template does."""

    TEXT = enum.auto()
    VALUE = enum.auto()
    """Writes a value."""
    IF = enum.auto()
    """Begins something that is written under a condition."""
    ELIF = enum.auto()
    ELSE = enum.auto()
    LOOP = enum.auto()
    HIDDEN = enum.auto()
    """Begins something that is written elsewhere, or not at all: a macro."""
    OPEN = enum.auto()
    """Begins something that is written as it stands."""
    END = enum.auto()
    OTHER = enum.auto()
    """Writes nothing: a comment, an assignment."""


@dataclasses.dataclass(frozen=True, slots=True)
class TagPiece:
    """Text between tags, or a tag."""

    kind: TagKind
    source: str
    """As it is written, delimiters too."""
    line: int
    inner: str = ""
    """The expression, or the condition."""


@dataclasses.dataclass(frozen=True, slots=True)
class Skeleton:
    """A text with marks."""

    text: str
    unknowns: tuple[Unknown, ...]
    conditional: frozenset[int]
    """Lines that are written only under a condition that is not known, or several times."""


DEPTH = 60
"""Blocks inside of each other; people write three or four."""


ROOM = 1_000_000
"""Characters that known values may take in all."""
TRIED = 5_000
"""Expressions of a template that are tried; a long one has some dozen."""


class TagsTooDeep(ValueError):
    """A template nested deeper than anybody writes."""


Evaluate = Callable[[TagPiece], str | None]
"""The text that an expression writes; of a condition, an empty one if it is false. None if it is not known."""


@dataclasses.dataclass(slots=True)
class _Level:
    line: int
    is_hidden: bool
    is_certain: bool
    is_done: bool = False
    """Whether a branch was taken already."""


class _Values:
    """Writes values, or marks for them."""

    def __init__(self, evaluate: Evaluate) -> None:
        self.evaluate = evaluate
        self.unknowns: list[Unknown] = []
        self.room, self.left = ROOM, TRIED

    def text(self, piece: TagPiece) -> str:
        """What stands for an expression."""
        self.left -= 1
        known = self.evaluate(piece) if self.left >= 0 else None
        if known is not None and len(known) <= self.room:
            self.room -= len(known)
            return known.replace("\n", " ")
        return self.mark(piece)

    def mark(self, piece: TagPiece) -> str:
        """A mark for what is not known."""
        text = " ".join(piece.source.split())
        self.unknowns.append(Unknown(text, "it is only known when it is rendered", piece.line))
        return unknown_values.mark(len(self.unknowns) - 1)


def make_skeleton(pieces: Iterable[TagPiece], evaluate: Evaluate) -> Skeleton:
    """Make a text of a template's pieces.

    Raises:
        TooDeep: Its blocks are nested deeper than anybody writes.
    """
    out: list[str] = []
    values = _Values(evaluate)
    conditional: set[int] = set()
    levels: list[_Level] = []
    for piece in pieces:
        breaks = "\n" * piece.source.count("\n")
        if piece.kind in (TagKind.TEXT, TagKind.VALUE):
            is_hidden = any(each.is_hidden for each in levels)
            if not is_hidden and any(not each.is_certain for each in levels):
                conditional.update(range(piece.line, piece.line + len(breaks) + 1))
            if is_hidden:
                out.append(breaks)
            elif not breaks and any(not each.is_certain and each.line == piece.line for each in levels):
                out.append(values.mark(piece))  # a part of a line, so of a value
            elif piece.kind is TagKind.TEXT:
                out.append(piece.source)
            else:
                out.append(values.text(piece) + breaks)
            continue
        _enter(piece, levels, evaluate)
        if len(levels) > DEPTH:
            raise TagsTooDeep
        out.append(breaks)
    return Skeleton("".join(out), tuple(values.unknowns), frozenset(conditional))


def _enter(piece: TagPiece, levels: list[_Level], evaluate: Evaluate) -> None:
    match piece.kind:
        case TagKind.IF:
            known = evaluate(piece)
            levels.append(_Level(piece.line, is_hidden=known == "", is_certain=known is not None, is_done=known != ""))
        case TagKind.ELIF | TagKind.ELSE if levels:
            level = levels[-1]
            known = evaluate(piece) if piece.kind is TagKind.ELIF and not level.is_done else "yes"
            level.line = piece.line
            level.is_hidden = level.is_done or known == ""
            level.is_certain = level.is_certain and known is not None
            level.is_done = level.is_done or known != ""
        case TagKind.LOOP:
            levels.append(_Level(piece.line, is_hidden=False, is_certain=False, is_done=True))
        case TagKind.HIDDEN:
            levels.append(_Level(piece.line, is_hidden=True, is_certain=True, is_done=True))
        case TagKind.OPEN:
            levels.append(_Level(piece.line, is_hidden=False, is_certain=True, is_done=True))
        case TagKind.END if levels:
            levels.pop()


# The tags of a Jinja template: where they are, and which names they use.


class JinjaError(ValueError):
    """A text that is no template."""

    def __init__(self, reason: str, *, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@dataclasses.dataclass(frozen=True)
class JinjaSyntax:
    """How tags are written."""

    block_start: str = "{%"
    block_end: str = "%}"
    variable_start: str = "{{"
    variable_end: str = "}}"
    comment_start: str = "{#"
    comment_end: str = "#}"
    line_statement_prefix: str = ""
    line_comment_prefix: str = ""

    def __post_init__(self) -> None:
        starts = [self.block_start, self.variable_start, self.comment_start]
        if not all((*starts, self.block_end, self.variable_end, self.comment_end)) or len(set(starts)) < len(starts):
            raise ValueError("the delimiters are empty, or the same")


_KINDS = {
    "if": TagKind.IF,
    "elif": TagKind.ELIF,
    "else": TagKind.ELSE,
    "for": TagKind.LOOP,
    "macro": TagKind.HIDDEN,
    "call": TagKind.HIDDEN,
    "filter": TagKind.OPEN,
    "with": TagKind.OPEN,
    "block": TagKind.OPEN,
    "autoescape": TagKind.OPEN,
}
_STRING = r"""(?s:'(?:[^'\\]|\\.)*+(?:'|\Z)|"(?:[^"\\]|\\.)*+(?:"|\Z))"""
"""A string; one that does not end goes to the end of the text, so that none is looked at twice."""
_NAME = re.compile(rf"{_STRING}|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|[^\sA-Za-z_'\"]")
_KEYWORDS = {
    "and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "recursive",
    "loop", "self", "super", "range", "dict", "namespace", "debug", "lipsum", "cycler", "joiner", "now",
}  # fmt: skip


_LOADING = {"include", "import", "from", "extends"}
_LOADING_WORDS = {"ignore", "missing", "with", "without", "context", "as", "import"}


def jinja_pieces(text: str, syntax: JinjaSyntax) -> Iterator[TagPiece]:
    """Cut a template into text and tags.

    Raises:
        TemplateError: A tag does not end.
    """
    starts = {syntax.block_start: "block", syntax.variable_start: "value", syntax.comment_start: "comment"}
    tag = re.compile("|".join(re.escape(each) for each in sorted(starts, key=len, reverse=True)))
    if syntax.line_statement_prefix or syntax.line_comment_prefix:
        text = _without_line_tags(text, syntax)
    at, line = 0, 1
    while match := tag.search(text, at):
        if match.start() > at:
            yield TagPiece(TagKind.TEXT, text[at : match.start()], line)
        line += text.count("\n", at, match.start())
        end = _end(text, match.end(), starts[match[0]], syntax)
        if end is None:
            raise JinjaError(f"{match[0]} does not end", line=line)
        source = text[match.start() : end]
        piece = _tag(source, starts[match[0]], line, syntax)
        if piece.inner == "raw":
            close = re.compile(rf"{re.escape(syntax.block_start)}[-+]?\s*endraw\s*[-+]?{re.escape(syntax.block_end)}")
            stop = close.search(text, end)
            inside = text[end : stop.start() if stop else len(text)]
            yield TagPiece(TagKind.OTHER, source, line)
            yield TagPiece(TagKind.TEXT, inside, line + source.count("\n"))
            end = stop.end() if stop else len(text)
            line += text.count("\n", match.start(), end)
            at = end
            continue
        yield piece
        line += source.count("\n")
        at = end
    if at < len(text):
        yield TagPiece(TagKind.TEXT, text[at:], line)


def _end(text: str, at: int, kind: str, syntax: JinjaSyntax) -> int | None:
    """Where a tag ends; not inside of a string."""
    if kind == "comment":
        found = text.find(syntax.comment_end, at)
        return None if found < 0 else found + len(syntax.comment_end)
    close = syntax.block_end if kind == "block" else syntax.variable_end
    step = re.compile(rf"{_STRING}|(?P<end>{re.escape(close)})")
    for match in step.finditer(text, at):
        if match["end"]:
            return match.end()
    return None


def _tag(source: str, kind: str, line: int, syntax: JinjaSyntax) -> TagPiece:
    if kind == "comment":
        return TagPiece(TagKind.OTHER, source, line)
    if kind == "value":
        inner = source[len(syntax.variable_start) : -len(syntax.variable_end)].strip("-+").strip()
        return TagPiece(TagKind.VALUE, source, line, inner)
    inner = source[len(syntax.block_start) : -len(syntax.block_end)].strip("-+").strip()
    return jinja_statement(inner, source, line)


def jinja_statement(inner: str, source: str, line: int) -> TagPiece:
    """A statement by its words."""
    word, _, rest = inner.partition(" ")
    if word.startswith("end"):
        return TagPiece(TagKind.END, source, line)
    if word == "raw":
        return TagPiece(TagKind.OTHER, source, line, "raw")
    if word == "set" and "=" not in rest:
        return TagPiece(TagKind.HIDDEN, source, line, inner)
    kind = _KINDS.get(word, TagKind.OTHER)
    return TagPiece(
        kind,
        source,
        line,
        rest.strip() if kind in (TagKind.IF, TagKind.ELIF) else "" if kind is TagKind.ELSE else inner,
    )


def _without_line_tags(text: str, syntax: JinjaSyntax) -> str:
    """Line statements as ordinary ones, line by line; line comments are gone."""
    lines = []
    for line in text.split("\n"):
        bare = line.strip()
        prefix = syntax.line_statement_prefix
        comment = syntax.line_comment_prefix
        if comment and bare.startswith(comment):
            lines.append("")
        elif prefix and bare.startswith(prefix):
            lines.append(f"{syntax.block_start} {bare[len(prefix) :].strip().removesuffix(':')} {syntax.block_end}")
        else:
            lines.append(line)
    return "\n".join(lines)


def names_used(found: Iterable[TagPiece]) -> dict[str, tuple[int, ...]]:
    """Names that a template uses and does not make itself, with their lines: ``cluster``, ``ENV.SCHEMATIC``."""
    used: dict[str, list[int]] = {}
    made: set[str] = set()
    for piece in found:
        if piece.kind is TagKind.TEXT or not piece.inner:
            continue
        made |= _made(piece)
        is_expression = piece.kind in (TagKind.VALUE, TagKind.IF, TagKind.ELIF)
        word, _, rest = piece.inner.partition(" ")
        expression = piece.inner if is_expression else rest
        keywords = _KEYWORDS | _LOADING_WORDS if not is_expression and word in _LOADING else _KEYWORDS
        previous = ""
        for match in _NAME.finditer(expression):
            name = match["name"]
            root = (name or "").partition(".")[0]
            after = expression[match.end() : match.end() + 3].lstrip()
            is_argument = after.startswith("=") and not after.startswith("==")
            if root and previous not in {"|", ".", "is"} and root not in keywords and not is_argument:
                used.setdefault(name, []).append(piece.line)
            if not (name == "not" and previous == "is"):
                previous = name or match[0]
    return {name: tuple(dict.fromkeys(lines)) for name, lines in used.items() if name.partition(".")[0] not in made}


def _made(piece: TagPiece) -> set[str]:
    """Names that a statement makes."""
    word, _, rest = piece.inner.partition(" ")
    if piece.kind is TagKind.LOOP:
        return set(re.findall(r"[A-Za-z_]\w*", rest.partition(" in ")[0]))
    if piece.kind is TagKind.VALUE:
        return set()
    if word == "set":
        return set(re.findall(r"[A-Za-z_]\w*", rest.partition("=")[0]))
    if word == "with":
        return set(re.findall(r"([A-Za-z_]\w*)\s*=(?!=)", rest))
    if word == "macro":
        return set(re.findall(r"[A-Za-z_]\w*", rest))
    if word in {"from", "import"}:
        return set(re.findall(r"[A-Za-z_]\w*", rest.rpartition("import")[2]))
    return set()
