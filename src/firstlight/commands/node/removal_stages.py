"""A machine leaves its cluster: drained, wiped, its member of etcd and its node gone; killed anywhere, it goes on.

``reset`` is for a machine that comes back bare, ``remove`` for one that does not come back, and need not answer either.
"""

import asyncio
import dataclasses
import time

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.talosctl.power_commands import WipeMode
from firstlight.commands.node import departure, drain
from firstlight.commands.node.departure import Departure, Wipe
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.execute import cluster_access, gate_wait
from firstlight.execute.gate_wait import POLL
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import machine_stage
from firstlight.model.cluster import Machine
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.observe import machine_survey

TIMEOUT = 900.0
"""Seconds for a machine to be wiped and to boot again."""
LABELS = ("STATE", "EPHEMERAL")
"""Config and data; the installed system stays, and boots into maintenance mode."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeRemovalOptions:
    """What was asked for."""

    command: str
    """``node reset`` or ``node remove``."""
    wipe: Wipe = "partitions"
    drain: DrainOptions = dataclasses.field(default_factory=DrainOptions)
    is_storage_accepted: bool = False
    timeout: float = TIMEOUT

    @property
    def is_answer_needed(self) -> bool:
        """Whether a machine that does not answer is waited for."""
        return self.command == "node reset"


def checked(found: Departure, wishes: NodeRemovalOptions) -> Departure:
    """What was found, with what else speaks against the wish."""
    if not wishes.is_answer_needed or found.report.standing is not MachineStanding.ABSENT:
        return found
    name = found.report.machine.name
    silent = Diagnostic.error(
        "machine-unreachable",
        f"{name} does not answer ({found.report.why}): it cannot be wiped",
        subject=name,
        fix=f"Switch it on; or, where it is gone for good: firstlight node remove {name}",
    )
    return dataclasses.replace(found, refusals=(*found.refusals, silent))


def stages(machine: Machine, wishes: NodeRemovalOptions) -> tuple[WalkStage, ...]:
    """The stages, in their order."""
    return (
        _while_there(drain.cordon(machine, command=wishes.command), machine),
        _while_there(drain.drain(machine, wishes.drain), machine),
        _wipe(machine, wishes),
        _member(machine),
        _node(machine),
    )


def _while_there(stage: WalkStage, machine: Machine) -> WalkStage:
    """Only a machine that runs is drained: the pods of one that is off, or bare, do not end."""

    async def look(world: World) -> PendingChange | None:
        is_there = (await _report(machine, world)).standing is MachineStanding.OURS
        return await stage.look(world) if is_there and await departure.node_of(machine, world) else None

    return dataclasses.replace(stage, look=look)


def _wipe(machine: Machine, wishes: NodeRemovalOptions) -> WalkStage:
    id = f"{machine.name}:wipe"
    told: list[str] = []

    async def look(world: World) -> PendingChange | None:
        report = await _report(machine, world)
        if report.standing is not MachineStanding.OURS:
            return None
        seen = await departure.survey_departure(machine, world, is_storage_accepted=wishes.is_storage_accepted)
        if seen.refusals:
            first = seen.refusals[0]
            raise errors.Refused(f"{machine.name} is not wiped: {first.message}", hint=first.fix)
        way = await cluster_access.ensure(world)
        is_parted = wishes.wipe == "partitions"
        mode: WipeMode = "all" if wishes.wipe == "all" else "system-disk"

        async def perform() -> None:
            world.tell(id, f"{machine.name} is told to leave, and to wipe itself")
            told.append(machine.name)
            await way.admin.reset(
                way.at(machine), graceful=True, reboot=True, wipe=mode, wait=False,
                system_labels=LABELS if is_parted else (),
            )  # fmt: skip

        what = {"partitions": " and ".join(LABELS), "system-disk": "its system disk", "all": "all its disks"}
        return PendingChange(writes=(f"wipe {machine.name}: {what[wishes.wipe]}",), perform=perform)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await _bare(machine, world, on_verdict, wishes=wishes, is_told=bool(told))

    return WalkStage(id=id, name=f"wipe {machine.name}", look=look, wait=wait)


async def _bare(
    machine: Machine, world: World, on_verdict: OnVerdict, *, wishes: NodeRemovalOptions, is_told: bool
) -> tuple[Verdict, str]:
    """Wait until a machine is bare; one that is silent is only waited for if it must come back."""
    deadline = time.monotonic() + wishes.timeout
    last: Verdict | None = None
    while True:
        report = await _report(machine, world)
        verdict = _judged(report, wishes, is_told=is_told)
        if verdict != last:
            last = verdict
            on_verdict(verdict)
        if isinstance(verdict, Passed | Failed) or time.monotonic() >= deadline:
            at = f"talosctl dmesg --nodes {machine.address}"
            hint = f"Look at its console, or: {at}. Then run the same command again: it goes on."
            return verdict, "" if isinstance(verdict, Passed) else hint
        await asyncio.sleep(POLL)


def _judged(report: MachineReport, wishes: NodeRemovalOptions, *, is_told: bool) -> Verdict:
    name = report.machine.name
    match report.standing:
        case MachineStanding.MAINTENANCE:
            return Passed(f"{name} is bare, in maintenance mode")
        case MachineStanding.FOREIGN:
            return Failed(f"{name}: {report.why}")
        case MachineStanding.ABSENT if wishes.wipe != "partitions":
            return Passed(f"{name} is wiped, and boots from whatever it finds")
        case MachineStanding.ABSENT if not wishes.is_answer_needed and not is_told:
            return Passed(f"{name} does not answer")
        case _:
            return Waiting(f"{name} {machine_stage.state_of(report)}")


def _member(machine: Machine) -> WalkStage:
    id = f"{machine.name}:member"

    async def look(world: World) -> PendingChange | None:
        way = await cluster_access.ensure(world)
        planes = gate_wait.control_planes(world, [machine])
        reports = await machine_survey.look_at_all(planes, way, with_etcd=True)
        members = await departure.members_of(machine, reports, way)
        if not members:
            return None
        seen = departure.etcd_before_departure(reports, machine.name, own=members[0])
        if refusals := departure.departure_refusals(machine, seen, reports):
            message = f"{machine.name} is not taken out of etcd: {refusals[0].message}"
            raise errors.Refused(message, hint=refusals[0].fix)
        others = [
            each for each in reports if each.machine.name != machine.name and each.standing is MachineStanding.OURS
        ]
        if not others:
            raise errors.Unreachable("no other control plane answers", target=machine.name)
        through = others[0].machine

        async def perform() -> None:
            for each in members:
                await way.admin.etcd_remove_member(way.at(through), each)
                world.tell(id, f"member {each} of {machine.name} is out of etcd")

        return PendingChange(writes=tuple(f"remove member {each} from etcd" for each in members), perform=perform)

    return WalkStage(id=id, name=f"etcd without {machine.name}", look=look)


def _node(machine: Machine) -> WalkStage:
    async def look(world: World) -> PendingChange | None:
        name = await departure.node_of(machine, world)
        if not name:
            return None

        async def perform() -> None:
            try:
                await world.kube.delete("v1", "Node", name)
            except kube.NotFound:
                return

        return PendingChange(writes=(f"delete Node {name}",), perform=perform)

    return WalkStage(id=f"{machine.name}:node", name=f"delete the node {machine.name}", look=look)


async def _report(machine: Machine, world: World) -> MachineReport:
    return await machine_survey.look_at(machine, await cluster_access.ensure(world))
