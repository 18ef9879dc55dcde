"""The proof that a second run writes nothing: the whole of ``up`` again, and what reached the API server meanwhile.

Where the audit log can be read, as in a lab, it tells every request. Elsewhere everything in the cluster is looked at
before and after, by who wrote it. Machines are looked at by their configs, and nodes by their boots.
"""

from __future__ import annotations

import asyncio
import dataclasses
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.up import up
from firstlight.commands.verify import fingerprint
from firstlight.execute import cluster_access, walk
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.event import Event, StepEnded, Writing
from firstlight.model.platform import Platform
from firstlight.model.verdict import Failed, Passed, Verdict, VerificationCheck
from firstlight.observe import audit_log

_PATIENCE = 10.0
"""Seconds for the audit log to show what was just asked."""
_POLL = 0.05


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What came of the second run, by its own account."""

    writes: int
    is_complete: bool
    reason: str = ""
    """Why it is not complete."""


Again = Callable[[], Awaitable[Rerun]]
Machines = Callable[[], Awaitable[Mapping[str, str]]]
"""Machines by name, each with a text that every config changes."""


async def check_idempotency(
    client: kube.Client,
    rerun: Again,
    *,
    ours: Collection[str],
    log: Path | None = None,
    machines: Machines | None = None,
    now: Callable[[], float] = time.time,
) -> VerificationCheck:
    """Run again, and count what was written.

    Args:
        client: The cluster.
        rerun: Runs the whole of ``up`` again.
        ours: The managers as whom ``up`` writes.
        log: The audit log of the API server, if it can be read.
        machines: How the machines are told apart from what they were; not looked at if it is not given.
        now: The clock of the audit log.
    """
    before = None if log else await fingerprint.resource_versions(client)
    configs = await machines() if machines else {}
    boots = await fingerprint.boots(client)
    begun = now()
    result = await rerun()
    touched = (
        *_differing("changed the config of", configs, await machines() if machines else {}),
        *_differing("rebooted", boots, await fingerprint.boots(client)),
    )
    if log:
        written, told = await _logged(client, log, begun, now), "the audit log"
        others: tuple[str, ...] = ()
    else:
        compared = fingerprint.compare(before or {}, await fingerprint.resource_versions(client), ours=ours)
        written, told, others = compared.written, f"resource versions of {compared.objects} objects", compared.by_others
    verdict = _verdict(result, (*written, *touched), told=told, machines=len(configs))
    return VerificationCheck(name="idempotency", verdict=verdict, detail=(*written, *touched, *_by_others(others)))


def _verdict(result: Rerun, writes: Collection[str], *, told: str, machines: int) -> Verdict:
    if writes:
        return Failed(f"the second run wrote {len(writes)} time{'s' if len(writes) > 1 else ''}, by {told}")
    if result.writes:
        return Failed(f"the second run says that it wrote {result.writes}, which {told} does not show")
    if not result.is_complete:
        return Failed(f"the second run did not end well: {result.reason}")
    where = f"the API server and {machines} machine{'s' if machines > 1 else ''}" if machines else "the API server"
    return Passed(f"0 writes to {where} in a second run, by {told}")


async def _logged(client: kube.Client, log: Path, begun: float, now: Callable[[], float]) -> tuple[str, ...]:
    until = now()
    if not await is_shown(client, log, since=begun):
        return (f"unknown: {log} does not show what was asked",)
    return tuple(str(each) for each in audit_log.writes(log, since=begun, until=until))


async def is_shown(client: kube.Client, log: Path, *, since: float) -> bool:
    """Wait until an audit log has all that was asked so far: it is written a moment after a request is answered.

    Args:
        client: The cluster.
        log: The audit log of its API server.
        since: From when on it is read.
    """
    mark = f"firstlight={secrets.token_hex(8)}"
    await client.request("GET", f"/version?{mark}")
    deadline = time.monotonic() + _PATIENCE
    while not audit_log.has(log, mark, since=since):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL)
    return True


def _differing(what: str, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """What joined or left meanwhile did so by itself."""
    return tuple(f"{what} {name}" for name in sorted(before) if name in after and before[name] != after[name])


def _by_others(told: Collection[str]) -> tuple[str, ...]:
    return tuple(f"meanwhile, not by this run: {each}" for each in sorted(told)[:5])


# A second run of ``up`` for the proof of idempotency: first as a dry run, so that verifying builds nothing.


_SHOWN = 3


def run_again(platform: Platform, cluster: Cluster, means: Means) -> Again:
    """Runs the whole of ``up`` again; where it would write something, that is said and not done."""

    async def rerun() -> Rerun:
        _, would = await _run(platform, RunRequest(cluster=cluster.name, is_dry_run=True), means)
        if wishes := [text for each in would if isinstance(each, Writing) for text in each.writes]:
            more = f" and {len(wishes) - _SHOWN} more" if len(wishes) > _SHOWN else ""
            return Rerun(writes=0, is_complete=False, reason=f"it would {', '.join(wishes[:_SHOWN])}{more}")
        result, told = await _run(platform, RunRequest(cluster=cluster.name), means)
        ended = [each for each in told if isinstance(each, StepEnded)]
        bad = [f"{each.step}: {each.reason}" for each in ended if each.verdict in ("failed", "waiting")]
        return Rerun(writes=result.writes, is_complete=result.is_complete, reason="; ".join(bad[:_SHOWN]))

    return rerun


def machines_now(cluster: Cluster, means: Means) -> Machines | None:
    """How the cluster's machines are told from what they were; None for a cluster that has none here."""
    declared = [each for each in cluster.machines if each.address and not each.id]  # Omni keeps the keys of its own
    if not declared or means.programs.talosctl_for(cluster) is None:
        return None
    world = World(
        cluster=cluster, programs=means.programs, resolve=means.resolve, state=means.state, reach=means.reach,
        talos_secrets=lambda: means.talos_secrets(cluster),
    )  # fmt: skip

    async def look() -> Mapping[str, str]:
        way = await cluster_access.ensure(world)
        return await fingerprint.config_versions(way.admin, {each.name: way.at(each) for each in declared})

    return look


async def _run(platform: Platform, wishes: RunRequest, means: Means) -> tuple[RunResult, list[Event]]:
    prepared = await up.prepare(platform, wishes, means, is_checked=False)
    if prepared.is_blocked:
        worst = next(each for each in prepared.problems if each.severity == "error")
        raise errors.Refused(f"up cannot run again: {worst.message}", hint="See: firstlight up --check")
    told: list[Event] = []
    begun = up.started(prepared, wishes, means)
    with walk.alone(prepared.cluster, means, who=begun.who):
        result = await up.run(prepared, wishes, means, begun=begun, tell=told.append, confirm=lambda danger: False)
    return result, told
