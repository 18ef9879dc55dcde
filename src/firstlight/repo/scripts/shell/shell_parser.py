"""Tokens made into commands, loops and functions.

Nothing here fails: keywords open and close blocks, and one that fits nowhere is passed over. What a script deploys is
in its commands, and a script that a shell would refuse is the shell's to refuse.
"""

import dataclasses
import functools
import re

from firstlight.repo.scripts.shell.shell_lexer import Lexer, Operator, Redirect, Token
from firstlight.repo.scripts.shell.shell_tree import (
    Heredoc,
    Item,
    Pipeline,
    Script,
    ShellFunction,
    ShellGroup,
    ShellLoop,
    ShellPiece,
    ShellPieceKind,
    ShellWord,
    Simple,
)

MAX_NESTING = 100
"""Blocks inside of blocks; deeper ones are put into the same block."""
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_NAME = re.compile(r"[A-Za-z_][\w.:-]*")
_DECLARE = {"export", "local", "readonly", "declare", "typeset"}
_ENDS = {"fi": "if", "done": "loop", "esac": "case", "}": "{", ")": "("}
_SEPARATORS = {"then", "else", "elif", "do", "!", "time", "coproc"}


@functools.lru_cache(maxsize=2_000)
def parse(text: str) -> Script:
    """A script as a tree; the same text is often read again, with other variables around it."""
    lexer = Lexer(text)
    parser = _Parser(lexer.tokens())
    return Script(parser.run(), tuple(lexer.problems))


