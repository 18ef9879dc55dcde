"""A template as a tree: text, actions, blocks, and the pipelines in them."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

from firstlight.repo.go_template import template_lexer
from firstlight.repo.go_template.template_lexer import (
    TemplatePiece,
    TemplateWord,
    TemplateWordKind,
    character_literal,
    number_literal,
    string_literal,
)
from firstlight.repo.go_template.unknown_values import GoTemplateError


@dataclasses.dataclass(frozen=True, slots=True)
class LiteralValue:
    """A string, number, boolean or nil."""

    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Dot:
    """The cursor, ``.``."""


@dataclasses.dataclass(frozen=True, slots=True)
class Variable:
    """``$`` or ``$name``."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """A function."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class FieldChain:
    """``.a.b`` of the cursor, of a variable, or of what parentheses give."""

    of: "Operand"
    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A function or value with its arguments."""

    words: tuple["Operand", ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Pipe:
    """Commands that pass their result on, and the variables that are given the last one."""

    commands: tuple[Command, ...]
    variables: tuple[str, ...] = ()
    is_assignment: bool = False
    """``$x = …`` changes a variable that is there already; ``$x := …`` makes one."""


Operand = LiteralValue | Dot | Variable | Name | FieldChain | Pipe


@dataclasses.dataclass(frozen=True, slots=True)
class TemplateText:
    """What stands between the actions."""

    text: str
    line: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class TemplateAction:
    """``{{ pipe }}``."""

    pipe: Pipe
    line: int
    source: str
    """As it is written, with its braces."""


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """``if``, ``with`` and ``range``; an ``else if`` is a block alone in ``otherwise``."""

    keyword: str
    pipe: Pipe
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]
    line: int
    source: str
    end: int = 0
    """The line of its ``end``."""


@dataclasses.dataclass(frozen=True, slots=True)
class TemplateCall:
    """``{{ template "name" pipe }}``."""

    name: str
    pipe: Pipe | None
    line: int
    source: str


@dataclasses.dataclass(frozen=True, slots=True)
class Jump:
    """``break`` or ``continue``."""

    keyword: str
    line: int


Node = TemplateText | TemplateAction | Block | TemplateCall | Jump


@dataclasses.dataclass(frozen=True, slots=True)
class GoTemplate:
    """A parsed template with what it defines."""

    nodes: tuple[Node, ...]
    definitions: dict[str, tuple[Node, ...]]


# The words of a template made into a tree, as Go's text/template does it.


MAX_NESTING = 40
"""Blocks in blocks, and parentheses in parentheses; people write three or four."""
_BLOCKS = {"if", "with", "range"}
_RESERVED = _BLOCKS | {"else", "end", "define", "block", "template", "break", "continue"}


# Tasks of a Taskfile share their variables, so that the same few texts are asked for again and again.
@functools.lru_cache(maxsize=1024)
def parse(text: str, *, left: str = "{{", right: str = "}}") -> GoTemplate:
    """Parse a template.

    Raises:
        TemplateError: It is wrong.
    """
    parser = _Parser(template_lexer.pieces(text, left=left, right=right))
    nodes, end = parser.nodes(0)
    if end is not None:
        raise GoTemplateError(f"unexpected {end.source}", line=end.line)
    return GoTemplate(nodes, parser.definitions)


@dataclasses.dataclass(frozen=True, slots=True)
class _End:
    """``end`` or ``else``, with the words after an ``else``."""

    keyword: str
    words: "_Words"
    line: int
    source: str


class _Parser:
    def __init__(self, pieces: Iterator[TemplatePiece]) -> None:
        self._pieces = pieces
        self.definitions: dict[str, tuple[Node, ...]] = {}

    def nodes(self, depth: int) -> tuple[tuple[Node, ...], _End | None]:
        """Nodes up to an ``else`` or ``end``, or to the end of the text."""
        found: list[Node] = []
        for piece in self._pieces:
            if piece.words is None:
                found.append(TemplateText(piece.text, piece.line))
                continue
            words = _Words(piece.words, piece.line)
            if depth > MAX_NESTING:
                raise GoTemplateError(f"blocks are nested deeper than {MAX_NESTING} levels", line=piece.line)
            keyword = words.keyword()
            if keyword in ("end", "else"):
                return tuple(found), _End(keyword, words, piece.line, piece.text)
            node = self._node(keyword, words, piece, depth)
            if node is not None:
                found.append(node)
        return tuple(found), None

    def _node(self, keyword: str, words: "_Words", piece: TemplatePiece, depth: int) -> Node | None:
        line, source = piece.line, piece.text
        if keyword in _BLOCKS:
            return self._block(keyword, words, piece, depth)
        if keyword in ("define", "block"):
            name = words.string()
            pipe = words.pipe() if keyword == "block" else None
            words.done()
            body, end = self.nodes(depth + 1)
            if end is None or end.keyword != "end":
                raise GoTemplateError(f"{source} has no end", line=line)
            end.words.done()
            self.definitions[name] = body
            return TemplateCall(name, pipe, line, source) if keyword == "block" else None
        if keyword == "template":
            name = words.string()
            argument = None if words.is_done else words.pipe()
            words.done()
            return TemplateCall(name, argument, line, source)
        if keyword in ("break", "continue"):
            words.done()
            return Jump(keyword, line)
        pipe = words.pipe()
        words.done()
        return TemplateAction(pipe, line, source)

    def _block(self, keyword: str, words: "_Words", piece: TemplatePiece, depth: int) -> Block:
        pipe = words.pipe(is_range=keyword == "range")
        words.done()
        body, end = self.nodes(depth + 1)
        otherwise: tuple[Node, ...] = ()
        if end is not None and end.keyword == "else":
            inner = end.words.keyword()
            if inner in ("if", "with"):
                # ``else if`` shares the end of its parent.
                nested = TemplatePiece(end.source, end.line, ())
                below = self._block(inner, end.words, nested, depth + 1)
                return Block(keyword, pipe, body, (below,), piece.line, piece.text, below.end)
            end.words.done()
            otherwise, end = self.nodes(depth + 1)
        if end is None or end.keyword != "end":
            raise GoTemplateError(f"{piece.text} has no end", line=piece.line)
        end.words.done()
        return Block(keyword, pipe, body, otherwise, piece.line, piece.text, end.line)


class _Words:
    """The words inside of one pair of braces, read from left to right."""

    def __init__(self, words: tuple[TemplateWord, ...], line: int) -> None:
        self._words = words
        self._at = 0
        self._line = line

    @property
    def is_done(self) -> bool:
        """Whether no word is left."""
        return self._at >= len(self._words)

    def keyword(self) -> str:
        """The next word, taken if it is reserved; else nothing."""
        word = self._peek()
        if word is None or word.kind != TemplateWordKind.NAME or word.text not in _RESERVED:
            return ""
        self._at += 1
        return word.text

    def string(self) -> str:
        """The next word, which must be a string."""
        word = self._peek()
        if word is None or word.kind != TemplateWordKind.STRING:
            raise self._error("a name in quotes is missing")
        self._at += 1
        return string_literal(word.text, self._line)

    def done(self) -> None:
        """Refuse words that are left over."""
        word = self._peek()
        if word is not None:
            raise self._error(f"unexpected {word.text!r}")

    def pipe(self, depth: int = 0, *, is_range: bool = False) -> Pipe:
        """A pipeline with the variables that it declares."""
        if depth > MAX_NESTING:
            raise self._error(f"parentheses are nested deeper than {MAX_NESTING} levels")
        variables, is_assignment = self._declaration(is_range=is_range)
        commands = [self._command(depth)]
        while self._takes("|"):
            commands.append(self._command(depth))
        return Pipe(tuple(commands), variables, is_assignment)

    def _declaration(self, *, is_range: bool) -> tuple[tuple[str, ...], bool]:
        names, at = [], self._at
        while at < len(self._words) and self._words[at].kind == TemplateWordKind.VARIABLE:
            names.append(self._words[at].text)
            sign = self._words[at + 1].text if at + 1 < len(self._words) else ""
            if sign in (":=", "="):
                self._at = at + 2
                return tuple(names), sign == "="
            if sign != "," or not is_range or len(names) > 1:
                break
            at += 2
        return (), False

    def _command(self, depth: int) -> Command:
        words: list[Operand] = []
        while (word := self._peek()) is not None and word.text not in ("|", ")"):
            words.append(self._operand(depth))
        if not words:
            raise self._error("a value is missing")
        return Command(tuple(words))

    def _operand(self, depth: int) -> Operand:
        word = self._words[self._at]
        self._at += 1
        operand = self._term(word, depth)
        names = []
        while (after := self._peek()) is not None and after.kind == TemplateWordKind.FIELD and not after.is_apart:
            names.append(after.text[1:])
            self._at += 1
        if isinstance(operand, FieldChain) and isinstance(operand.of, Dot):
            return FieldChain(operand.of, operand.names + tuple(names))
        if names and isinstance(operand, LiteralValue):
            raise self._error(f"{word.text} has no fields")
        return FieldChain(operand, tuple(names)) if names else operand

    def _term(self, word: TemplateWord, depth: int) -> Operand:
        match word.kind:
            case TemplateWordKind.STRING:
                return LiteralValue(string_literal(word.text, self._line))
            case TemplateWordKind.CHARACTER:
                return LiteralValue(character_literal(word.text, self._line))
            case TemplateWordKind.NUMBER:
                return LiteralValue(number_literal(word.text, self._line))
            case TemplateWordKind.FIELD:
                return FieldChain(Dot(), (word.text[1:],))
            case TemplateWordKind.VARIABLE:
                return Variable(word.text)
            case TemplateWordKind.DOT:
                return Dot()
            case TemplateWordKind.NAME:
                known = {"true": True, "false": False, "nil": None}
                return LiteralValue(known[word.text]) if word.text in known else Name(word.text)
            case TemplateWordKind.SIGN if word.text == "(":
                pipe = self.pipe(depth + 1)
                if not self._takes(")"):
                    raise self._error("a parenthesis is not closed")
                return pipe
        raise self._error(f"unexpected {word.text!r}")

    def _peek(self) -> TemplateWord | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def _takes(self, sign: str) -> bool:
        word = self._peek()
        if word is None or word.kind != TemplateWordKind.SIGN or word.text != sign:
            return False
        self._at += 1
        return True

    def _error(self, reason: str) -> GoTemplateError:
        return GoTemplateError(reason, line=self._line)
