"""What the repo is to say, and the edits that may make it say so."""

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import FileEdit
from firstlight.model.place import Place
from firstlight.ownership.field_values import ABSENT

Steps = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WantedField:
    """One field of an object that Git is to have as the cluster has it."""

    object: ObjectId
    steps: Steps
    """The way in the object as Git renders it; none for the object as a whole."""
    before: Any = dataclasses.field(repr=False)
    """What Git renders; ABSENT where it has nothing."""
    after: Any = dataclasses.field(repr=False)
    """What is live; ABSENT where nothing is."""
    path: str = ""
    """The field as people call it: ``spec.template.spec.containers[name=web].image``."""

    @property
    def is_new(self) -> bool:
        """Whether Git does not have the object at all."""
        return not self.steps and self.before is ABSENT

    @property
    def is_gone(self) -> bool:
        """Whether the cluster does not have the object any more."""
        return not self.steps and self.after is ABSENT

    def __str__(self) -> str:
        return f"{self.object} {self.path}" if self.path else str(self.object)


class EditRank(enum.IntEnum):
    """Which of several edits is the better one."""

    WRITTEN = 0
    """The value stands there now."""
    VARIABLE = 1
    ADDED = 2
    """The object stands there, and gets one more field."""
    LITERAL = 3
    """A variable stands there, and would not any more."""
    PATCH = 4
    """A patch of a kustomization that only this cluster uses."""
    ENGINE_PATCH = 5
    """A patch in the Kustomization or Application."""


RANKS_OF_VALUE = 10
"""Ranks of one value of a chart; the next best values come after them."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class EditCandidate:
    """One edit that may bring a wish about; whether it does is for a rendering to tell."""

    rank: int
    place: Place
    says: str
    """What is edited, in words."""
    edits: tuple[FileEdit, ...] = dataclasses.field(default=(), repr=False)
    files: Mapping[str, str | None] = dataclasses.field(default_factory=dict, repr=False)
    """Whole files as they are afterwards, for what is more than an edit; None for one that goes."""
    means: str = ""
    """What is the same in all edits that differ only in where it is written: the value of a chart."""
    is_asked: bool = False
    """Whether a person has to want it, though it would do."""


FoundEdits = Iterator[EditCandidate | Diagnostic]
"""Edits, and what would be edited and is not: its fix is in its message."""
