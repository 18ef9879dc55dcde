"""A shell script as a tree, as far as it matters for what it deploys."""

import dataclasses
import enum


class ShellPieceKind(enum.Enum):
    """What a piece of a word is."""

    LITERAL = "literal"
    VARIABLE = "variable"
    SUBSTITUTION = "substitution"
    """``$(…)``, backquotes, ``<(…)`` and arithmetic: what a run would tell."""


@dataclasses.dataclass(frozen=True, slots=True)
class ShellPiece:
    """A piece of a word."""

    kind: ShellPieceKind
    text: str
    """The literal text, the variable's name, or the commands inside of a substitution."""
    source: str
    """As it is written."""
    is_quoted: bool = False
    fallback: str | None = None
    """``${X:-fallback}``, as it is written."""
    operation: str = ""
    """What else stands in the braces: ``%.yaml``, ``[@]``, ``^^`` …"""


@dataclasses.dataclass(frozen=True, slots=True)
class ShellWord:
    """A word of a command."""

    pieces: tuple[ShellPiece, ...]
    line: int

    @property
    def source(self) -> str:
        """As it is written, without quotes."""
        return "".join(piece.source for piece in self.pieces)

    @property
    def bare(self) -> str:
        """The text, if nothing in it is quoted or unknown; only such words can be keywords."""
        if len(self.pieces) == 1 and self.pieces[0].kind == ShellPieceKind.LITERAL and not self.pieces[0].is_quoted:
            return self.pieces[0].text
        return ""


@dataclasses.dataclass(frozen=True, slots=True)
class Heredoc:
    """The lines after ``<<EOF``."""

    text: str
    line: int
    """Of its first line."""
    is_literal: bool
    """The delimiter is in quotes: nothing inside is expanded."""


@dataclasses.dataclass(frozen=True, slots=True)
class Simple:
    """One program with its arguments."""

    words: tuple[ShellWord, ...]
    line: int
    assignments: tuple[tuple[str, ShellWord], ...] = ()
    """Before the program, or alone."""
    arrays: tuple[tuple[str, tuple[ShellWord, ...]], ...] = ()
    stdin: Heredoc | ShellWord | None = None
    """A heredoc, or the file after ``<``."""
    here_string: ShellWord | None = None
    """The text after ``<<<``."""
    stdout: ShellWord | None = None
    """The file after ``>``."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pipeline:
    """Programs that feed each other."""

    commands: tuple["Simple | ShellGroup", ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ShellGroup:
    """Commands that belong together: braces, parentheses, the branches of a condition, the body of a loop."""

    items: tuple["Item", ...]
    is_subshell: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ShellLoop:
    """``for name in words``; the words are empty for other loops."""

    name: str
    words: tuple[ShellWord, ...]
    items: tuple["Item", ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ShellFunction:
    """``name() { … }``."""

    name: str
    items: tuple["Item", ...]
    line: int


Item = Pipeline | ShellGroup | ShellLoop | ShellFunction


@dataclasses.dataclass(frozen=True, slots=True)
class Script:
    """A parsed script."""

    items: tuple[Item, ...]
    problems: tuple[tuple[int, str], ...] = ()
    """Lines and what is wrong in them: a quote that is not closed …"""
