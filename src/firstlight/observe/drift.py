"""How the live objects of a cluster differ from what Git renders: lists by kind, and dry runs where doubt remains."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube.discovery import ApiResource
from firstlight.document.within import mapping, text
from firstlight.model import argocd_names, flux_names, helm_names
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drifted
from firstlight.model.owner import ObjectOwner
from firstlight.observe import live_objects, owned_objects
from firstlight.observe.live_objects import Kinds, LiveObjectsOfKind
from firstlight.ownership import drift_judgement, ignored_fields, stray_fields
from firstlight.ownership.drift_judgement import Judgement, WantedObject
from firstlight.ownership.ignored_fields import Scaled

NAMESPACE = "default"
"""Where engines put objects that name no namespace, and whose owner names none."""
PARALLEL = 32
_TRIES = 5
_AUTOSCALERS = ("autoscaling/v2", "HorizontalPodAutoscaler")
PROBE = "firstlight-look"
"""As whom it is tried what comes back by itself; never one that writes."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DriftResult:
    """What came of a look at one object."""

    judgement: Judgement
    dry_runs: int = 0
    unread: str = ""
    """Why it could not be compared."""
    is_compared: bool = True
    """Whether it was, and not only looked for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparedObjects:
    """What came of a look at all of them."""

    results: Mapping[ObjectId, DriftResult]
    extra: tuple[Drifted, ...] = ()
    unread: tuple[str, ...] = ()
    """Kinds that could not be listed."""
    kinds: Kinds = dataclasses.field(default_factory=dict, repr=False)
    scaled: Scaled = frozenset()

    @property
    def drifted(self) -> tuple[Drifted, ...]:
        """Everything that differs."""
        found = (each.judgement.drifted for each in self.results.values())
        return (*(each for each in found if each is not None), *self.extra)


async def compare(
    wanted: Sequence[WantedObject],
    client: kube.Client,
    *,
    owners: Mapping[ObjectOwner, str],
    known: Collection[ObjectId] = (),
) -> ComparedObjects:
    """Look at everything once.

    Args:
        wanted: What must be there.
        client: The API.
        owners: Of whom everything is known that Git has, with the component of each: what else is theirs is extra.
        known: What Git has besides, and is not compared.

    Raises:
        errors.ClientError: The server does not say.
    """
    kinds, autoscalers = await asyncio.gather(
        live_objects.read((each.object for each in wanted), client, namespace=NAMESPACE), _autoscalers(client)
    )
    scaled = _scaled(wanted, autoscalers)
    turns = asyncio.Semaphore(PARALLEL)

    async def one(each: WantedObject) -> DriftResult:
        kind = kinds[kind_of(each)]
        live = kind.live.get(kind.key(each.id, namespace=NAMESPACE))
        return await judge(each, live, client, kind=kind, scaled=scaled, turns=turns)

    results = await asyncio.gather(*map(one, wanted))
    there = {*known, *(placed(each, kinds) for each in wanted)}
    extra, unread = await find_extra(client, owners, there=there, kinds=kinds) if owners else ((), ())
    found = {each.id: result for each, result in zip(wanted, results, strict=True)}
    return ComparedObjects(results=found, extra=extra, unread=unread, kinds=kinds, scaled=scaled)


def kind_of(wanted: WantedObject) -> tuple[str, str]:
    """The apiVersion and kind in which an object is read."""
    return str(wanted.object.value.get("apiVersion") or ""), wanted.id.kind


def placed(wanted: WantedObject, kinds: Kinds) -> ObjectId:
    """What an object is called in the cluster."""
    namespace, name = kinds[kind_of(wanted)].key(wanted.id, namespace=NAMESPACE)
    return ObjectId(wanted.id.group, wanted.id.kind, namespace, name)


async def judge(
    wanted: WantedObject,
    live: Mapping[str, Any] | None,
    client: kube.Client,
    *,
    kind: LiveObjectsOfKind,
    scaled: Scaled = frozenset(),
    turns: asyncio.Semaphore | None = None,
) -> DriftResult:
    """Look at one object; the server is asked only where that is needed.

    Args:
        wanted: As Git has it.
        live: As it is; None if it is not there.
        client: The API.
        kind: What is known of its kind.
        scaled: What autoscalers have the replicas of.
        turns: How many may ask at once.
    """
    wanted = drift_judgement.settled(wanted, live)
    ignored = drift_judgement.ignored(wanted, live=live, scaled=scaled)
    if ignored.is_whole:
        return DriftResult(judgement=Judgement(None, 1))
    if live is None and kind.problem:
        why = f"{wanted.id} could not be read: {kind.problem}"
        return DriftResult(judgement=Judgement(), unread=why)
    if live is None:
        says = "it is not there" if kind.resource is not None else "it is not there: its kind is not served"
        return DriftResult(judgement=Judgement(drift_judgement.missing(wanted, says)))
    if "deletionTimestamp" in (live.get("metadata") or {}):
        return DriftResult(judgement=Judgement(drift_judgement.missing(wanted, "it is being deleted")))
    if ignored.is_once:
        return DriftResult(judgement=Judgement())
    if wanted.doubt:
        return DriftResult(judgement=Judgement(), is_compared=False)  # it is told once for all of a component
    if not wanted.is_known:
        why = f"{wanted.id} is encrypted in Git: only that it is there was looked at"
        return DriftResult(judgement=Judgement(), unread=why)
    value = drift_judgement.form(wanted, live)
    is_in_doubt = drift_judgement.is_in_doubt(value, live, manager=wanted.manager, has_status=kind.has_status)
    if not is_in_doubt and not drift_judgement.strays(wanted, value, live, has_scale=_is_scaled(kind, ignored)):
        return DriftResult(judgement=Judgement())
    async with turns or asyncio.Semaphore():
        return await _tried(wanted, live, client, ignored=ignored, kind=kind)


async def _tried(
    wanted: WantedObject,
    live: Mapping[str, Any],
    client: kube.Client,
    *,
    ignored: ignored_fields.IgnoreRules,
    kind: LiveObjectsOfKind,
) -> DriftResult:
    """What the server's dry runs tell; somebody who writes at the same time is not taken for a difference."""
    asked = 0
    seen: Mapping[str, Any] | None = live
    for _ in range(_TRIES):
        if seen is None:
            return DriftResult(judgement=Judgement(drift_judgement.missing(wanted)), dry_runs=asked)
        value = drift_judgement.form(wanted, seen)
        after: Mapping[str, Any] | None = None
        try:
            if drift_judgement.is_in_doubt(value, seen, manager=wanted.manager, has_status=kind.has_status):
                asked += 1
                after = await client.apply(_placed(value, seen), manager=wanted.manager, force=True, dry_run=True)
            strays = drift_judgement.strays(wanted, value, seen, has_scale=_is_scaled(kind, ignored))
            if ignored.is_merged:
                strays = tuple(each for each in strays if each.is_pause)
            if strays:
                asked += 1
                strays = stray_fields.real(strays, await cleaned(strays, seen, client))
            judgement = drift_judgement.judged(wanted, seen, ignored=ignored, after=after, strays=strays)
        except kube.Invalid as error:
            judgement = Judgement(drift_judgement.refused(wanted, seen, why=_short(error)))
        except errors.ClientError as error:
            said = drift_judgement.told(wanted, error.message) or type(error).__name__
            why = f"{wanted.id} could not be compared: {said}"
            return DriftResult(judgement=Judgement(), dry_runs=asked, unread=why)
        if judgement == Judgement():
            return DriftResult(judgement=judgement, dry_runs=asked)
        # What was tried was what is there now, which may be another one than what was seen.
        try:
            fresh = await live_objects.one(kind_of(wanted), kind.key(wanted.id, namespace=NAMESPACE), client)
        except live_objects.UNREADABLE as error:
            why = f"{wanted.id} could not be read again: {error.message}"
            return DriftResult(judgement=Judgement(), dry_runs=asked, unread=why)
        if fresh is not None and drift_judgement.is_unchanged(seen, fresh):
            return DriftResult(judgement=judgement, dry_runs=asked)
        seen = fresh
    why = f"{wanted.id} changes all the time, so that it could not be compared"
    return DriftResult(judgement=Judgement(), dry_runs=asked, unread=why)


