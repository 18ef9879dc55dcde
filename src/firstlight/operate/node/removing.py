"""A machine leaves its cluster: drained, wiped, its member of etcd and its node gone; killed anywhere, it goes on.

``reset`` is for a machine that comes back bare, ``remove`` for one that does not come back, and need not answer either.
"""

import asyncio
import dataclasses
import time

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.talosctl.power import WipeMode
from firstlight.execute import cluster_keys, quorum
from firstlight.execute.change import Change
from firstlight.execute.machine_gates import POLL
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import machines as machine_gate
from firstlight.model.cluster import Machine
from firstlight.model.draining import Drain
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.node_departure import Departure, Wipe
from firstlight.model.node_upgrade import Refusal
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.observe import machines as observed
from firstlight.operate.node import draining, removing_survey
from firstlight.policy.upgrading import leaving

TIMEOUT = 900.0
"""Seconds for a machine to be wiped and to boot again."""
LABELS = ("STATE", "EPHEMERAL")
"""Config and data; the installed system stays, and boots into maintenance mode."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wishes:
    """What was asked for."""

    command: str
    """``node reset`` or ``node remove``."""
    wipe: Wipe = "partitions"
    drain: Drain = dataclasses.field(default_factory=Drain)
    is_storage_accepted: bool = False
    timeout: float = TIMEOUT

    @property
    def is_answer_needed(self) -> bool:
        """Whether a machine that does not answer is waited for."""
        return self.command == "node reset"


def checked(found: Departure, wishes: Wishes) -> Departure:
    """What was found, with what else speaks against the wish."""
    if not wishes.is_answer_needed or found.report.standing is not Standing.ABSENT:
        return found
    name = found.report.machine.name
    silent = Refusal(
        f"{name} does not answer ({found.report.why}): it cannot be wiped",
        f"Switch it on; or, where it is gone for good: firstlight node remove {name}",
    )
    return dataclasses.replace(found, refusals=(*found.refusals, silent))


def stages(machine: Machine, wishes: Wishes) -> tuple[Stage, ...]:
    """The stages, in their order."""
    return (
        _while_there(draining.cordon(machine, command=wishes.command), machine),
        _while_there(draining.drain(machine, wishes.drain), machine),
        _wipe(machine, wishes),
        _member(machine),
        _node(machine),
    )


def _while_there(stage: Stage, machine: Machine) -> Stage:
    """Only a machine that runs is drained: the pods of one that is off, or bare, do not end."""

    async def look(world: World) -> Change | None:
        is_there = (await _report(machine, world)).standing is Standing.OURS
        return await stage.look(world) if is_there and await removing_survey.node_of(machine, world) else None

    return dataclasses.replace(stage, look=look)


def _wipe(machine: Machine, wishes: Wishes) -> Stage:
    id = f"{machine.name}:wipe"
    told: list[str] = []

    async def look(world: World) -> Change | None:
        report = await _report(machine, world)
        if report.standing is not Standing.OURS:
            return None
        seen = await removing_survey.survey(machine, world, is_storage_accepted=wishes.is_storage_accepted)
        if seen.refusals:
            first = seen.refusals[0]
            raise errors.Refused(f"{machine.name} is not wiped: {first.message}", hint=first.hint)
        way = await cluster_keys.ensure(world)
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
        return Change(writes=(f"wipe {machine.name}: {what[wishes.wipe]}",), perform=perform)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await _bare(machine, world, on_verdict, wishes=wishes, is_told=bool(told))

    return Stage(id=id, name=f"wipe {machine.name}", look=look, wait=wait)


async def _bare(
    machine: Machine, world: World, on_verdict: OnVerdict, *, wishes: Wishes, is_told: bool
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


def _judged(report: MachineReport, wishes: Wishes, *, is_told: bool) -> Verdict:
    name = report.machine.name
    match report.standing:
        case Standing.MAINTENANCE:
            return Passed(f"{name} is bare, in maintenance mode")
        case Standing.FOREIGN:
            return Failed(f"{name}: {report.why}")
        case Standing.ABSENT if wishes.wipe != "partitions":
            return Passed(f"{name} is wiped, and boots from whatever it finds")
        case Standing.ABSENT if not wishes.is_answer_needed and not is_told:
            return Passed(f"{name} does not answer")
        case _:
            return Waiting(f"{name} {machine_gate.state_of(report)}")


def _member(machine: Machine) -> Stage:
    id = f"{machine.name}:member"

    async def look(world: World) -> Change | None:
        way = await cluster_keys.ensure(world)
        planes = quorum.control_planes(world, [machine])
        reports = await observed.look_at_all(planes, way, with_etcd=True)
        members = await removing_survey.members_of(machine, reports, way)
        if not members:
            return None
        seen = leaving.of(reports, machine.name, own=members[0])
        if refusals := leaving.refusals(machine, seen, reports):
            message = f"{machine.name} is not taken out of etcd: {refusals[0].message}"
            raise errors.Refused(message, hint=refusals[0].hint)
        others = [each for each in reports if each.machine.name != machine.name and each.standing is Standing.OURS]
        if not others:
            raise errors.Unreachable("no other control plane answers", target=machine.name)
        through = others[0].machine

        async def perform() -> None:
            for each in members:
                await way.admin.etcd_remove_member(way.at(through), each)
                world.tell(id, f"member {each} of {machine.name} is out of etcd")

        return Change(writes=tuple(f"remove member {each} from etcd" for each in members), perform=perform)

    return Stage(id=id, name=f"etcd without {machine.name}", look=look)


def _node(machine: Machine) -> Stage:
    async def look(world: World) -> Change | None:
        name = await removing_survey.node_of(machine, world)
        if not name:
            return None

        async def perform() -> None:
            try:
                await world.kube.delete("v1", "Node", name)
            except kube.NotFound:
                return

        return Change(writes=(f"delete Node {name}",), perform=perform)

    return Stage(id=f"{machine.name}:node", name=f"delete the node {machine.name}", look=look)


async def _report(machine: Machine, world: World) -> MachineReport:
    return await observed.look_at(machine, await cluster_keys.ensure(world))
