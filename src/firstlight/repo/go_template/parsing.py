"""The words of a template made into a tree, as Go's text/template does it."""

import dataclasses
import functools
from collections.abc import Iterator

from firstlight.repo.go_template import tree
from firstlight.repo.go_template.lexing import Kind, Piece, Word, pieces
from firstlight.repo.go_template.literal import character, number, string
from firstlight.repo.go_template.problem import TemplateError

MAX_NESTING = 40
"""Blocks in blocks, and parentheses in parentheses; people write three or four."""
_BLOCKS = {"if", "with", "range"}
_RESERVED = _BLOCKS | {"else", "end", "define", "block", "template", "break", "continue"}


# Tasks of a Taskfile share their variables, so that the same few texts are asked for again and again.
@functools.lru_cache(maxsize=1024)
def parse(text: str, *, left: str = "{{", right: str = "}}") -> tree.Template:
    """Parse a template.

    Raises:
        TemplateError: It is wrong.
    """
    parser = _Parser(pieces(text, left=left, right=right))
    nodes, end = parser.nodes(0)
    if end is not None:
        raise TemplateError(f"unexpected {end.source}", line=end.line)
    return tree.Template(nodes, parser.definitions)


@dataclasses.dataclass(frozen=True, slots=True)
class _End:
    """``end`` or ``else``, with the words after an ``else``."""

    keyword: str
    words: "_Words"
    line: int
    source: str


class _Parser:
    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces = pieces
        self.definitions: dict[str, tuple[tree.Node, ...]] = {}

    def nodes(self, depth: int) -> tuple[tuple[tree.Node, ...], _End | None]:
        """Nodes up to an ``else`` or ``end``, or to the end of the text."""
        found: list[tree.Node] = []
        for piece in self._pieces:
            if piece.words is None:
                found.append(tree.Text(piece.text, piece.line))
                continue
            words = _Words(piece.words, piece.line)
            if depth > MAX_NESTING:
                raise TemplateError(f"blocks are nested deeper than {MAX_NESTING} levels", line=piece.line)
            keyword = words.keyword()
            if keyword in ("end", "else"):
                return tuple(found), _End(keyword, words, piece.line, piece.text)
            node = self._node(keyword, words, piece, depth)
            if node is not None:
                found.append(node)
        return tuple(found), None

    def _node(self, keyword: str, words: "_Words", piece: Piece, depth: int) -> tree.Node | None:
        line, source = piece.line, piece.text
        if keyword in _BLOCKS:
            return self._block(keyword, words, piece, depth)
        if keyword in ("define", "block"):
            name = words.string()
            pipe = words.pipe() if keyword == "block" else None
            words.done()
            body, end = self.nodes(depth + 1)
            if end is None or end.keyword != "end":
                raise TemplateError(f"{source} has no end", line=line)
            end.words.done()
            self.definitions[name] = body
            return tree.Call(name, pipe, line, source) if keyword == "block" else None
        if keyword == "template":
            name = words.string()
            argument = None if words.is_done else words.pipe()
            words.done()
            return tree.Call(name, argument, line, source)
        if keyword in ("break", "continue"):
            words.done()
            return tree.Jump(keyword, line)
        pipe = words.pipe()
        words.done()
        return tree.Action(pipe, line, source)

    def _block(self, keyword: str, words: "_Words", piece: Piece, depth: int) -> tree.Block:
        pipe = words.pipe(is_range=keyword == "range")
        words.done()
        body, end = self.nodes(depth + 1)
        otherwise: tuple[tree.Node, ...] = ()
        if end is not None and end.keyword == "else":
            inner = end.words.keyword()
            if inner in ("if", "with"):
                # ``else if`` shares the end of its parent.
                nested = Piece(end.source, end.line, ())
                below = self._block(inner, end.words, nested, depth + 1)
                return tree.Block(keyword, pipe, body, (below,), piece.line, piece.text, below.end)
            end.words.done()
            otherwise, end = self.nodes(depth + 1)
        if end is None or end.keyword != "end":
            raise TemplateError(f"{piece.text} has no end", line=piece.line)
        end.words.done()
        return tree.Block(keyword, pipe, body, otherwise, piece.line, piece.text, end.line)


