"""The gates of a step, waited for all at once, and the one verdict that they make."""

import asyncio
import re
import time
from collections.abc import Callable, Container, Sequence

from firstlight import errors
from firstlight.clients import omnictl, talosctl
from firstlight.execute import cluster_access
from firstlight.execute.world import World
from firstlight.gates import etcd, gate_table, machine_stage
from firstlight.gates.gate_parts import GateContext
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.plan import Gate, Step, Subject
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.work import BootstrapEtcd, Configure, SyncTemplate, Task, Watch
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

_MORE = re.compile(r" and \d+ more$")
_MACHINES = (Subject.MACHINES, Subject.ETCD)

Judging = Callable[[str, Verdict], None]
"""Told of each change of a gate's verdict, with the gate's name."""


async def wait_for_gates(
    step: Step, task: Task, world: World, *, ground: GateContext, on_verdict: Judging
) -> tuple[Verdict, str]:
    """Wait until all gates of a step have passed, or one has failed or was given up.

    Returns:
        The verdict, and what to try next where it is not good.
    """
    # No group of tasks: what stops one gate stops the step by itself, not wrapped in a group of errors.
    tasks = [asyncio.create_task(_one(gate, task, world, ground, on_verdict)) for gate in step.gates]
    try:
        verdicts = await asyncio.gather(*tasks)
        return (isinstance(task, Watch) and _skipped(verdicts)) or joint_verdict(verdicts)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _skipped(verdicts: Sequence[tuple[Verdict, str]]) -> tuple[Verdict, str] | None:
    """Why a step that only watches had nothing to watch for; None where something was judged."""
    if not all(isinstance(each, Skipped) for each, _ in verdicts):
        return None
    reasons = dict.fromkeys(each.reason for each, _ in verdicts if each.reason)
    return (Skipped("; ".join(reasons)), "") if reasons else None


async def _one(gate: Gate, task: Task, world: World, ground: GateContext, on_verdict: Judging) -> tuple[Verdict, str]:
    if gate.subject in _MACHINES:
        name = str(gate.subject)
        verdict = await wait_for_machines(
            gate.subject, task, world, on_verdict=lambda each: on_verdict(name, each)
        )  # fmt: skip
        return verdict, ""
    question = gate_table.question(gate, task, ground)
    if question is None:
        return Skipped(), ""
    verdict = await world.watching.wait(question, on_verdict=lambda each: on_verdict(question.name, each))
    return verdict, question.hint


def joint_verdict(verdicts: Sequence[tuple[Verdict, str]]) -> tuple[Verdict, str]:
    """The worst verdict, with the reasons of all that are as bad."""
    for kind in (Failed, Waiting):
        bad = [(verdict.reason, hint) for verdict, hint in verdicts if isinstance(verdict, kind)]
        if bad:
            hints = dict.fromkeys(hint for _, hint in bad if hint)
            return kind("; ".join(dict.fromkeys(reason for reason, _ in bad if reason))), " ".join(hints)
    reasons = dict.fromkeys(verdict.reason for verdict, _ in verdicts if isinstance(verdict, Passed) and verdict.reason)
    return Passed(", ".join(each for each in reasons if not _is_told(each, reasons))), ""


def _is_told(reason: str, reasons: Container[str]) -> bool:
    """Whether a list says nothing that other gates do not say one by one: an engine's of its controllers."""
    parts = _MORE.sub("", reason).split(", ")
    return len(parts) > 1 and all(each in reasons for each in parts)


# The gates that are asked of machines, not of the Kubernetes API; they are polled by talosctl.


TIMEOUT = 900.0
"""Seconds for machines to install and boot, and for etcd to have its members: slow disks and a slow registry."""
POLL = 0.5
"""Seconds between two looks; a look itself takes as long as talosctl does."""
TAKES_IT = 15.0
"""Seconds in which a machine that was given a config leaves maintenance mode; else it has lost it, with its power."""


async def wait_for_machines(
    subject: Subject, task: Task, world: World, *, on_verdict: Callable[[Verdict], None], timeout: float = TIMEOUT
) -> Verdict:
    """Wait until machines are up, or etcd is well.

    Returns:
        Passed, Failed or Skipped; or the last Waiting when the time is over, or a machine stands there without a
        config, which nobody would give it while it is waited for. Machines that got none in this run and do not answer
        are waited for as long as the world has patience.
    """
    if isinstance(task, SyncTemplate):
        return await wait_for_omni(subject, task, world, on_verdict=on_verdict, timeout=timeout)
    machines = _machines(subject, task)
    if not machines:
        return Skipped("there are no machines to ask")
    way = await cluster_access.ensure(world)
    judge = etcd.judge if subject is Subject.ETCD else machine_stage.judge
    begun = time.monotonic()
    last: Verdict | None = None
    bare: dict[str, float] = {}
    while True:
        reports = await machine_survey.look_at_all(machines, way, with_etcd=subject is Subject.ETCD)
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
        if each.standing is MachineStanding.MAINTENANCE and each.stage == "maintenance"
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
    missing = {each.machine.name for each in reports if not machine_stage.is_up(each)}
    return timeout if missing & world.configured else min(timeout, world.patience)


