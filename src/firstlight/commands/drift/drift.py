"""``drift``: the live state of a cluster against what Git renders, once or for as long as somebody watches."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncGenerator, Iterable, Mapping

from firstlight.clients import kube
from firstlight.commands.drift import applied_commit, drift_watch
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.execute.overrides import override_records
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drift, Drifted
from firstlight.model.owner import ObjectOwner, Party
from firstlight.observe import drift as observe_drift
from firstlight.observe.drift import ComparedObjects, DriftResult


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
        drift_watch.follow(scene.wanted, client, seen=seen, owners=scene.owners, known=scene.known)
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
