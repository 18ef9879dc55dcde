"""What there is to say about a file that was read: what is wrong in it, or was not understood."""

import dataclasses
import enum

from firstlight.model.place import Place


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
