"""A fact of a cluster that knows how it is known: read, a default, or not known at all."""

import dataclasses
import enum
from typing import Generic, TypeVar

from firstlight.model.place import Place

T = TypeVar("T")


class Standing(enum.StrEnum):
    """How a fact is known."""

    READ = "read"
    """A file of the repo says it."""
    DEFAULT = "default"
    """Nothing says it, and the program has a default."""
    UNKNOWN = "unknown"
    """Something that could say it was not read."""


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
            case Standing.UNKNOWN:
                return f"not known ({self.why})"


def read(value: T, place: Place | None) -> Fact[T]:
    """Return a fact that a file says."""
    return Fact(value=value, standing=Standing.READ, place=place)


def default(value: T, why: str, *, place: Place | None = None, is_certain: bool = True) -> Fact[T]:
    """Return a program's default."""
    return Fact(value=value, standing=Standing.DEFAULT, place=place, why=why, is_certain=is_certain)


def unknown(guess: T, why: str, *, place: Place | None = None) -> Fact[T]:
    """Return a fact that is not known, with a guess for text."""
    return Fact(value=guess, standing=Standing.UNKNOWN, place=place, why=why, is_certain=False)
