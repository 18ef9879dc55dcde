"""How the live objects of a cluster differ from what Git renders: lists by kind, and dry runs where doubt remains."""

import asyncio
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drifted
from firstlight.model.owner import ObjectOwner
from firstlight.observe import extra_objects, live_objects
from firstlight.observe.live_objects import Kind, Kinds
from firstlight.ownership import drifting, ignoring, stray_fields
from firstlight.ownership.drifting import Judgement, Wanted
from firstlight.ownership.ignoring import Scaled

NAMESPACE = "default"
"""Where engines put objects that name no namespace, and whose owner names none."""
PARALLEL = 32
_TRIES = 5
_AUTOSCALERS = ("autoscaling/v2", "HorizontalPodAutoscaler")
PROBE = "firstlight-look"
"""As whom it is tried what comes back by itself; never one that writes."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a look at one object."""

    judgement: Judgement
    dry_runs: int = 0
    unread: str = ""
    """Why it could not be compared."""
    is_compared: bool = True
    """Whether it was, and not only looked for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Compared:
    """What came of a look at all of them."""

    results: Mapping[ObjectId, Result]
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
    wanted: Sequence[Wanted],
    client: kube.Client,
    *,
    owners: Mapping[ObjectOwner, str],
    known: Collection[ObjectId] = (),
) -> Compared:
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

    async def one(each: Wanted) -> Result:
        kind = kinds[kind_of(each)]
        live = kind.live.get(kind.key(each.id, namespace=NAMESPACE))
        return await judge(each, live, client, kind=kind, scaled=scaled, turns=turns)

    results = await asyncio.gather(*map(one, wanted))
    there = {*known, *(placed(each, kinds) for each in wanted)}
    extra, unread = await extra_objects.find(client, owners, there=there, kinds=kinds) if owners else ((), ())
    found = {each.id: result for each, result in zip(wanted, results, strict=True)}
    return Compared(results=found, extra=extra, unread=unread, kinds=kinds, scaled=scaled)


def kind_of(wanted: Wanted) -> tuple[str, str]:
    """The apiVersion and kind in which an object is read."""
    return str(wanted.object.value.get("apiVersion") or ""), wanted.id.kind


def placed(wanted: Wanted, kinds: Kinds) -> ObjectId:
    """What an object is called in the cluster."""
    namespace, name = kinds[kind_of(wanted)].key(wanted.id, namespace=NAMESPACE)
    return ObjectId(wanted.id.group, wanted.id.kind, namespace, name)


async def judge(
    wanted: Wanted,
    live: Mapping[str, Any] | None,
    client: kube.Client,
    *,
    kind: Kind,
    scaled: Scaled = frozenset(),
    turns: asyncio.Semaphore | None = None,
) -> Result:
    """Look at one object; the server is asked only where that is needed.

    Args:
        wanted: As Git has it.
        live: As it is; None if it is not there.
        client: The API.
        kind: What is known of its kind.
        scaled: What autoscalers have the replicas of.
        turns: How many may ask at once.
    """
    wanted = drifting.settled(wanted, live)
    ignored = drifting.ignored(wanted, live=live, scaled=scaled)
    if ignored.is_whole:
        return Result(judgement=Judgement(None, 1))
    if live is None and kind.problem:
        why = f"{wanted.id} could not be read: {kind.problem}"
        return Result(judgement=Judgement(), unread=why)
    if live is None:
        says = "it is not there" if kind.resource is not None else "it is not there: its kind is not served"
        return Result(judgement=Judgement(drifting.missing(wanted, says)))
    if "deletionTimestamp" in (live.get("metadata") or {}):
        return Result(judgement=Judgement(drifting.missing(wanted, "it is being deleted")))
    if ignored.is_once:
        return Result(judgement=Judgement())
    if wanted.doubt:
        return Result(judgement=Judgement(), is_compared=False)  # it is told once for all of a component
    if not wanted.is_known:
        why = f"{wanted.id} is encrypted in Git: only that it is there was looked at"
        return Result(judgement=Judgement(), unread=why)
    value = drifting.form(wanted, live)
    is_in_doubt = drifting.is_in_doubt(value, live, manager=wanted.manager, has_status=kind.has_status)
    if not is_in_doubt and not drifting.strays(wanted, value, live, has_scale=_is_scaled(kind, ignored)):
        return Result(judgement=Judgement())
    async with turns or asyncio.Semaphore():
        return await _tried(wanted, live, client, ignored=ignored, kind=kind)


async def _tried(
    wanted: Wanted, live: Mapping[str, Any], client: kube.Client, *, ignored: ignoring.Ignored, kind: Kind
) -> Result:
    """What the server's dry runs tell; somebody who writes at the same time is not taken for a difference."""
    asked = 0
    seen: Mapping[str, Any] | None = live
    for _ in range(_TRIES):
        if seen is None:
            return Result(judgement=Judgement(drifting.missing(wanted)), dry_runs=asked)
        value = drifting.form(wanted, seen)
        after: Mapping[str, Any] | None = None
        try:
            if drifting.is_in_doubt(value, seen, manager=wanted.manager, has_status=kind.has_status):
                asked += 1
                after = await client.apply(_placed(value, seen), manager=wanted.manager, force=True, dry_run=True)
            strays = drifting.strays(wanted, value, seen, has_scale=_is_scaled(kind, ignored))
            if ignored.is_merged:
                strays = tuple(each for each in strays if each.is_pause)
            if strays:
                asked += 1
                strays = stray_fields.real(strays, await cleaned(strays, seen, client))
            judgement = drifting.judged(wanted, seen, ignored=ignored, after=after, strays=strays)
        except kube.Invalid as error:
            judgement = Judgement(drifting.refused(wanted, seen, why=_short(error)))
        except errors.ClientError as error:
            said = drifting.told(wanted, error.message) or type(error).__name__
            why = f"{wanted.id} could not be compared: {said}"
            return Result(judgement=Judgement(), dry_runs=asked, unread=why)
        if judgement == Judgement():
            return Result(judgement=judgement, dry_runs=asked)
        # What was tried was what is there now, which may be another one than what was seen.
        try:
            fresh = await live_objects.one(kind_of(wanted), kind.key(wanted.id, namespace=NAMESPACE), client)
        except live_objects.UNREADABLE as error:
            why = f"{wanted.id} could not be read again: {error.message}"
            return Result(judgement=Judgement(), dry_runs=asked, unread=why)
        if fresh is not None and drifting.is_unchanged(seen, fresh):
            return Result(judgement=judgement, dry_runs=asked)
        seen = fresh
    why = f"{wanted.id} changes all the time, so that it could not be compared"
    return Result(judgement=Judgement(), dry_runs=asked, unread=why)


def _is_scaled(kind: Kind, ignored: ignoring.Ignored) -> bool:
    """Whether somebody may have scaled an object who was not to."""
    return kind.has_scale and ignoring.REPLICAS not in ignored.paths


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


async def scaled(wanted: Iterable[Wanted], client: kube.Client) -> Scaled:
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


def _scaled(wanted: Iterable[Wanted], autoscalers: Iterable[Mapping[str, Any]]) -> Scaled:
    declared = (each.object.value for each in wanted if ignoring.is_autoscaler(each.object.value))
    return ignoring.scaled_by((*autoscalers, *declared))


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
