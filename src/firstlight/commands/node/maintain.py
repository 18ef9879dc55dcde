"""``firstlight node maintain``: a machine drained, rebooted, waited for and given back."""

import asyncio
import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, which_repo
from firstlight.cli.follow_run import follow_walk
from firstlight.cli.output import Form
from firstlight.clients import talosctl
from firstlight.commands.node import cordon_drain, drain_rules, machine_lookup, machine_ready, node_storage
from firstlight.commands.node import text as node_text
from firstlight.commands.node.drain_rules import DrainOptions, MaintenanceForecast
from firstlight.commands.node.machine_ready import TIMEOUT, ExpectedMachine
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute import cluster_access, gate_wait, live_cluster
from firstlight.execute.means import Means
from firstlight.execute.walk import OnVerdict, Walk, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import machine_stage
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.machine_report import MachineStanding
from firstlight.model.verdict import Verdict
from firstlight.observe import machine_survey


def maintain(
    machine: str, *, cluster: str, no_reboot: bool, done: bool, dry_run: bool, scratch: bool, force: bool,
    accept_storage: bool, drain_timeout: float, timeout: float, yes: bool, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Drain a machine, reboot it, wait until it is well, and give it back."""
    if done and (no_reboot or dry_run):
        raise errors.UsageError("--done ends it", hint="Give it without --no-reboot and --dry-run.")
    platform = which_repo.platform(root)
    one, found = machine_lookup.machine_of(platform, machine, cluster=cluster)
    asked = NodeMaintainOptions(
        drain=DrainOptions(may_lose_scratch=scratch, is_forced=force, patience=drain_timeout),
        is_storage_accepted=accept_storage, is_rebooted=not no_reboot, is_done=done, timeout=timeout,
    )  # fmt: skip

    async def run() -> int:
        means = await cli_means.user_means(platform, keep=False)
        try:
            if dry_run:
                return await _foreseen(one, found, asked, means, form=form)
            return await _maintained(one, found, asked, means, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


async def _maintained(
    cluster: Cluster, machine: Machine, asked: "NodeMaintainOptions", means: Means, *, yes: bool, form: Form
) -> int:
    again = f"{machine.name} --cluster {cluster.name}{_again(asked)}"
    stages = maintain_stages(machine, asked)
    walk = Walk(cluster=cluster, command=COMMAND, again=again, stages=stages)
    async with live_cluster.reached(cluster, means) as world:
        result = await follow_walk(walk, world, means, yes=yes, form=form)
    if form == "text" and result.is_complete and not asked.is_rebooted:
        print(f"  next     when the work is done: firstlight node maintain {machine.name} --done")
    return result.exit_code


def _again(asked: "NodeMaintainOptions") -> str:
    chosen = {
        " --no-reboot": not asked.is_rebooted,
        " --done": asked.is_done,
        " --delete-emptydir-data": asked.drain.may_lose_scratch,
        " --force": asked.drain.is_forced,
        " --accept-storage": asked.is_storage_accepted,
    }
    return "".join(option for option, is_given in chosen.items() if is_given)


async def _foreseen(
    cluster: Cluster, machine: Machine, asked: "NodeMaintainOptions", means: Means, *, form: str
) -> int:
    async with live_cluster.reached(cluster, means) as world:
        found = await foresee(machine, world, asked)
    output.answer(
        form, node_text.maintenance_text(found, columns=table.terminal_columns()), node_text.maintenance_data(found)
    )
    return (
        ExitCode.BLOCKED
        if node_text.is_maintenance_refused(found, is_storage_accepted=asked.is_storage_accepted)
        else 0
    )


# A machine maintained: drained, rebooted, waited for and given back; or left drained for work on its hardware.


COMMAND = "node maintain"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeMaintainOptions:
    """What was asked for."""

    drain: DrainOptions = dataclasses.field(default_factory=DrainOptions)
    is_storage_accepted: bool = False
    """Whether the last healthy copy of something may be away meanwhile."""
    is_rebooted: bool = True
    """False: it is left drained, and given back by a second run."""
    is_done: bool = False
    """Whether this is the second run."""
    timeout: float = TIMEOUT
    """Seconds for the machine to come back."""


def maintain_stages(machine: Machine, asked: NodeMaintainOptions) -> tuple[WalkStage, ...]:
    """The stages, in their order."""
    name = machine.name
    back = (cordon_drain.uncordon(machine), machine_ready.settled_stage(machine))
    if asked.is_done:
        return (machine_ready.ready_stage(machine, expected=ExpectedMachine(), timeout=asked.timeout), *back)
    begin = (
        WalkStage(id=f"{name}:check", name=f"check {name}", look=_Check(machine, asked).look),
        cordon_drain.cordon(machine, command=COMMAND),
        cordon_drain.drain(machine, asked.drain),
    )
    return (*begin, reboot_stage(machine, asked), *back) if asked.is_rebooted else begin


async def foresee(machine: Machine, world: World, asked: NodeMaintainOptions) -> MaintenanceForecast:
    """What maintaining a machine would mean; nothing is written."""
    node = await machine_lookup.require_node(machine, world)
    name = str(node["metadata"]["name"])
    etcd: Verdict | None = None
    if machine.role is MachineRole.CONTROL_PLANE:
        way = await cluster_access.ensure(world)
        etcd = await gate_wait.judge_quorum(machine, gate_wait.control_planes(world, [machine]), way)
    mark = drain_rules.mark_of(node)
    return MaintenanceForecast(
        machine=machine.name, node=name, pods=drain_rules.fates(await machine_lookup.pods_on(name, world), asked.drain),
        concerns=await node_storage.storage_concerns(name, world), etcd=etcd,
        is_cordoned=drain_rules.is_cordoned(node), begun=mark.command if mark is not None else "",
    )  # fmt: skip


class _Check:
    """Everything that speaks against it, before anything is written; one question about all of it."""

    def __init__(self, machine: Machine, asked: NodeMaintainOptions) -> None:
        self._machine = machine
        self._asked = asked
        self._is_agreed = False

    async def look(self, world: World) -> PendingChange | None:
        """What a person must agree to; nothing where a run that was killed has asked it already."""
        machine, asked = self._machine, self._asked
        node = await machine_lookup.require_node(machine, world)
        if self._is_agreed or drain_rules.mark_of(node) is not None:
            return None
        name = str(node["metadata"]["name"])
        cordon_drain.refuse_losses(machine, drain_rules.fates(await machine_lookup.pods_on(name, world), asked.drain))
        concerns = await node_storage.storage_concerns(name, world)
        refuse_storage(machine, concerns, asked)
        step = f"{machine.name}:check"
        for each in concerns:
            if each.severity is Severity.NOTE:
                world.tell(step, each.message)
        etcd = await _etcd_meanwhile(machine, world, step)
        heavy = [each.message for each in concerns if each.severity is not Severity.NOTE]
        if not asked.is_rebooted and not heavy:
            return None
        what = "is drained and reboots" if asked.is_rebooted else "is drained"

        async def agree() -> None:
            self._is_agreed = True

        danger = "; ".join(each for each in (f"{machine.name} {what}", etcd, *heavy) if each)
        return PendingChange(writes=(), perform=agree, danger=danger)


def refuse_storage(machine: Machine, concerns: tuple[Diagnostic, ...], asked: NodeMaintainOptions) -> None:
    """The last healthy copy of something goes nowhere, unless that was asked for.

    Raises:
        errors.Refused: It would.
    """
    last = [each.message for each in concerns if each.severity is Severity.ERROR]
    if last and not asked.is_storage_accepted:
        raise errors.Refused(
            f"{machine.name} must not go now: {'; '.join(last)}",
            hint="Let the copies become healthy first; or go on all the same: --accept-storage",
        )


def reboot_stage(machine: Machine, asked: NodeMaintainOptions) -> WalkStage:
    """The machine reboots, once, and is waited for until it is well again."""
    id = f"{machine.name}:reboot"

    async def look(world: World) -> PendingChange | None:
        node = await machine_lookup.require_node(machine, world)
        mark = drain_rules.mark_of(node)
        if mark is None:
            raise errors.Refused(f"somebody has taken the mark from {machine.name} meanwhile", hint="Run again.")
        way = await cluster_access.ensure(world)
        report = await machine_survey.look_at(machine, way)
        if report.standing is not MachineStanding.OURS or report.stage != "running":
            world.tell(id, f"{machine.name} {machine_stage.state_of(report)}: it is waited for")
            return None
        if await way.admin.boot_id(way.at(machine)) != mark.boot:
            return None
        refuse_storage(machine, await node_storage.storage_concerns(str(node["metadata"]["name"]), world), asked)
        await _etcd_meanwhile(machine, world, id)

        async def perform() -> None:
            try:
                await way.admin.reboot(way.at(machine), wait=False)
            except talosctl.TalosNotReady as error:
                world.tell(id, f"{machine.name}: {error.detail}")  # it is at it already

        return PendingChange(writes=(f"reboot {machine.name}",), perform=perform)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        expected = ExpectedMachine(is_rebooted=True)
        return await machine_ready.wait_ready(machine, world, on_verdict, expected=expected, timeout=asked.timeout)

    return WalkStage(id=id, name=f"reboot {machine.name}", look=look, wait=wait)


async def _etcd_meanwhile(machine: Machine, world: World, step: str) -> str:
    """What becomes of etcd while a control plane is away.

    Raises:
        errors.Refused: It would lose its quorum.
    """
    if machine.role is not MachineRole.CONTROL_PLANE:
        return ""
    way = await cluster_access.ensure(world)
    return await gate_wait.require_quorum(
        machine, gate_wait.control_planes(world, [machine]), way, patience=world.patience,
        tell=lambda text: world.tell(step, text),
    )  # fmt: skip
