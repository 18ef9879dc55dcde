"""A break-glass change as a transaction: who rests, what was there before, what was applied, and how far it is.

The record lives in the cluster, where everybody finds it, and as a copy beside the journal, for when the API is gone.
It holds no values of secrets: snapshots of objects are kept apart, in a Secret.
"""

import dataclasses
import enum

from firstlight.model.component import ObjectId

MANAGER = "firstlight-override"
"""The field manager of every change past Git, by which it is found and taken back."""
OVERRIDE_ID, UNTIL, REASON = "firstlight.dev/override", "firstlight.dev/override-until", "firstlight.dev/reason"
"""The annotations of whoever rests for an override."""
LONGEST = 24 * 3600.0
"""Seconds that an override may stand."""


class Emergency(enum.StrEnum):
    """Why the usual way is left."""

    CLUSTER_DOWN = "cluster-down"
    """The engine does not work, or nothing does."""
    SECURITY = "security"
    """Damage must be stopped at once."""
    DATA_LOSS = "data-loss"
    """Storage fails, and waiting loses data."""
    OUTAGE = "outage"
    """Something critical is down, and the usual way is too slow."""


class EmergencyPath(enum.StrEnum):
    """Which way an emergency is met."""

    RECOVERY = "recovery"
    """The cluster is not accessible: it must be brought back first."""
    OVERRIDE = "override"
    """The engine does not work: it is held still, and the fix applied past it."""
    EXPEDITED = "expedited"
    """The engine works: a change of Git, reconciled now."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EmergencyRoute:
    """The chosen way, and why."""

    path: EmergencyPath
    answers: tuple[tuple[str, bool, str], ...]
    """Each question of the flowchart, whether the answer is yes, and what was seen."""


class OverrideStanding(enum.StrEnum):
    """How far an override is. One that begins, ends or aborts was cut off, if nobody works on it."""

    BEGINNING = "beginning"
    OPEN = "open"
    ENDING = "ending"
    ABORTING = "aborting"
    ENDED = "ended"
    ABORTED = "aborted"
    GONE = "gone"
    """Its cluster was taken down before it was over."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SuspendedOwner:
    """A Kustomization, HelmRelease or Application that rests, or something above it that would wake it."""

    kind: str
    namespace: str
    name: str
    uid: str
    why: str
    """``owns Deployment shop/web``, ``applies Kustomization flux-system/apps``."""
    depth: int = 0
    """0 for the outermost: the first to rest, and the first to go on."""
    is_above: bool = False
    """It owns nothing that is overridden, but would wake what does."""
    was_suspended: bool = False
    """Somebody else had suspended it before; it stays so."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AppliedChange:
    """One thing that was changed past Git."""

    at: float
    who: str
    object: ObjectId
    fields: tuple[str, ...] = ()
    """Ways to what differs from before: ``spec.replicas``."""
    is_new: bool = False
    is_deleted: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field, before and after; of Secrets there are no values."""

    object: ObjectId
    field: str
    before: str
    after: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """One override."""

    id: str
    cluster: str
    emergency: Emergency
    reason: str
    who: str
    begun: float
    until: float
    """When it expires: from then on it is red everywhere, and anybody may end it."""
    standing: OverrideStanding
    scope: tuple[str, ...]
    """What was asked for: ``component shop``, ``Deployment shop/web``."""
    objects: tuple[ObjectId, ...] = ()
    """What may be changed: all of these were looked at before anything was written, and are in the snapshot."""
    held: tuple[SuspendedOwner, ...] = ()
    changes: tuple[AppliedChange, ...] = ()
    is_discarded: bool = False
    """It ends with Git's form and not with its own."""
    ended: float = 0.0
    ended_by: str = ""
    notes: tuple[str, ...] = ()
    """What went another way than usual."""
    revision: str = ""
    """The commit that the engine must have before it goes on."""
    repository: str = ""
    """The repository that the commit is of."""
    fields: tuple[FieldChange, ...] = ()
    """What was changed, looked at when it was ended or aborted, and before anything was written for that."""

    @property
    def is_over(self) -> bool:
        """Whether nothing rests for it any more."""
        return self.standing in (OverrideStanding.ENDED, OverrideStanding.ABORTED, OverrideStanding.GONE)

    @property
    def is_cut_off(self) -> bool:
        """Whether somebody has begun to begin, end or abort it; nobody works on it any more, if the lease is free."""
        return self.standing in (OverrideStanding.BEGINNING, OverrideStanding.ENDING, OverrideStanding.ABORTING)

    @property
    def changed(self) -> tuple[ObjectId, ...]:
        """The objects that were changed past Git, each once."""
        return tuple(dict.fromkeys(each.object for each in self.changes))

    def is_expired(self, now: float) -> bool:
        """Whether its time is over and it is not."""
        return not self.is_over and now >= self.until


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OverrideStatus:
    """An override as it was found."""

    override: Override
    awake: tuple[str, ...] = ()
    """Those that should rest for it, and do not."""
    differences: tuple[str, ...] = ()
    """What of the changes Git does not have."""
    is_compared: bool = False
    """Whether the changes were held against what Git renders."""
    is_copy: bool = False
    """Only the copy on this computer was read: the API does not answer."""
