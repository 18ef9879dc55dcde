"""CRDs: what an older one would take away from a cluster, and whether a new one is served."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import api_request
from firstlight.clients.kube.kube_errors import FieldConflict
from firstlight.engines import engine_marks
from firstlight.engines.adapter import EngineMark
from firstlight.gates import crds
from firstlight.model import helm_names, talos_names, versions
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object
from firstlight.observe.live_objects import LiveObject, observe_objects
from firstlight.ownership import apply_comparison, normal_values
from firstlight.ownership.apply_comparison import Likeness

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


# The survey: all objects looked at, and how each differs.


_VERSION = re.compile(r"v(?P<major>[0-9]+)(?:(?P<stage>alpha|beta)(?P<minor>[0-9]+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}
_STAMPS = (
    "app.kubernetes.io/version",
    "gateway.networking.k8s.io/bundle-version",
    "operator.prometheus.io/version",
    "cilium.io/crd-version",
    "io.cilium.k8s.crd.schema.version",
)
"""Labels and annotations in which projects write the version of a CRD."""
_CHANNEL = "gateway.networking.k8s.io/channel"


def lost_by_crd(wanted: Object, live: Mapping[str, Any]) -> str:
    """What the live CRD has that the wanted one has not, where that makes it an older one; empty if nothing."""
    mine, theirs = _versions(wanted.value), _versions(live)
    stored = (live.get("status") or {}).get("storedVersions") or ()
    if gone := [each for each in stored if each not in mine]:
        return f"objects may be stored as {', '.join(gone)}, which it does not know"
    newer = [each for each in theirs if each not in mine and _rank(each) > max(map(_rank, mine), default=(0, 0, 0))]
    if newer:
        return f"the live one has {', '.join(newer)}, and it ends with {max(mine, key=_rank) if mine else 'nothing'}"
    for name in _STAMPS:
        one, other = _stamp(wanted.value, name), _stamp(live, name)
        mine_of, theirs_of = versions.release_order(one), versions.release_order(other)
        if mine_of is not None and theirs_of is not None and mine_of < theirs_of:
            return f"the live one is of {other}, and it is of {one}"
    if _stamp(live, _CHANNEL) == "experimental" and _stamp(wanted.value, _CHANNEL) == "standard":
        return "the live one is of the experimental channel, and it is of the standard one, which has fewer fields"
    return ""


def crd_problem(live: Mapping[str, Any]) -> str:
    """Why a CRD is not served; empty where its status does not say."""
    for each in (live.get("status") or {}).get("conditions") or ():
        if each.get("type") == "NamesAccepted" and each.get("status") == "False":
            return str(each.get("message") or each.get("reason") or "its names are taken")
    if crds.is_installing(live):
        return "the API server has not established it yet (Installing)"
    return ""


def crd_kinds(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The apiVersions and the kind that a CRD serves."""
    spec = value.get("spec") or {}
    kind = str((spec.get("names") or {}).get("kind") or "")
    return [
        (f"{spec.get('group')}/{each.get('name')}", kind)
        for each in spec.get("versions") or ()
        if each.get("served") is not False
    ]


def _versions(value: Mapping[str, Any]) -> list[str]:
    return [str(each.get("name")) for each in (value.get("spec") or {}).get("versions") or ()]


def _rank(version: str) -> tuple[int, int, int]:
    """By age: v2, v2alpha1, v1, v1beta2, v1beta1, v1alpha1, then whatever is written otherwise."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0)
    return (int(match["major"]), _STAGES[match["stage"]], int(match["minor"] or 0))


def _stamp(value: Mapping[str, Any], name: str) -> str:
    metadata = value.get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(name) or (metadata.get("labels") or {}).get(name) or "")


# What of many objects is not as it must be; reads and dry runs alone.


PROBE = "firstlight-look"
"""As whom it is tried what would change of an engine's object; never one that writes."""

_TRIES = 3


