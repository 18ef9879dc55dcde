"""A component inside a machine config: what is to stand there, and how that differs from what does."""

import dataclasses
import enum

from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place


class InlineState(enum.StrEnum):
    """How an inline manifest stands to what the component is made from."""

    FRESH = "fresh"
    """It is the same, to the byte."""
    WRITTEN_OTHERWISE = "written otherwise"
    """The same objects; order, comments or quotes differ. That is not stale."""
    STALE = "stale"
    """Its objects are others."""
    ABSENT = "absent"
    """There is no such inline manifest yet."""


class ObjectChangeKind(enum.StrEnum):
    """What happens to an object."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class InlineObjectChange:
    """One object that differs."""

    id: ObjectId
    what: ObjectChangeKind
    lines: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """The difference as a unified diff; values of Secrets are masked in it."""


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """An object that the component has and Talos must not apply."""

    id: ObjectId
    reason: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """What one embedding comes to."""

    component: str
    cluster: str
    path: str
    """The file."""
    name: str
    """Of the inline manifest."""
    place: Place
    """The entry in the file; its line is 0 where the entry is new."""
    is_omni: bool = False
    """Whether Omni's server applies it, not Talos."""
    state: InlineState
    objects: tuple[ObjectId, ...]
    """In the order in which they are written."""
    changes: tuple[InlineObjectChange, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    added_crds: tuple[ObjectId, ...] = ()
    """CRDs of other components that this one needs when it starts."""
    kept: tuple[str, ...] = ()
    """Values that every rendering makes anew, and that stay as the file has them: ``Secret ns/name data.ca.crt``."""
    before: int = 0
    after: int = 0
    """Bytes of the contents."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether something is wrong, so that nothing must be written."""
        return any(each.severity == Severity.ERROR for each in self.diagnostics)

    @property
    def is_stale(self) -> bool:
        """Whether the file has to change."""
        return self.state in (InlineState.STALE, InlineState.ABSENT)
