"""How the cluster differs from what Git renders."""

import dataclasses
import enum

from firstlight.model.component import ObjectId


class DriftKind(enum.StrEnum):
    """In which way an object differs."""

    CHANGED = "changed"
    MISSING = "missing"
    EXTRA = "extra"
    """The engine's marks say that it is Git's, and Git does not have it."""
    WRONG_OWNER = "wrong owner"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FieldDifference:
    """One field that differs."""

    path: str
    wanted: str = ""
    live: str = ""
    """As short JSON; empty for what is secret, and for what is not there."""
    manager: str = ""
    """Who wrote the live value, where the cluster tells."""
    since: str = ""
    """When that manager wrote last, as the cluster says it."""
    is_beside: bool = False
    """Whether somebody put it there beside what Git has: an engine that never applied it may leave it there."""
    is_passed_on: bool = False
    """Whether its manager is one whose fields a handover gives to the engine."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Drifted:
    """One object that differs."""

    id: ObjectId
    component: str
    difference: DriftKind
    says: str
    fields: tuple[FieldDifference, ...] = ()
    owner: str = ""
    """Who is to keep it as Git has it: ``flux (Kustomization flux-system/apps)``."""
    is_paused: bool = False
    """Whether a mark on it keeps its engine away."""

    @property
    def is_beside(self) -> bool:
        """Whether it is as Git has it, but for what somebody put there beside that."""
        return bool(self.fields) and all(each.is_beside for each in self.fields)

    @property
    def is_held(self) -> bool:
        """Whether it is as Git has it, and others hold fields of it that a handover does not give to the engine."""
        is_owned = self.difference == DriftKind.WRONG_OWNER and bool(self.fields)
        return is_owned and not any(each.is_passed_on for each in self.fields)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How a cluster differs."""

    cluster: str
    revision: str
    """The commit that was rendered; empty where it is not known."""
    drifted: tuple[Drifted, ...]
    compared: int
    """How many objects were compared: not those that could not be, or of which not all values are known."""
    dry_runs: int = 0
    """How many of them the server had to be asked about."""
    ignored: int = 0
    """How many differences the repo declares as not to be looked at."""
    unread: tuple[str, ...] = ()
    """What could not be compared, with the reason."""
    applied: tuple[str, ...] = ()
    """The commits that the engine has applied, where they are others than the one that was rendered."""
    notes: tuple[str, ...] = ()
    """What else there is to know before anything is concluded from it."""
    ways: tuple[str, ...] | None = None
    """What to do about what a correction has left; None where none was tried."""

    @property
    def is_of_another_commit(self) -> bool:
        """Whether the engine has applied something else than what was rendered: then a difference is no drift."""
        return bool(self.applied)
