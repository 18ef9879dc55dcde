"""The live state of a cluster against what Git renders, once or for as long as somebody watches.

While somebody watches, an object is looked at again when it changes, and only then.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.commands.drift import applied_commit
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.execute.overrides import override_records
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drift, Drifted
from firstlight.model.owner import ObjectOwner, Party
from firstlight.observe import drift, live_objects
from firstlight.observe import drift as observe_drift
from firstlight.observe.drift import ComparedObjects, DriftResult
from firstlight.observe.live_objects import Key, LiveObjectsOfKind
from firstlight.ownership.drift_judgement import WantedObject


async def look(scene: ExpectedState, client: kube.Client) -> Drift:
    """Look once; nothing is written.

    Args:
        scene: What is compared.
        client: The API.

    Raises:
        errors.ClientError: The API does not answer.
    """
    drift, _ = await compared(scene, client)
    return drift


async def compared(scene: ExpectedState, client: kube.Client) -> tuple[Drift, ComparedObjects]:
    """Look once, and keep what was seen."""
    applied, seen, overridden = await asyncio.gather(
        applied_commit.applied(scene.cluster, engines(scene), client, revision=scene.revision),
        observe_drift.compare(scene.wanted, client, owners=scene.owners, known=scene.known),
        override_records.open_override_notes(client, now=time.time()),
    )
    base = Drift(
        cluster=scene.cluster.name, revision=scene.revision, drifted=(), compared=0,
        applied=applied.others, notes=(*scene.notes, *applied.notes, *overridden), unread=(*scene.unread, *seen.unread),
    )  # fmt: skip
    return _with(base, seen.results, seen.extra), seen


async def watch(scene: ExpectedState, client: kube.Client) -> AsyncGenerator[Drift, None]:
    """Look, and look again at whatever changes; each time that something came or went.

    Args:
        scene: What is compared.
        client: The API.

    Raises:
        errors.ClientError: The API does not answer at first.
    """
    drift, seen = await compared(scene, client)
    yield drift
    base = dataclasses.replace(drift, unread=(*scene.unread, *seen.unread))
    results, extra = dict(seen.results), {each.id: each for each in seen.extra}
    async with contextlib.aclosing(
        follow(scene.wanted, client, seen=seen, owners=scene.owners, known=scene.known)
    ) as changes:
        async for change in changes:
            results.update(change.results)
            for id in change.gone:
                extra.pop(id, None)
            extra.update({each.id: each for each in change.extra})
            fresh = _with(base, results, extra.values())
            if fresh.drifted != drift.drifted:
                yield fresh
            drift = fresh


def engines(scene: ExpectedState) -> set[ObjectOwner]:
    """Everybody of an engine's who owns something that is compared, rendered in part or not."""
    parties = (Party.FLUX, Party.ARGOCD)
    return {*scene.owners, *(each.owner for each in scene.wanted if each.owner.party in parties)}


def _with(base: Drift, results: Mapping[ObjectId, DriftResult], extra: Iterable[Drifted]) -> Drift:
    """A whole answer from those of all objects."""
    found = [each.judgement.drifted for each in results.values() if each.judgement.drifted is not None]
    return dataclasses.replace(
        base,
        drifted=tuple(sorted((*found, *extra), key=lambda each: (each.component, each.id))),
        dry_runs=sum(each.dry_runs for each in results.values()),
        compared=sum(each.is_compared and not each.unread for each in results.values()),
        ignored=sum(each.judgement.ignored for each in results.values()),
        unread=(*base.unread, *(each.unread for each in results.values() if each.unread)),
    )


GATHERED = 0.05
"""Seconds in which changes are gathered before anything is looked at: most come in groups."""

