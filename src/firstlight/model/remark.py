"""Where something is said: a file of the repo, a line, a column."""

import dataclasses
import enum


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file; lines and columns count from 1, and 0 means the whole file."""

    path: str
    """Relative to the repo, with forward slashes."""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.path, *(str(each) for each in (self.line, self.column) if each)])


# What there is to say about a file that was read: what is wrong in it, or was not understood.


class Grade(enum.StrEnum):
    """How bad it is."""

    ERROR = "error"
    """It cannot be read, or says something that it must not say."""
    WARNING = "warning"
    """It was read, and probably means something else than its author thinks."""
    UNKNOWN = "unknown"
    """It was left out, since it is not understood without running something or asking somebody."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Remark:
    """One thing to say about a place."""

    place: Place
    grade: Grade
    message: str
    """What, and why; a sentence without a full stop, safe to print on one line."""
    hint: str = ""
    """What to write or do instead."""
