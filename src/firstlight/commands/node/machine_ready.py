"""A machine that is back and well: Talos runs, its services and its etcd member are healthy, its node is ready."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube, talosctl
from firstlight.commands.node import drain_rules, machine_lookup
from firstlight.document.within import text
from firstlight.execute import cluster_access, gate_wait
from firstlight.execute.gate_wait import POLL
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import World
from firstlight.gates import etcd as gates_etcd
from firstlight.gates import machine_stage, node_ready
from firstlight.gates.causes import scheduling
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine import TalosServiceState
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import PATIENCE, MachineAccess

TIMEOUT = 1800.0
"""Seconds: servers take ten minutes to check their memory."""
ANSWERS = 10.0
"""Seconds for the Kubernetes API, each time that it is asked."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExpectedMachine:
    """What must be true of a machine besides being well."""

    is_rebooted: bool = False
    """Whether it must live in another boot than the mark on its node says (see ``draining.cordon``)."""
    talos: str = ""
    """The version that Talos must have, ``v1.13.1``; empty for whichever."""
    kubernetes: str = ""
    """The version that its kubelet must have, ``v1.36.1``; empty for whichever."""


def ready_stage(machine: Machine, *, expected: ExpectedMachine, timeout: float = TIMEOUT) -> WalkStage:
    """A stage that writes nothing and waits until the machine is back and well; id ``MACHINE:back``."""

    async def waited(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await wait_ready(machine, world, on_verdict, expected=expected, timeout=timeout)

    return WalkStage(id=f"{machine.name}:back", name=f"{machine.name} is well", wait=waited)


async def wait_ready(
    machine: Machine, world: World, on_verdict: OnVerdict, *, expected: ExpectedMachine, timeout: float = TIMEOUT,
    also: Callable[[], Awaitable[Verdict]] | None = None, holds: float = 0.0,
) -> tuple[Verdict, str]:  # fmt: skip
    """Wait for it, for the ``wait`` of a stage that has sent the machine away itself.

    In this order, and whatever is missing first is told: the machine answers with this cluster's keys, is at the stage
    ``running``, lives in a new boot and has the version that is expected, its services are healthy, its etcd member is
    (of control planes), the Kubernetes API answers, and its node is Ready with the expected kubelet.

    Args:
        machine: The machine.
        world: The cluster.
        on_verdict: Told of each change of mind.
        expected: What must be true besides.
        timeout: Seconds.
        also: What else must pass, asked when all of that does.
        holds: Seconds for which all of it must be true without a break.

    Returns:
        Passed, or the last Waiting when the time is over; Failed where waiting does not help. And what to try next.
    """
    way = await cluster_access.ensure(world)
    deadline = time.monotonic() + timeout
    last: Verdict | None = None
    before, since = "", 0.0
    while True:
        sight = await look_at_machine(machine, world, way)
        if expected.is_rebooted and sight.node is not None and (mark := drain_rules.mark_of(sight.node)) is not None:
            before = mark.boot
        verdict = judge(sight, boot_before=before, talos=expected.talos, kubernetes=expected.kubernetes)
        if isinstance(verdict, Passed) and also is not None and not isinstance(more := await also(), Passed):
            verdict = more
        now = time.monotonic()
        since = (since or now) if isinstance(verdict, Passed) else 0.0
        if verdict != last:
            last = verdict
            on_verdict(verdict)
        if isinstance(verdict, Passed) and now - since >= holds:
            return verdict, ""
        if isinstance(verdict, Failed) or time.monotonic() >= deadline:
            hint = f"Look at the console of {machine.name}. When it is well, run the same command again: it goes on."
            return verdict, hint
        await asyncio.sleep(POLL)


async def look_at_machine(machine: Machine, world: World, way: MachineAccess) -> RejoinSight:
    """What can be seen of a machine now; that something does not answer is an answer."""
    report, (api, node) = await asyncio.gather(machine_survey.look_at(machine, way), _node(machine, world))
    sight = RejoinSight(report=report, api=api, node=node)
    if report.standing is not MachineStanding.OURS or report.stage != "running":
        return sight
    admin, target = way.admin, way.at(machine)
    try:
        boot, version, services = await asyncio.gather(
            admin.boot_id(target, timeout=PATIENCE),
            admin.version(target, timeout=PATIENCE),
            admin.service_states(target, timeout=PATIENCE),
        )
    except talosctl.TalosError as error:
        silent = MachineReport(machine=machine, standing=MachineStanding.ABSENT, why=error.detail)
        return dataclasses.replace(sight, report=silent)
    etcd = await _etcd(machine, world, way)
    return dataclasses.replace(sight, boot=boot, talos=version.tag, services=services, etcd=etcd)


async def _etcd(machine: Machine, world: World, way: MachineAccess) -> Verdict | None:
    """Whether it is a healthy member, with those others that are there: one that is away is not its fault."""
    if machine.role is not MachineRole.CONTROL_PLANE:
        return None
    reports = await machine_survey.look_at_all(gate_wait.control_planes(world, [machine]), way, with_etcd=True)
    there = [each for each in reports if each.standing is MachineStanding.OURS or each.machine.name == machine.name]
    return gates_etcd.judge(there)


async def _node(machine: Machine, world: World) -> tuple[str, Mapping[str, Any] | None]:
    """Why the API does not answer, or the node that the machine is."""
    if not world.is_connected:
        return "it was not reached", None
    try:
        async with asyncio.timeout(ANSWERS):
            return "", node_ready.of_machine(machine, (await world.kube.list("v1", "Node")).items)
    except TimeoutError:
        return f"nothing for {ANSWERS:g} s", None
    except errors.ClientError as error:
        return error.message, None


# What a machine brings by itself runs again on it: its static pods and those of DaemonSets.


PODS_PATIENCE = 300.0
"""Seconds for the pods of a node that is back: images may have to be pulled."""


def settled_stage(machine: Machine, *, patience: float = PODS_PATIENCE) -> WalkStage:
    """A stage that writes nothing and waits for these pods; id ``MACHINE:verify``."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        deadline = time.monotonic() + patience
        last: Verdict | None = None
        while True:
            verdict = await _judged(machine, world)
            if verdict != last:
                last = verdict
                on_verdict(verdict)
            if isinstance(verdict, Passed) or time.monotonic() >= deadline:
                return verdict, "" if isinstance(verdict, Passed) else f"See: kubectl describe node {machine.name}"
            await asyncio.sleep(POLL)

    return WalkStage(id=f"{machine.name}:verify", name=f"verify {machine.name}", wait=wait)


async def _judged(machine: Machine, world: World) -> Verdict:
    try:
        node = await machine_lookup.require_node(machine, world)
        return drain_rules.settled(node, await machine_lookup.pods_on(str(node["metadata"]["name"]), world))
    except (errors.Unreachable, errors.TimedOut, kube.ServerError) as error:
        return Waiting(f"the Kubernetes API does not answer: {error.message}")


_EXTENSION = "ext-"
_AT_WORK = frozenset({"Running", "Finished", "Skipped"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RejoinSight:
    """What was seen of a machine at one moment; what could not be asked is empty."""

    report: MachineReport
    boot: str = ""
    """As the machine itself tells it."""
    talos: str = ""
    """The version that it runs."""
    services: Sequence[TalosServiceState] = ()
    etcd: Verdict | None = None
    """Of control planes only."""
    api: str = ""
    """Why the Kubernetes API does not answer; empty where it does."""
    node: Mapping[str, Any] | None = None


def judge(sight: RejoinSight, *, boot_before: str = "", talos: str = "", kubernetes: str = "") -> Verdict:
    """The verdict: whatever is missing first, from the machine up.

    Args:
        sight: What was seen.
        boot_before: The boot that it must not live in any more; empty for whichever.
        talos: The version that it must run; empty for whichever.
        kubernetes: The version that its kubelet must have; empty for whichever.
    """
    report = sight.report
    name = report.machine.name
    if report.standing is MachineStanding.FOREIGN:
        return Failed(f"{name}: {report.why}")
    if report.standing is not MachineStanding.OURS or report.stage != "running":
        return Waiting(f"{name} {machine_stage.state_of(report)}")
    if boot_before and sight.boot in ("", boot_before):
        return Waiting(f"{name} has not rebooted yet")
    if talos and _bare(sight.talos) != _bare(talos):
        return Waiting(f"{name} runs Talos {sight.talos or 'of an unknown version'}, not {talos}")
    if sick := [each for each in sight.services if _is_sick(each)]:
        return Waiting(f"{name}: {'; '.join(map(_sickness, sick))}")
    if not sight.services:
        return Waiting(f"{name} does not tell its services")
    if sight.etcd is not None and not isinstance(sight.etcd, Passed):
        return sight.etcd if isinstance(sight.etcd, Failed) else Waiting(f"etcd: {sight.etcd.reason}")
    if sight.api:
        return Waiting(f"the Kubernetes API does not answer: {sight.api}")
    return _rejoined_node(sight, boot_before=boot_before, kubernetes=kubernetes)


def _rejoined_node(sight: RejoinSight, *, boot_before: str, kubernetes: str) -> Verdict:
    name, node = sight.report.machine.name, sight.node
    if node is None:
        return Waiting(f"{name} is no node of the cluster")
    if boot_before and drain_rules.boot_id(node) == boot_before:
        return Waiting(f"the kubelet of {name} has not reported since its reboot")
    if (cause := scheduling.node_cause(node)) is not None:
        return Waiting(cause.what)
    kubelet = text(node, "status", "nodeInfo", "kubeletVersion")
    if kubernetes and _bare(kubelet) != _bare(kubernetes):
        return Waiting(f"the kubelet of {name} is {kubelet or 'of an unknown version'}, not {kubernetes}")
    etcd = f", {sight.etcd.reason}" if sight.etcd is not None and sight.etcd.reason else ""
    return Passed(f"{name} is well: node ready{etcd}")


def _is_sick(service: TalosServiceState) -> bool:
    """Services of extensions do not count: one that nobody has configured waits for ever."""
    is_own = not service.id.startswith(_EXTENSION)
    return is_own and (service.state not in _AT_WORK or service.is_healthy is False)


def _sickness(service: TalosServiceState) -> str:
    if service.state in _AT_WORK:
        return f"the service {service.id} is not healthy"
    return f"the service {service.id} is {service.state}"


def _bare(version: str) -> str:
    return version.removeprefix("v")