_Changed = tuple[tuple[str, str], Key, Mapping[str, Any] | None]
"""The kind, the place, and the object; None if it is gone."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DriftChange:
    """What came of a look at what has changed."""

    results: Mapping[ObjectId, DriftResult] = dataclasses.field(default_factory=dict)
    extra: tuple[Drifted, ...] = ()
    gone: tuple[ObjectId, ...] = ()
    """Objects that are not there any more, or not extra any more."""


async def follow(
    wanted: Sequence[WantedObject],
    client: kube.Client,
    *,
    seen: ComparedObjects,
    owners: Mapping[ObjectOwner, str],
    known: Collection[ObjectId] = (),
) -> AsyncGenerator[DriftChange, None]:
    """Changes, for ever; what changed since ``seen`` is among the first.

    Args:
        wanted: What must be there.
        client: The API.
        seen: What came of the first look.
        owners: As for that.
        known: As for that.
    """
    queue: asyncio.Queue[_Changed] = asyncio.Queue()
    by_place = {
        (drift.kind_of(each), seen.kinds[drift.kind_of(each)].key(each.id, namespace=drift.NAMESPACE)): each
        for each in wanted
    }
    there = {*known, *(drift.placed(each, seen.kinds) for each in wanted)}
    tasks = [
        asyncio.create_task(_watch(kind, client, queue, found=found), name=f"drift of {kind[1]}")
        for kind, found in seen.kinds.items()
        if found.resource is not None and "watch" in found.resource.verbs and not found.problem
    ]
    try:
        while True:
            changed = await _gathered(queue, tasks)
            yield await _looked(changed, by_place, client, seen=seen, owners=owners, there=there)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _looked(
    changed: Mapping[tuple[tuple[str, str], Key], Mapping[str, Any] | None],
    by_place: Mapping[tuple[tuple[str, str], Key], WantedObject],
    client: kube.Client,
    *,
    seen: ComparedObjects,
    owners: Mapping[ObjectOwner, str],
    there: Collection[ObjectId],
) -> DriftChange:
    results: dict[ObjectId, DriftResult] = {}
    extra: dict[ObjectId, Drifted] = {}
    gone: list[ObjectId] = []
    for (kind, key), live in changed.items():
        if (one := by_place.get((kind, key))) is not None:
            results[one.id] = await drift.judge(one, live, client, kind=seen.kinds[kind], scaled=seen.scaled)
            continue
        group, _, _ = kind[0].rpartition("/")
        gone.append(ObjectId(group, kind[1], *key))
        if live is not None:
            extra.update(drift.extra_among([live], owners, there))
    return DriftChange(results=results, extra=tuple(extra.values()), gone=tuple(gone))


async def _watch(
    kind: tuple[str, str], client: kube.Client, queue: asyncio.Queue[_Changed], *, found: LiveObjectsOfKind
) -> None:
    """One kind; what is as it was seen first is no change."""
    fields = live_objects.RELEASES if kind == ("v1", "Secret") else ""
    versions = {key: each["metadata"].get("resourceVersion") for key, each in found.live.items()}
    events = client.watch(*kind, fields=fields)
    listed: set[Key] = set()
    is_synced = False
    async with contextlib.aclosing(events):
        async for event in events:
            match event:
                case kube.Synced():
                    is_synced = True
                    for key in versions.keys() - listed:
                        queue.put_nowait((kind, key, None))
                case kube.Deleted(object=gone):
                    queue.put_nowait((kind, live_objects.place(gone), None))
                case kube.Added(object=item) | kube.Modified(object=item):
                    key = live_objects.place(item)
                    listed.add(key)
                    if is_synced or versions.get(key) != item["metadata"].get("resourceVersion"):
                        queue.put_nowait((kind, key, {**item, "apiVersion": kind[0], "kind": kind[1]}))


async def _gathered(
    queue: asyncio.Queue[_Changed], tasks: Sequence[asyncio.Task[None]]
) -> dict[tuple[tuple[str, str], Key], Mapping[str, Any] | None]:
    """The next changes, the last of each object; what ends a watch ends the whole."""
    getting = asyncio.ensure_future(queue.get())
    try:
        done, _ = await asyncio.wait({getting, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            if each is not getting:
                await each
    finally:
        # Whoever stops looking ends the wait above, and not what it waits for.
        if not getting.done():
            getting.cancel()
            await asyncio.gather(getting, return_exceptions=True)
    found: dict[tuple[tuple[str, str], Key], Mapping[str, Any] | None] = {}
    kind, key, live = getting.result()
    found[kind, key] = live
    await asyncio.sleep(GATHERED)
    while not queue.empty():
        kind, key, live = queue.get_nowait()
        found[kind, key] = live
    return found
