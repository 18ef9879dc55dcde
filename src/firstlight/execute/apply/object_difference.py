"""What differs between an object and what is live of it."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients.kube.kube_errors import FieldConflict
from firstlight.engines.adapter import EngineMark
from firstlight.model import helm_names, talos_names
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object

_SHOWN = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectDifference:
    """An object that is not as it must be."""

    object: Object
    """As it is to be applied."""
    manager: str
    """As whom."""
    live: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    fields: tuple[str, ...] = ()
    """Which fields would change; empty if it is created, if only its owner would change, or if that was not asked."""
    conflicts: tuple[FieldConflict, ...] = ()
    """Fields that others own with another value, as far as the server was asked."""
    mark: EngineMark | None = None
    """The engine's, if it is the engine's: then it is not written."""
    downgrade: str = ""
    """What would be lost of a CRD."""
    is_once: bool = False
    """Whether it is only created: if somebody else did so, it stays as whatever."""

    @property
    def is_going(self) -> bool:
        """Whether the live object is being deleted."""
        return self.live is not None and "deletionTimestamp" in (self.live.get("metadata") or {})

    @property
    def sentence(self) -> str:
        """What is to be written, for people."""
        name = str(self.object.id)
        if self.live is None:
            return f"create {name}"
        if self.is_going:
            return f"create {name} again, once it is gone"
        if not self.fields:
            return f"apply {name}"
        more = f" and {len(self.fields) - _SHOWN} more" if len(self.fields) > _SHOWN else ""
        return f"change {name} ({', '.join(self.fields[:_SHOWN])}{more})"

    @property
    def left(self) -> str:
        """Whose it is, and what of it differs, for people; empty if it is nobody's."""
        if self.mark is None:
            return ""
        what = f" in {', '.join(self.fields[:_SHOWN])}" if self.fields else ""
        whose = f"it is left to {self.mark.engine}: {self.mark.owner}"
        return f"{self.object.id} differs from the repo{what}; {whose}"


# What is not written although it differs: fields of others, and CRDs that are newer than the repo's.


_OWN = frozenset(
    {
        "before-first-apply",
        "firstlight",
        helm_names.FIELD_MANAGER,
        talos_names.FIELD_MANAGER,
        talos_names.TALOSCTL_MANAGER,
    }
)
"""Managers that are bootstrap's own, whatever wrote for it; their fields may be taken."""


def is_own_manager(manager: str, *, applied_by: str) -> bool:
    """Whether the fields of a manager may be taken by another one of bootstrap's."""
    return manager in _OWN or manager == applied_by or manager.startswith(("kubectl", "firstlight-"))


def stranger_conflicts(conflicts: Iterable[FieldConflict], *, manager: str) -> list[FieldConflict]:
    """Those conflicts that are with somebody else than bootstrap."""
    return [each for each in conflicts if not is_own_manager(each.manager, applied_by=manager)]


def check_refusals(differences: Iterable[ObjectDifference]) -> None:
    """See to it that nothing is written that must not be.

    Raises:
        errors.Refused: A live CRD would be downgraded, or somebody else owns a field.
    """
    reasons, hints = [], []
    for each in differences:
        if each.downgrade:
            reasons.append(f"{each.object.id} would be downgraded: {each.downgrade}")
            hints.append("take the version that is live into the repo, or newer")
        elif others := stranger_conflicts(each.conflicts, manager=each.manager):
            reasons.append(conflict_sentence(each, others))
            hints.append(CONFLICT_HINT)
    if reasons:
        raise errors.Refused("\n".join(reasons), hint="; ".join(dict.fromkeys(hints)))


CONFLICT_HINT = "leave the field out of the repo, or let go of it there"


def conflict_sentence(difference: ObjectDifference, conflicts: Iterable[FieldConflict]) -> str:
    """A conflict for people."""
    owned = ", ".join(f"{each.field} by {each.manager}" for each in conflicts)
    return f"fields of {difference.object.id} are owned by others, with other values: {owned}"


# In which order objects are written that are applied together.


_FOUNDATIONS = frozenset(
    {"ClusterRole", "ClusterRoleBinding", "ConfigMap", "IngressClass", "LimitRange", "NetworkPolicy",
     "PersistentVolume", "PersistentVolumeClaim", "PriorityClass", "ResourceQuota", "Role", "RoleBinding",
     "RuntimeClass", "Secret", "ServiceAccount", "StorageClass"}
)  # fmt: skip
"""What pods cannot start without."""
_HOOKED_IN = frozenset({"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
"""What stops others for as long as the pods behind it are not there."""

CRD_STAGE = 1
_FOUNDATION = 2


def is_early(difference: ObjectDifference) -> bool:
    """Whether others of the same component may need it to start."""
    return _stage(difference.object.id) <= _FOUNDATION


def stage_order(differences: list[ObjectDifference]) -> list[tuple[int, list[ObjectDifference]]]:
    """Stages that come after each other; what is in one is written at the same time."""
    found: dict[int, list[ObjectDifference]] = {}
    for each in differences:
        found.setdefault(_stage(each.object.id), []).append(each)
    return sorted(found.items())


def _stage(id: ObjectId) -> int:
    if id.kind == "Namespace" and not id.group:
        return 0
    if id.kind == "CustomResourceDefinition":
        return CRD_STAGE
    if id.kind in _FOUNDATIONS:
        return _FOUNDATION
    return 4 if id.kind in _HOOKED_IN else 3
