"""A template as plain text, line by line: what is known is put in, what is not becomes a mark, statements vanish.

The result is no rendering. Loops are read once, and of an unknown condition the first branch: enough to see what a
template says whatever its variables are. Every line stays where it was, so that places are right.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterable

from firstlight.repo.go_template import unknown
from firstlight.repo.go_template.unknown import Unknown


class Kind(enum.Enum):
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
class Piece:
    """Text between tags, or a tag."""

    kind: Kind
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


class TooDeep(ValueError):
    """A template nested deeper than anybody writes."""


Evaluate = Callable[[Piece], str | None]
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

    def text(self, piece: Piece) -> str:
        """What stands for an expression."""
        self.left -= 1
        known = self.evaluate(piece) if self.left >= 0 else None
        if known is not None and len(known) <= self.room:
            self.room -= len(known)
            return known.replace("\n", " ")
        return self.mark(piece)

    def mark(self, piece: Piece) -> str:
        """A mark for what is not known."""
        text = " ".join(piece.source.split())
        self.unknowns.append(Unknown(text, "it is only known when it is rendered", piece.line))
        return unknown.mark(len(self.unknowns) - 1)


def make(pieces: Iterable[Piece], evaluate: Evaluate) -> Skeleton:
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
        if piece.kind in (Kind.TEXT, Kind.VALUE):
            is_hidden = any(each.is_hidden for each in levels)
            if not is_hidden and any(not each.is_certain for each in levels):
                conditional.update(range(piece.line, piece.line + len(breaks) + 1))
            if is_hidden:
                out.append(breaks)
            elif not breaks and any(not each.is_certain and each.line == piece.line for each in levels):
                out.append(values.mark(piece))  # a part of a line, so of a value
            elif piece.kind is Kind.TEXT:
                out.append(piece.source)
            else:
                out.append(values.text(piece) + breaks)
            continue
        _enter(piece, levels, evaluate)
        if len(levels) > DEPTH:
            raise TooDeep
        out.append(breaks)
    return Skeleton("".join(out), tuple(values.unknowns), frozenset(conditional))


def _enter(piece: Piece, levels: list[_Level], evaluate: Evaluate) -> None:
    match piece.kind:
        case Kind.IF:
            known = evaluate(piece)
            levels.append(_Level(piece.line, is_hidden=known == "", is_certain=known is not None, is_done=known != ""))
        case Kind.ELIF | Kind.ELSE if levels:
            level = levels[-1]
            known = evaluate(piece) if piece.kind is Kind.ELIF and not level.is_done else "yes"
            level.line = piece.line
            level.is_hidden = level.is_done or known == ""
            level.is_certain = level.is_certain and known is not None
            level.is_done = level.is_done or known != ""
        case Kind.LOOP:
            levels.append(_Level(piece.line, is_hidden=False, is_certain=False, is_done=True))
        case Kind.HIDDEN:
            levels.append(_Level(piece.line, is_hidden=True, is_certain=True, is_done=True))
        case Kind.OPEN:
            levels.append(_Level(piece.line, is_hidden=False, is_certain=True, is_done=True))
        case Kind.END if levels:
            levels.pop()