@dataclasses.dataclass(slots=True)
class _Block:
    """A block that is still open."""

    kind: str
    items: list[Item] = dataclasses.field(default_factory=list)
    name: str = ""
    words: tuple[ShellWord, ...] = ()
    line: int = 0
    pipeline: list[Simple | ShellGroup] = dataclasses.field(default_factory=list)
    """The commands left of a ``|`` that waits for the next one."""


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._blocks = [_Block("script")]

    def run(self) -> tuple[Item, ...]:
        """The items of the whole script."""
        while self._at < len(self._tokens):
            self._one()
        while len(self._blocks) > 1:
            self._close(self._blocks[-1].kind)
        self._flush()
        return tuple(self._blocks[0].items)

    @property
    def _block(self) -> _Block:
        return self._blocks[-1]

    def _flush(self) -> None:
        """The pipeline that was read so far is complete."""
        if self._block.pipeline:
            self._block.items.append(Pipeline(tuple(self._block.pipeline)))
            self._block.pipeline = []

    def _open(self, kind: str, **more: object) -> None:
        if len(self._blocks) <= MAX_NESTING:
            block = _Block(kind)
            for name, value in more.items():
                setattr(block, name, value)
            self._blocks.append(block)

    def _close(self, kind: str) -> None:
        """Close the nearest block of a kind, and what was left open inside of it."""
        if all(block.kind != kind for block in self._blocks[1:]):
            return
        while True:
            self._flush()
            block = self._blocks.pop()
            items = tuple(block.items)
            if block.kind == "function":
                self._block.items.append(ShellFunction(block.name, items, block.line))
            elif block.kind == "loop":
                self._flush()
                self._block.items.append(ShellLoop(block.name, block.words, items))
            else:
                self._block.pipeline.append(ShellGroup(items, is_subshell=block.kind == "("))
            if block.kind == kind:
                if self._block.kind == "function" and kind in ("{", "("):
                    self._close("function")
                return

    def _one(self) -> None:
        token = self._tokens[self._at]
        if isinstance(token, Operator):
            self._at += 1
            self._operator(token)
        elif isinstance(token, Redirect):
            self._at += 1  # of a block; the streams of blocks are not followed
        else:
            self._words(token)

    def _operator(self, token: Operator) -> None:
        match token.text:
            case "|" | "|&":
                self._skip_line_ends()
                return
            case "(":
                if not self._is_pattern:
                    self._open("(")
                return
            case ")" if self._is_pattern:
                self._block.pipeline = []
                self._block.name = "branch"
                return
            case ")":
                self._close("(")
                return
            case ";;" | ";&" | ";;&":
                while self._block.kind != "case" and any(block.kind == "case" for block in self._blocks):
                    self._close(self._block.kind)
                self._flush()
                self._block.name = ""
                return
        if not self._is_pattern:
            self._flush()

    @property
    def _is_pattern(self) -> bool:
        """Whether what comes now is a pattern of ``case``, and no command."""
        return self._block.kind == "case" and not self._block.name

    def _skip_line_ends(self) -> None:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if not isinstance(token, Operator) or token.text != "\n":
                return
            self._at += 1

    def _words(self, first: ShellWord) -> None:
        """A keyword, the head of a function, or a command."""
        bare = first.bare
        following = self._tokens[self._at + 1 : self._at + 3]
        is_function = [each.text for each in following if isinstance(each, Operator)] == ["(", ")"]
        if is_function and _NAME.fullmatch(bare):
            self._at += 3
            self._open("function", name=bare, line=first.line)
            self._skip_line_ends()
            return
        if bare in _SEPARATORS:
            self._at += 1
            self._flush()
        elif bare in ("if", "while", "until", "case", "{", "select"):
            self._at += 1
            self._open("loop" if bare in ("while", "until", "select") else bare)
            if bare == "case":
                self._skip_to("in")
        elif bare in _ENDS:
            self._at += 1
            self._flush()
            self._close(_ENDS[bare])
        elif bare == "for":
            self._for()
        elif bare == "function":
            self._at += 1
            name = self._tokens[self._at] if self._at < len(self._tokens) else None
            if isinstance(name, ShellWord):
                self._at += 1
                while self._at < len(self._tokens) and _is_operator(self._tokens[self._at], "(", ")", "\n"):
                    self._at += 1
                self._open("function", name=name.source, line=first.line)
        else:
            self._simple()

    def _skip_to(self, keyword: str) -> None:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if isinstance(token, ShellWord) and token.bare == keyword:
                return

    def _for(self) -> None:
        self._at += 1
        words: list[ShellWord] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if isinstance(token, Operator) and token.text in ("\n", ";"):
                break
            if isinstance(token, ShellWord):
                words.append(token)
            self._at += 1
        name = words[0].bare if words else ""
        listed = tuple(words[2:]) if len(words) > 1 and words[1].bare == "in" else ()
        self._open("loop", name=name, words=listed)

    def _simple(self) -> None:
        words: list[ShellWord] = []
        assignments: list[tuple[str, ShellWord]] = []
        arrays: list[tuple[str, tuple[ShellWord, ...]]] = []
        stdin: Heredoc | ShellWord | None = None
        here_string: ShellWord | None = None
        stdout: ShellWord | None = None
        line = 0
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if isinstance(token, Operator):
                break
            self._at += 1
            if isinstance(token, Redirect):
                if token.operator == "<<<" and isinstance(token.target, ShellWord):
                    here_string = token.target
                elif token.operator in ("<<", "<<-", "<"):
                    stdin = token.target
                elif (
                    isinstance(token.target, ShellWord)
                    and token.number in ("", "1")
                    and token.operator in (">", ">>", ">|")
                ):
                    stdout = token.target
                continue
            line = line or token.line
            name = _assigned(token)
            if name and (not words or words[0].bare in _DECLARE):
                if _is_operator(self._tokens[self._at] if self._at < len(self._tokens) else None, "("):
                    arrays.append((name, self._array()))
                else:
                    assignments.append((name, _value(token)))
                continue
            words.append(token)
        if words and words[0].bare in _DECLARE:
            words = []
        self._block.pipeline.append(
            Simple(tuple(words), line, tuple(assignments), tuple(arrays), stdin, here_string, stdout)
        )

    def _array(self) -> tuple[ShellWord, ...]:
        self._at += 1
        words = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if isinstance(token, ShellWord):
                words.append(token)
            elif _is_operator(token, ")"):
                break
        return tuple(words)


def _is_operator(token: Token | None, *texts: str) -> bool:
    return isinstance(token, Operator) and token.text in texts


def _assigned(word: ShellWord) -> str:
    """The name, if a word is an assignment; with a plus sign for ``name+=``."""
    first = word.pieces[0] if word.pieces else None
    if first is None or first.kind != ShellPieceKind.LITERAL or first.is_quoted:
        return ""
    match = _ASSIGNMENT.match(first.text)
    return match[1] + match[2] if match else ""


def _value(word: ShellWord) -> ShellWord:
    first = word.pieces[0]
    cut = first.text.index("=") + 1
    rest = ShellPiece(ShellPieceKind.LITERAL, first.text[cut:], first.text[cut:])
    return ShellWord(((rest,) if rest.text else ()) + word.pieces[1:], word.line)