def _is_scaled(kind: LiveObjectsOfKind, ignored: ignored_fields.IgnoreRules) -> bool:
    """Whether somebody may have scaled an object who was not to."""
    return kind.has_scale and ignored_fields.REPLICAS not in ignored.paths


async def cleaned(
    strays: Sequence[stray_fields.Stray],
    live: Mapping[str, Any],
    client: kube.Client,
    *,
    manager: str = PROBE,
    dry_run: bool = True,
) -> Mapping[str, Any] | None:
    """An object without some fields, as the server completes it; None if it cannot be without them.

    Args:
        strays: The fields.
        live: The object as it was seen.
        client: The API.
        manager: As whom they are left out.
        dry_run: Whether it is only tried.

    Raises:
        kube.Conflict: It was written since it was seen.
    """
    metadata = live["metadata"]
    guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}
    removed = stray_fields.removal(strays, live)
    try:
        return await client.patch(
            str(live["apiVersion"]), str(live["kind"]), str(metadata["name"]),
            removed if dry_run else [*removed, guard], form="json", manager=manager,
            namespace=metadata.get("namespace"), dry_run=dry_run,
        )  # fmt: skip
    except (kube.Invalid, kube.BadRequest):
        return None


async def scaled(wanted: Iterable[WantedObject], client: kube.Client) -> Scaled:
    """What autoscalers have the replicas of.

    Args:
        wanted: What Git has: autoscalers among it count, also where they are not there.
        client: The API.

    Raises:
        errors.ClientError: The server does not say, so that nobody may write replicas.
    """
    try:
        return _scaled(wanted, (await client.list(*_AUTOSCALERS)).items)
    except kube.UnknownKind:
        return _scaled(wanted, ())


def _scaled(wanted: Iterable[WantedObject], autoscalers: Iterable[Mapping[str, Any]]) -> Scaled:
    declared = (each.object.value for each in wanted if ignored_fields.is_autoscaler(each.object.value))
    return ignored_fields.scaled_by((*autoscalers, *declared))