async def survey(
    objects: Iterable[Object],
    client: kube.Client,
    *,
    manager: str,
    managers: Mapping[ObjectId, str] | None = None,
    once: Collection[ObjectId] = (),
    owners_count: bool = True,
    namespace: str = "",
) -> list[ObjectDifference]:
    """What an apply of objects would change, in their order; those that are equal are left out.

    Args:
        objects: All that must be there.
        client: The API.
        manager: Who would apply them.
        managers: Those whom somebody else would apply.
        once: Those that only have to be there, as whatever.
        owners_count: Whether an object also differs that is as it must be and has other owners.
        namespace: Where objects go that name none, and are of a kind that is in one.

    Raises:
        errors.Refused: An object has no name.
        errors.ClientError: The server does not say.
    """
    unique: dict[ObjectId, Object] = {}
    for each in objects:
        if not each.id.name:
            raise errors.Refused(
                f"a {each.id.kind or 'manifest'} has no name, so that it cannot be applied twice",
                hint="give it metadata.name instead of generateName",
            )
        unique[each.id] = Object(normal_values.without_string_data(each.value))
    others = managers or {}

    async def judged(id: ObjectId, seen: LiveObject) -> ObjectDifference | None:
        if id in once and seen.live is not None:
            return None
        found = await _judge(seen, client, others.get(id) or manager, owners_count=owners_count)
        return dataclasses.replace(found, is_once=True) if found is not None and id in once else found

    seen = await observe_objects(unique.values(), client, namespace=namespace)
    found = await asyncio.gather(*map(judged, unique, seen))
    return [each for each in found if each is not None]


async def _judge(seen: LiveObject, client: kube.Client, manager: str, *, owners_count: bool) -> ObjectDifference | None:
    wanted, live = seen.object, seen.live
    base = ObjectDifference(object=wanted, manager=manager, live=live)
    if live is None:
        return base
    if mark := engine_marks.of(live, wanted=wanted.value):
        return await _foreign(dataclasses.replace(base, mark=mark), client, has_status=seen.has_status)
    if base.is_going:
        return base
    likeness = apply_comparison.compare(wanted.value, live, manager=manager, has_status=seen.has_status).likeness
    if likeness == Likeness.EQUAL:
        return None
    downgrade = lost_by_crd(wanted, live) if wanted.is_crd else ""
    if downgrade or (likeness == Likeness.DIFFERENT and owners_count):
        return dataclasses.replace(base, downgrade=downgrade)
    return await _tried(base, client, has_status=seen.has_status, owners_count=owners_count)


async def _tried(
    base: ObjectDifference, client: kube.Client, *, has_status: bool, owners_count: bool
) -> ObjectDifference | None:
    """What a dry run would change; somebody who writes at the same time is not taken for it."""
    wanted, live = base.object, base.live
    assert live is not None
    for _ in range(_TRIES):
        try:
            after = await client.apply(wanted.value, manager=base.manager, force=not owners_count, dry_run=True)
        except kube.Conflict as error:
            return dataclasses.replace(base, conflicts=error.conflicts)
        except (kube.ApiError, kube.UnknownKind):
            break  # why it is refused is told when it is applied
        fields = apply_comparison.changes(live, after, has_status=has_status)
        if apply_comparison.is_same(live, after, has_status=has_status) or not (fields or owners_count):
            return None
        try:
            fresh = await client.get(
                str(wanted.value["apiVersion"]), wanted.id.kind, wanted.id.name, namespace=wanted.id.namespace or None
            )
        except kube.NotFound:
            return dataclasses.replace(base, live=None)
        if engine_marks.of(fresh, wanted=wanted.value):
            break  # adopted meanwhile: a write of what was seen is a conflict, and is looked at again
        if fresh["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]:
            return dataclasses.replace(base, live=live, fields=fields)
        live = fresh
    return base


async def _foreign(base: ObjectDifference, client: kube.Client, *, has_status: bool) -> ObjectDifference | None:
    """An engine's object: nothing is written, so only its content counts."""
    assert base.live is not None
    if api_request.is_object_subset(base.object.value, base.live):
        return None
    try:
        after = await client.apply(base.object.value, manager=PROBE, force=True, dry_run=True)
    except kube.ApiError:
        return base
    fields = apply_comparison.changes(base.live, after, has_status=has_status)
    return dataclasses.replace(base, fields=fields) if fields else None