async def settle(
    machine: Machine, way: MachineAccess, *, config: Secret, members: Sequence[Machine] = (), timeout: float = TIMEOUT
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
        verdict = machine_stage.judge([await machine_survey.look_at(machine, way)])
        if isinstance(verdict, Passed) and not await _is_in_force(machine, way, config):
            verdict = Waiting("it does not run with its new config yet")
        if isinstance(verdict, Passed) and members:
            verdict = etcd.judge(await machine_survey.look_at_all(members, way, with_etcd=True))
        if isinstance(verdict, Passed):
            return
        if isinstance(verdict, Failed) or time.monotonic() >= deadline:
            raise errors.TimedOut(f"{machine.name} is not well: {verdict.reason}", target=machine.name)
        await asyncio.sleep(POLL)


async def _is_in_force(machine: Machine, way: MachineAccess, config: Secret) -> bool:
    """A machine that is about to reboot still answers as before; only what it has in force tells that it did."""
    try:
        return (await way.admin.apply_config(way.at(machine), config, dry_run=True)).diff is None
    except talosctl.TalosError:
        return False


# The gates of a cluster that Omni makes: its own status is asked again and again, by omnictl.


OMNI_POLL = 3.0
"""Seconds between two looks: each starts a program that signs in."""


async def wait_for_omni(
    subject: Subject, task: SyncTemplate, world: World, *, on_verdict: Callable[[Verdict], None], timeout: float
) -> Verdict:
    """Wait until Omni has machines running, or etcd well.

    Returns:
        Passed or Failed; or the last Waiting when the time is over. Workers that do not come are waited for as long as
        the world has patience, and then left: they may join any time.
    """
    omni = cluster_access.omnictl_program(world)
    begun = time.monotonic()
    last: Verdict | None = None
    while True:
        spent = time.monotonic() - begun
        try:
            status = await omni.status(task.template, directory=task.directory)
        except (omnictl.OmniUnreachable, omnictl.OmniTimedOut) as error:
            verdict: Verdict = Waiting(error.message)
        else:
            if subject is Subject.ETCD:
                verdict = machine_stage.etcd(status)
            else:
                verdict = machine_stage.machines(status, world.cluster.machines, with_workers=spent < world.patience)
        if verdict != last:
            last = verdict
            on_verdict(verdict)
        if isinstance(verdict, Passed | Failed) or spent >= timeout:
            return verdict
        await asyncio.sleep(OMNI_POLL)


# Whether etcd can do without a control plane for the time of its reboot, counted over all members that it knows.


def control_planes(world: World, machines: Sequence[Machine] = ()) -> tuple[Machine, ...]:
    """Every control plane that is declared, not only those of a step."""
    found = {each.name: each for each in (*world.cluster.machines, *machines) if each.role is MachineRole.CONTROL_PLANE}
    return tuple(found.values())


async def judge_quorum(machine: Machine, planes: Sequence[Machine], way: MachineAccess) -> Verdict:
    """Whether it can now; looked at once."""
    return etcd.without(await machine_survey.look_at_all(planes, way, with_etcd=True), machine.name)


async def require_quorum(
    machine: Machine, planes: Sequence[Machine], way: MachineAccess, *, patience: float, tell: Callable[[str], None]
) -> str:
    """Wait until it can: another machine may just be on its way back from a reboot.

    Args:
        machine: The one that is to reboot.
        planes: All control planes.
        way: How they are reached.
        patience: Seconds.
        tell: Told what is waited for.

    Returns:
        What becomes of etcd meanwhile.

    Raises:
        errors.Refused: It cannot, and patience is over.
    """
    deadline = time.monotonic() + patience
    told: Verdict | None = None
    while True:
        verdict = await judge_quorum(machine, planes, way)
        if isinstance(verdict, Passed):
            return verdict.reason
        if time.monotonic() >= deadline:
            raise errors.Refused(
                f"{machine.name} is not rebooted: {verdict.reason}",
                hint="Bring the other members back, or take those that are gone out of etcd: talosctl etcd "
                "remove-member. Then run again.",
            )
        if verdict != told:
            told = verdict
            tell(f"{machine.name}: its reboot waits: {verdict.reason}")
        await asyncio.sleep(POLL)