async def _autoscalers(client: kube.Client) -> tuple[Mapping[str, Any], ...]:
    try:
        return (await client.list(*_AUTOSCALERS)).items
    except (kube.UnknownKind, kube.NotFound, *live_objects.UNREADABLE):
        return ()


def guarded(value: Mapping[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """An object to apply on nothing but what was seen; None is nothing, which then must still be so."""
    # etcd begins with 1, so that no object has it: what is there in another version conflicts.
    version = ((live or {}).get("metadata") or {}).get("resourceVersion") or "1"
    made = _placed(value, live)
    return {**made, "metadata": {**made["metadata"], "resourceVersion": version}}


def _placed(value: Mapping[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """In the namespace in which it was found."""
    namespace = ((live or {}).get("metadata") or {}).get("namespace")
    return {**value, "metadata": {**value["metadata"], **({"namespace": namespace} if namespace else {})}}


def _short(error: kube.ApiError) -> str:
    return " ".join(error.detail.split())[:300]


# Objects that an engine applied for an owner of this repo, and Git does not have any more.


_DERIVED = frozenset(
    {"Endpoints", "EndpointSlice", "Event", "Lease", "Pod", "ReplicaSet", "ControllerRevision", "Node", "CSINode",
     "ComponentStatus", "PodMetrics", "NodeMetrics", "CertificateSigningRequest"}
)  # fmt: skip
"""What controllers make, and no repo has."""
_LABELS = {
    flux_names.KUSTOMIZATION: flux_names.KUSTOMIZATION_NAME_LABEL,
    flux_names.HELM_RELEASE: flux_names.HELM_RELEASE_NAME_LABEL,
}

_STAY = (flux_names.PRUNE_ANNOTATION, flux_names.RECONCILE_ANNOTATION)


async def find_extra(
    client: kube.Client, owners: Mapping[ObjectOwner, str], *, there: Collection[ObjectId], kinds: Kinds
) -> tuple[tuple[Drifted, ...], tuple[str, ...]]:
    """What is extra, and the kinds that could not be listed.

    Args:
        client: The API.
        owners: Of whom everything is known that Git has, with the component of each.
        there: What Git has.
        kinds: What was listed already.
    """
    catalog = await client.catalog()
    unread: list[str] = []
    found: dict[ObjectId, Drifted] = {}

    async def look(resource: ApiResource, labels: str) -> None:
        try:
            listing = await client.list(resource.api_version, resource.kind, labels=labels, metadata_only=True)
            found.update(extra_among(listing.items, owners, there))
        except (kube.Forbidden, kube.ServerError, kube.UnknownKind) as error:
            unread.append(f"{resource.kind} of {resource.api_version} could not be listed: {error.message}")
        except kube.ApiError:
            pass  # not every kind can be listed that says so

    asks: list[Awaitable[None]] = []
    whole: set[tuple[str, str]] = set()
    for (version, kind), known in kinds.items():
        if known.is_whole:
            whole.add((version.rpartition("/")[0], kind))
            found.update(extra_among(known.live.values(), owners, there))
    for resource in owned_objects.kinds(catalog):
        if resource.kind not in _DERIVED and (resource.group, resource.kind) not in whole:
            asks += [look(resource, labels) for labels in selectors(owners)]
    await asyncio.gather(*asks)
    return tuple(found[each] for each in sorted(found)), tuple(sorted(set(unread)))


def selectors(owners: Iterable[ObjectOwner]) -> tuple[str, ...]:
    """The labels of owners' marks; those of Argo CD are annotations, which cannot be selected by."""
    kinds = {each.name.partition(" ")[0] for each in owners}
    if argocd_names.APPLICATION in kinds:
        return ("",)
    return tuple(label for kind, label in _LABELS.items() if kind in kinds)


def is_kept(live: Mapping[str, Any]) -> bool:
    """Whether an object says itself that it stays when Git has it no more."""
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    # Flux takes its settings from both, in any case.
    is_disabled = any(
        str(each.get(name) or "").lower() == "disabled" for each in (labels, annotations) for name in _STAY
    )
    options = [each.strip() for each in text(annotations, argocd_names.SYNC_OPTIONS_ANNOTATION).split(",")]
    is_helms = text(annotations, helm_names.RESOURCE_POLICY_ANNOTATION) == "keep"
    return (
        is_disabled
        or is_helms
        or "Prune=false" in options
        or ignored_fields.ignore_rules({}, {}, live=live).is_extra_fine
    )


def extra_among(
    items: Iterable[Mapping[str, Any]], owners: Mapping[ObjectOwner, str], there: Collection[ObjectId]
) -> Iterator[tuple[ObjectId, Drifted]]:
    """Those of some objects that are extra."""
    for each in items:
        id, owner = ObjectId.of(each), drift_judgement.applier(each)
        if owner is None or owner not in owners or id in there or is_kept(each):
            continue
        since = str((each.get("metadata") or {}).get("creationTimestamp") or "")
        yield id, drift_judgement.surplus(id, component=owners[owner], owner=owner, since=since)