class _Words:
    """The words inside of one pair of braces, read from left to right."""

    def __init__(self, words: tuple[Word, ...], line: int) -> None:
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
        if word is None or word.kind != Kind.NAME or word.text not in _RESERVED:
            return ""
        self._at += 1
        return word.text

    def string(self) -> str:
        """The next word, which must be a string."""
        word = self._peek()
        if word is None or word.kind != Kind.STRING:
            raise self._error("a name in quotes is missing")
        self._at += 1
        return string(word.text, self._line)

    def done(self) -> None:
        """Refuse words that are left over."""
        word = self._peek()
        if word is not None:
            raise self._error(f"unexpected {word.text!r}")

    def pipe(self, depth: int = 0, *, is_range: bool = False) -> tree.Pipe:
        """A pipeline with the variables that it declares."""
        if depth > MAX_NESTING:
            raise self._error(f"parentheses are nested deeper than {MAX_NESTING} levels")
        variables, is_assignment = self._declaration(is_range=is_range)
        commands = [self._command(depth)]
        while self._takes("|"):
            commands.append(self._command(depth))
        return tree.Pipe(tuple(commands), variables, is_assignment)

    def _declaration(self, *, is_range: bool) -> tuple[tuple[str, ...], bool]:
        names, at = [], self._at
        while at < len(self._words) and self._words[at].kind == Kind.VARIABLE:
            names.append(self._words[at].text)
            sign = self._words[at + 1].text if at + 1 < len(self._words) else ""
            if sign in (":=", "="):
                self._at = at + 2
                return tuple(names), sign == "="
            if sign != "," or not is_range or len(names) > 1:
                break
            at += 2
        return (), False

    def _command(self, depth: int) -> tree.Command:
        words: list[tree.Operand] = []
        while (word := self._peek()) is not None and word.text not in ("|", ")"):
            words.append(self._operand(depth))
        if not words:
            raise self._error("a value is missing")
        return tree.Command(tuple(words))

    def _operand(self, depth: int) -> tree.Operand:
        word = self._words[self._at]
        self._at += 1
        operand = self._term(word, depth)
        names = []
        while (after := self._peek()) is not None and after.kind == Kind.FIELD and not after.is_apart:
            names.append(after.text[1:])
            self._at += 1
        if isinstance(operand, tree.Fields) and isinstance(operand.of, tree.Dot):
            return tree.Fields(operand.of, operand.names + tuple(names))
        if names and isinstance(operand, tree.Literal):
            raise self._error(f"{word.text} has no fields")
        return tree.Fields(operand, tuple(names)) if names else operand

    def _term(self, word: Word, depth: int) -> tree.Operand:
        match word.kind:
            case Kind.STRING:
                return tree.Literal(string(word.text, self._line))
            case Kind.CHARACTER:
                return tree.Literal(character(word.text, self._line))
            case Kind.NUMBER:
                return tree.Literal(number(word.text, self._line))
            case Kind.FIELD:
                return tree.Fields(tree.Dot(), (word.text[1:],))
            case Kind.VARIABLE:
                return tree.Variable(word.text)
            case Kind.DOT:
                return tree.Dot()
            case Kind.NAME:
                known = {"true": True, "false": False, "nil": None}
                return tree.Literal(known[word.text]) if word.text in known else tree.Name(word.text)
            case Kind.SIGN if word.text == "(":
                pipe = self.pipe(depth + 1)
                if not self._takes(")"):
                    raise self._error("a parenthesis is not closed")
                return pipe
        raise self._error(f"unexpected {word.text!r}")

    def _peek(self) -> Word | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def _takes(self, sign: str) -> bool:
        word = self._peek()
        if word is None or word.kind != Kind.SIGN or word.text != sign:
            return False
        self._at += 1
        return True

    def _error(self, reason: str) -> TemplateError:
        return TemplateError(reason, line=self._line)
