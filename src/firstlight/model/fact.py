"""A fact of a cluster that knows how it is known: read, a default, or not known at all."""

import dataclasses
import enum
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from firstlight.model.place import Place

T = TypeVar("T")


class Standing(enum.StrEnum):
    """How a fact is known."""

    READ = "read"
    """A file of the repo says it."""
    DEFAULT = "default"
    """Nothing says it, and the program has a default."""
    GUESS = "guess"
    """It follows from how clusters were told apart, or from a name."""
    UNKNOWN = "unknown"
    """Something that could say it was not read."""


class Confidence(enum.StrEnum):
    """How far a statement can be relied upon, from the best on."""

    CERTAIN = "certain"
    """Every side was read, or is a default that nothing else can change."""
    LIKELY = "likely"
    """It rests on a default that something else may change: the version is not known, or not everything was read."""
    GUESS = "guess"
    """It rests on a guess about clusters, attribution or naming."""
    NONE = "none"
    """It cannot be judged."""


@dataclasses.dataclass(frozen=True, slots=True)
class Basis:
    """What a statement rests on: the weakest of the facts behind it."""

    standing: Standing = Standing.READ
    confidence: Confidence = Confidence.CERTAIN
    why: str = ""
    """Of a default, whose it is; of a guess, what is guessed; of what is not known, what was not read."""

    @classmethod
    def of(cls, facts: Iterable["Fact[Any] | Basis"]) -> "Basis":
        """Return the basis of a statement that needs all of these facts."""
        weakest = cls()
        for each in facts:
            basis = each if isinstance(each, Basis) else each.basis
            if basis.rank > weakest.rank:
                weakest = basis
        return weakest

    @property
    def rank(self) -> tuple[int, int]:
        """Return what grows with the doubt; of two that are certain, a default says more than what was read."""
        return list(Confidence).index(self.confidence), list(Standing).index(self.standing)

    @property
    def is_known(self) -> bool:
        """Return whether anything can be said."""
        return self.confidence is not Confidence.NONE

    def __str__(self) -> str:
        why = f": {self.why}" if self.why else ""
        if self.confidence is Confidence.CERTAIN or self.standing.value == self.confidence.value:
            return f"{self.standing}{why}"
        return f"{self.standing}, {self.confidence}{why}"


READ = Basis()
"""Everything was read."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Generic[T]):
    """One fact with its standing.

    The value of an unknown fact is a guess at most: only text for people may show it.
    """

    value: T
    standing: Standing
    place: Place | None = None
    """Where it is said; of a default, where one would say otherwise."""
    why: str = ""
    """Of a default, whose it is; of an unknown fact, what was not read."""
    is_certain: bool = True
    """Whether everything that could say otherwise was read and, of a default, the program's version is known."""

    @property
    def basis(self) -> Basis:
        """Return what a statement rests on that needs this fact alone."""
        match self.standing:
            case Standing.UNKNOWN:
                confidence = Confidence.NONE
            case Standing.GUESS:
                confidence = Confidence.GUESS
            case _:
                confidence = Confidence.CERTAIN if self.is_certain else Confidence.LIKELY
        return Basis(self.standing, confidence, self.why)

    @property
    def is_known(self) -> bool:
        """Return whether it may be relied upon at all."""
        return self.standing is not Standing.UNKNOWN

    @property
    def is_read(self) -> bool:
        """Return whether a file says it."""
        return self.standing is Standing.READ

    def __str__(self) -> str:
        value = "yes" if self.value is True else "no" if self.value is False else str(self.value)
        match self.standing:
            case Standing.READ:
                return value
            case Standing.DEFAULT:
                return f"{value} ({self.why})"
            case Standing.GUESS:
                return f"perhaps {value} ({self.why})"
            case Standing.UNKNOWN:
                return f"not known ({self.why})"


def read(value: T, place: Place | None) -> Fact[T]:
    """Return a fact that a file says."""
    return Fact(value=value, standing=Standing.READ, place=place)


def default(value: T, why: str, *, place: Place | None = None, is_certain: bool = True) -> Fact[T]:
    """Return a program's default."""
    return Fact(value=value, standing=Standing.DEFAULT, place=place, why=why, is_certain=is_certain)


def guess(value: T, why: str, *, place: Place | None = None) -> Fact[T]:
    """Return a fact that follows from a guess about clusters, attribution or naming."""
    return Fact(value=value, standing=Standing.GUESS, place=place, why=why, is_certain=False)


def unknown(guess: T, why: str, *, place: Place | None = None) -> Fact[T]:
    """Return a fact that is not known, with a guess for text."""
    return Fact(value=guess, standing=Standing.UNKNOWN, place=place, why=why, is_certain=False)
