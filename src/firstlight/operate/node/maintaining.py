"""A machine maintained: drained, rebooted, waited for and given back; or left drained for work on its hardware."""

import dataclasses

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys, quorum
from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import draining as gate
from firstlight.gates import machines as machine_gate
from firstlight.gates import node_marks
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.draining import Concern, Drain, Foreseen, Weight
from firstlight.model.machine_report import Standing
from firstlight.model.verdict import Verdict
from firstlight.observe import machines as observed
from firstlight.operate.node import coming_back, draining, nodes, settling, storage
from firstlight.operate.node.coming_back import TIMEOUT, Expected

COMMAND = "node maintain"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked for."""

    drain: Drain = dataclasses.field(default_factory=Drain)
    is_storage_accepted: bool = False
    """Whether the last healthy copy of something may be away meanwhile."""
    is_rebooted: bool = True
    """False: it is left drained, and given back by a second run."""
    is_done: bool = False
    """Whether this is the second run."""
    timeout: float = TIMEOUT
    """Seconds for the machine to come back."""


def stages(machine: Machine, asked: Asked) -> tuple[Stage, ...]:
    """The stages, in their order."""
    name = machine.name
    back = (draining.uncordon(machine), settling.stage(machine))
    if asked.is_done:
        return (coming_back.stage(machine, expected=Expected(), timeout=asked.timeout), *back)
    begin = (
        Stage(id=f"{name}:check", name=f"check {name}", look=_Check(machine, asked).look),
        draining.cordon(machine, command=COMMAND),
        draining.drain(machine, asked.drain),
    )
    return (*begin, reboot(machine, asked), *back) if asked.is_rebooted else begin


async def foresee(machine: Machine, world: World, asked: Asked) -> Foreseen:
    """What maintaining a machine would mean; nothing is written."""
    node = await nodes.of(machine, world)
    name = str(node["metadata"]["name"])
    etcd: Verdict | None = None
    if machine.role is MachineRole.CONTROL_PLANE:
        way = await cluster_keys.ensure(world)
        etcd = await quorum.judge(machine, quorum.control_planes(world, [machine]), way)
    mark = node_marks.of(node)
    return Foreseen(
        machine=machine.name, node=name, pods=gate.fates(await nodes.pods(name, world), asked.drain),
        concerns=await storage.concerns(name, world), etcd=etcd,
        is_cordoned=node_marks.is_cordoned(node), begun=mark.command if mark is not None else "",
    )  # fmt: skip


class _Check:
    """Everything that speaks against it, before anything is written; one question about all of it."""

    def __init__(self, machine: Machine, asked: Asked) -> None:
        self._machine = machine
        self._asked = asked
        self._is_agreed = False

    async def look(self, world: World) -> Change | None:
        """What a person must agree to; nothing where a run that was killed has asked it already."""
        machine, asked = self._machine, self._asked
        node = await nodes.of(machine, world)
        if self._is_agreed or node_marks.of(node) is not None:
            return None
        name = str(node["metadata"]["name"])
        draining.refuse_losses(machine, gate.fates(await nodes.pods(name, world), asked.drain))
        concerns = await storage.concerns(name, world)
        refuse_storage(machine, concerns, asked)
        step = f"{machine.name}:check"
        for each in concerns:
            if each.weight is Weight.TELL:
                world.tell(step, each.text)
        etcd = await _etcd_meanwhile(machine, world, step)
        heavy = [each.text for each in concerns if each.weight is not Weight.TELL]
        if not asked.is_rebooted and not heavy:
            return None
        what = "is drained and reboots" if asked.is_rebooted else "is drained"

        async def agree() -> None:
            self._is_agreed = True

        danger = "; ".join(each for each in (f"{machine.name} {what}", etcd, *heavy) if each)
        return Change(writes=(), perform=agree, danger=danger)


def refuse_storage(machine: Machine, concerns: tuple[Concern, ...], asked: Asked) -> None:
    """The last healthy copy of something goes nowhere, unless that was asked for.

    Raises:
        errors.Refused: It would.
    """
    last = [each.text for each in concerns if each.weight is Weight.REFUSE]
    if last and not asked.is_storage_accepted:
        raise errors.Refused(
            f"{machine.name} must not go now: {'; '.join(last)}",
            hint="Let the copies become healthy first; or go on all the same: --accept-storage",
        )


def reboot(machine: Machine, asked: Asked) -> Stage:
    """The machine reboots, once, and is waited for until it is well again."""
    id = f"{machine.name}:reboot"

    async def look(world: World) -> Change | None:
        node = await nodes.of(machine, world)
        mark = node_marks.of(node)
        if mark is None:
            raise errors.Refused(f"somebody has taken the mark from {machine.name} meanwhile", hint="Run again.")
        way = await cluster_keys.ensure(world)
        report = await observed.look_at(machine, way)
        if report.standing is not Standing.OURS or report.stage != "running":
            world.tell(id, f"{machine.name} {machine_gate.state_of(report)}: it is waited for")
            return None
        if await way.admin.boot_id(way.at(machine)) != mark.boot:
            return None
        refuse_storage(machine, await storage.concerns(str(node["metadata"]["name"]), world), asked)
        await _etcd_meanwhile(machine, world, id)

        async def perform() -> None:
            try:
                await way.admin.reboot(way.at(machine), wait=False)
            except talosctl.NotReadyYet as error:
                world.tell(id, f"{machine.name}: {error.detail}")  # it is at it already

        return Change(writes=(f"reboot {machine.name}",), perform=perform)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        expected = Expected(is_rebooted=True)
        return await coming_back.wait(machine, world, on_verdict, expected=expected, timeout=asked.timeout)

    return Stage(id=id, name=f"reboot {machine.name}", look=look, wait=wait)


async def _etcd_meanwhile(machine: Machine, world: World, step: str) -> str:
    """What becomes of etcd while a control plane is away.

    Raises:
        errors.Refused: It would lose its quorum.
    """
    if machine.role is not MachineRole.CONTROL_PLANE:
        return ""
    way = await cluster_keys.ensure(world)
    return await quorum.require(
        machine, quorum.control_planes(world, [machine]), way, patience=world.patience,
        tell=lambda text: world.tell(step, text),
    )  # fmt: skip
