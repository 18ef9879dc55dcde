"""The proof that a second run writes nothing: the whole of ``up`` again, and what reached the API server meanwhile.

Where the audit log can be read, as in a lab, it tells every request. Elsewhere everything in the cluster is looked at
before and after, by who wrote it. Machines are looked at by their configs, and nodes by their boots.
"""

import asyncio
import dataclasses
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from firstlight.clients import kube
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.model.verification import Check
from firstlight.observe import audit_log, fingerprint, machine_versions

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


async def check(
    client: kube.Client,
    rerun: Again,
    *,
    ours: Collection[str],
    log: Path | None = None,
    machines: Machines | None = None,
    now: Callable[[], float] = time.time,
) -> Check:
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
    boots = await machine_versions.boots(client)
    begun = now()
    result = await rerun()
    touched = (
        *_differing("changed the config of", configs, await machines() if machines else {}),
        *_differing("rebooted", boots, await machine_versions.boots(client)),
    )
    if log:
        written, told = await _logged(client, log, begun, now), "the audit log"
        others: tuple[str, ...] = ()
    else:
        compared = fingerprint.compare(before or {}, await fingerprint.resource_versions(client), ours=ours)
        written, told, others = compared.written, f"resource versions of {compared.objects} objects", compared.by_others
    verdict = _verdict(result, (*written, *touched), told=told, machines=len(configs))
    return Check(name="idempotency", verdict=verdict, detail=(*written, *touched, *_by_others(others)))


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
