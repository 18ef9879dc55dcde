"""The gates that are asked of machines, not of the Kubernetes API; they are polled by talosctl."""

import asyncio
import time
from collections.abc import Callable, Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys, omni_gates
from firstlight.execute.world import World
from firstlight.gates import etcd as etcd_gate
from firstlight.gates import machines as machine_gate
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.plan import Subject
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import BootstrapEtcd, Configure, SyncTemplate, Task
from firstlight.observe import machines as observed
from firstlight.observe.machines import Way

TIMEOUT = 900.0
"""Seconds for machines to install and boot, and for etcd to have its members: slow disks and a slow registry."""
POLL = 0.5
"""Seconds between two looks; a look itself takes as long as talosctl does."""
TAKES_IT = 15.0
"""Seconds in which a machine that was given a config leaves maintenance mode; else it has lost it, with its power."""


async def wait(
    subject: Subject, task: Task, world: World, *, on_verdict: Callable[[Verdict], None], timeout: float = TIMEOUT
) -> Verdict:
    """Wait until machines are up, or etcd is well.

    Returns:
        Passed, Failed or Skipped; or the last Waiting when the time is over, or a machine stands there without a
        config, which nobody would give it while it is waited for. Machines that got none in this run and do not answer
        are waited for as long as the world has patience.
    """
    if isinstance(task, SyncTemplate):
        return await omni_gates.wait(subject, task, world, on_verdict=on_verdict, timeout=timeout)
    machines = _machines(subject, task)
    if not machines:
        return Skipped("there are no machines to ask")
    way = await cluster_keys.ensure(world)
    judge = etcd_gate.judge if subject is Subject.ETCD else machine_gate.judge
    begun = time.monotonic()
    last: Verdict | None = None
    bare: dict[str, float] = {}
    while True:
        reports = await observed.look_at_all(machines, way, with_etcd=subject is Subject.ETCD)
        now = time.monotonic()
        bare = {name: bare.get(name, now) for name in _bare(reports)}
        verdict = judge(reports)
        if verdict != last:
            last = verdict
            on_verdict(verdict)
        limit = timeout if subject is Subject.ETCD else _limit(reports, world, timeout)
        if isinstance(verdict, Passed | Failed) or now - begun >= limit:
            return verdict
        if any(name not in world.configured or now - since > TAKES_IT for name, since in bare.items()):
            return verdict
        await asyncio.sleep(POLL)


def _bare(reports: Sequence[MachineReport]) -> list[str]:
    """The machines in maintenance mode that do nothing."""
    return [
        each.machine.name
        for each in reports
        if each.standing is Standing.MAINTENANCE and each.stage == "maintenance"
    ]  # fmt: skip


def _machines(subject: Subject, task: Task) -> Sequence[Machine]:
    match task:
        case Configure():
            machines: Sequence[Machine] = [each.machine for each in task.drafts]
        case BootstrapEtcd():
            machines = task.control_planes
        case _:
            return ()
    if subject is Subject.ETCD:
        return [each for each in machines if each.role is MachineRole.CONTROL_PLANE]
    return machines


def _limit(reports: Sequence[MachineReport], world: World, timeout: float) -> float:
    """How long to wait: nobody installs who was given nothing."""
    missing = {each.machine.name for each in reports if not machine_gate.is_up(each)}
    return timeout if missing & world.configured else min(timeout, world.patience)


async def settle(
    machine: Machine, way: Way, *, config: Secret, members: Sequence[Machine] = (), timeout: float = TIMEOUT
) -> None:
    """Wait until a config is in force on a machine, after a reboot if it needs one, and etcd is well.

    Args:
        machine: The machine.
        way: How it is reached.
        config: What it was given.
        members: The control planes, where etcd was bootstrapped; they must all be members then.
        timeout: Seconds.

    Raises:
        errors.TimedOut: It is not.
    """
    deadline = time.monotonic() + timeout
    while True:
        verdict = machine_gate.judge([await observed.look_at(machine, way)])
        if isinstance(verdict, Passed) and not await _is_in_force(machine, way, config):
            verdict = Waiting("it does not run with its new config yet")
        if isinstance(verdict, Passed) and members:
            verdict = etcd_gate.judge(await observed.look_at_all(members, way, with_etcd=True))
        if isinstance(verdict, Passed):
            return
        if isinstance(verdict, Failed) or time.monotonic() >= deadline:
            raise errors.TimedOut(f"{machine.name} is not well: {verdict.reason}", target=machine.name)
        await asyncio.sleep(POLL)


async def _is_in_force(machine: Machine, way: Way, config: Secret) -> bool:
    """A machine that is about to reboot still answers as before; only what it has in force tells that it did."""
    try:
        return (await way.admin.apply_config(way.at(machine), config, dry_run=True)).diff is None
    except talosctl.TalosError:
        return False
