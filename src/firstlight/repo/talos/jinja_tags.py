"""The tags of a Jinja template: where they are, and which names they use."""

import dataclasses
import re
from collections.abc import Iterable, Iterator

from firstlight.repo.talos.skeleton import Kind, Piece


class TemplateError(ValueError):
    """A text that is no template."""

    def __init__(self, reason: str, *, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


@dataclasses.dataclass(frozen=True)
class Syntax:
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
    "if": Kind.IF, "elif": Kind.ELIF, "else": Kind.ELSE, "for": Kind.LOOP, "macro": Kind.HIDDEN, "call": Kind.HIDDEN,
    "filter": Kind.OPEN, "with": Kind.OPEN, "block": Kind.OPEN, "autoescape": Kind.OPEN,
}  # fmt: skip
_STRING = r"""(?s:'(?:[^'\\]|\\.)*+(?:'|\Z)|"(?:[^"\\]|\\.)*+(?:"|\Z))"""
"""A string; one that does not end goes to the end of the text, so that none is looked at twice."""
_NAME = re.compile(rf"{_STRING}|(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|[^\sA-Za-z_'\"]")
_KEYWORDS = {
    "and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "recursive",
    "loop", "self", "super", "range", "dict", "namespace", "debug", "lipsum", "cycler", "joiner", "now",
}  # fmt: skip


_LOADING = {"include", "import", "from", "extends"}
_LOADING_WORDS = {"ignore", "missing", "with", "without", "context", "as", "import"}


def pieces(text: str, syntax: Syntax) -> Iterator[Piece]:
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
            yield Piece(Kind.TEXT, text[at : match.start()], line)
        line += text.count("\n", at, match.start())
        end = _end(text, match.end(), starts[match[0]], syntax)
        if end is None:
            raise TemplateError(f"{match[0]} does not end", line=line)
        source = text[match.start() : end]
        piece = _tag(source, starts[match[0]], line, syntax)
        if piece.inner == "raw":
            close = re.compile(rf"{re.escape(syntax.block_start)}[-+]?\s*endraw\s*[-+]?{re.escape(syntax.block_end)}")
            stop = close.search(text, end)
            inside = text[end : stop.start() if stop else len(text)]
            yield Piece(Kind.OTHER, source, line)
            yield Piece(Kind.TEXT, inside, line + source.count("\n"))
            end = stop.end() if stop else len(text)
            line += text.count("\n", match.start(), end)
            at = end
            continue
        yield piece
        line += source.count("\n")
        at = end
    if at < len(text):
        yield Piece(Kind.TEXT, text[at:], line)


def _end(text: str, at: int, kind: str, syntax: Syntax) -> int | None:
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


def _tag(source: str, kind: str, line: int, syntax: Syntax) -> Piece:
    if kind == "comment":
        return Piece(Kind.OTHER, source, line)
    if kind == "value":
        inner = source[len(syntax.variable_start) : -len(syntax.variable_end)].strip("-+").strip()
        return Piece(Kind.VALUE, source, line, inner)
    inner = source[len(syntax.block_start) : -len(syntax.block_end)].strip("-+").strip()
    return statement(inner, source, line)


def statement(inner: str, source: str, line: int) -> Piece:
    """A statement by its words."""
    word, _, rest = inner.partition(" ")
    if word.startswith("end"):
        return Piece(Kind.END, source, line)
    if word == "raw":
        return Piece(Kind.OTHER, source, line, "raw")
    if word == "set" and "=" not in rest:
        return Piece(Kind.HIDDEN, source, line, inner)
    kind = _KINDS.get(word, Kind.OTHER)
    return Piece(
        kind, source, line, rest.strip() if kind in (Kind.IF, Kind.ELIF) else "" if kind is Kind.ELSE else inner
    )


def _without_line_tags(text: str, syntax: Syntax) -> str:
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


def names(found: Iterable[Piece]) -> dict[str, tuple[int, ...]]:
    """Names that a template uses and does not make itself, with their lines: ``cluster``, ``ENV.SCHEMATIC``."""
    used: dict[str, list[int]] = {}
    made: set[str] = set()
    for piece in found:
        if piece.kind is Kind.TEXT or not piece.inner:
            continue
        made |= _made(piece)
        is_expression = piece.kind in (Kind.VALUE, Kind.IF, Kind.ELIF)
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


def _made(piece: Piece) -> set[str]:
    """Names that a statement makes."""
    word, _, rest = piece.inner.partition(" ")
    if piece.kind is Kind.LOOP:
        return set(re.findall(r"[A-Za-z_]\w*", rest.partition(" in ")[0]))
    if piece.kind is Kind.VALUE:
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
