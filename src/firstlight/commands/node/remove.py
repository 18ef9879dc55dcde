"""A machine leaves its cluster: drained, wiped, its member of etcd and its node gone; killed anywhere, it goes on.

``reset`` is for a machine that comes back bare, ``remove`` for one that does not come back and need not answer. What
would go is shown and the name is typed first.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import follow_run, output, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.cli.output import Form
from firstlight.clients import kube
from firstlight.clients.talosctl.power_commands import WipeMode
from firstlight.commands.node import cordon_drain, departure, machine_lookup, text
from firstlight.commands.node.departure import Departure, Wipe
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.errors import ExitCode
from firstlight.execute import cluster_access, gate_wait, live_cluster
from firstlight.execute.gate_wait import POLL
from firstlight.execute.means import Means
from firstlight.execute.walk import OnVerdict, Walk, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import machine_stage
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.observe import machine_survey


def run_departure(
    platform: Platform, cluster: Cluster, find: Callable[[World], Awaitable[Machine]], wishes: NodeRemovalOptions, *,
    is_dry_run: bool, yes: bool, form: Form,
) -> int:  # fmt: skip
    """Let a machine leave; the exit code.

    Args:
        platform: The repo.
        cluster: The machine's.
        find: The machine, once the cluster is reached.
        wishes: What was asked for.
        is_dry_run: Only say what would go.
        yes: Do not ask.
        form: Text or JSON.

    Raises:
        errors.Refused: It was not confirmed.
    """

    async def done() -> int:
        means = await cli_means.user_means(platform, keep=False)
        try:
            async with live_cluster.reached(cluster, means) as world:
                found = await find(world)
                return await _departed(found, world, means, wishes, is_dry_run=is_dry_run, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(done())


async def _departed(
    machine: Machine, world: World, means: Means, wishes: NodeRemovalOptions, *, is_dry_run: bool, yes: bool, form: Form
) -> int:
    found = await departure.survey_departure(machine, world, is_storage_accepted=wishes.is_storage_accepted)
    found = checked(found, wishes)
    _show(found, wishes, form, is_answer=is_dry_run or bool(found.refusals))
    if found.refusals:
        print("nothing was written", file=sys.stderr)
        return ExitCode.BLOCKED
    if is_dry_run:
        return 0
    _confirmed(machine.name, yes=yes)
    walk = Walk(
        cluster=world.cluster, command=wishes.command, stages=stages(machine, wishes),
        again=f"{machine.name} --cluster {world.cluster.name}{same_options(wishes)}",
    )  # fmt: skip
    result = await follow_run.follow_walk(walk, world, means, yes=yes, form=form)
    if form == "text" and result.is_complete and not wishes.is_answer_needed:
        print("\n".join(text.still_declared_text(found)))
    return result.exit_code


def same_options(wishes: NodeRemovalOptions) -> str:
    """The options with which it means the same when it is run again."""
    chosen = {
        f" --wipe {wishes.wipe}": wishes.wipe != "partitions",
        " --delete-emptydir-data": wishes.drain.may_lose_scratch,
        " --force": wishes.drain.is_forced,
        " --accept-storage": wishes.is_storage_accepted,
    }
    return "".join(option for option, is_given in chosen.items() if is_given)


def _show(found: Departure, wishes: NodeRemovalOptions, form: Form, *, is_answer: bool) -> None:
    shown = text.departure_text(found, wipe=wishes.wipe)
    if is_answer:
        output.answer(form, shown, text.departure_data(found))
    elif form == "text":
        print(shown, flush=True)


def _confirmed(name: str, *, yes: bool) -> None:
    if yes:
        return
    given = ""
    if sys.stdin.isatty():
        asked = f"Type the name of the machine to let {name} go"
        given = click.prompt(asked, default="", show_default=False, err=True)
    if given != name:
        raise errors.Refused("not confirmed: nothing was wiped", hint="Type the name, or give --yes.")


# ``firstlight node remove``: a machine is gone from its cluster, whether it answers or not.


def remove(
    machine: str, *, cluster: str, wipe: Wipe, dry_run: bool, yes: bool, scratch: bool, force: bool, accept_storage:
    bool, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Take a machine out of its cluster: wiped if it answers, its member of etcd and its node gone."""
    platform = which_repo.platform(root)
    is_declared = any(each.name == machine for one in platform.clusters for each in one.machines)
    if is_declared:
        one, _ = machine_lookup.machine_of(platform, machine, cluster=cluster)
    else:
        one = which_cluster.cluster_of(platform, cluster)
        machine_lookup.refuse_omni(one)
    wishes = NodeRemovalOptions(
        command="node remove", wipe=wipe, timeout=timeout, is_storage_accepted=accept_storage,
        drain=DrainOptions(may_lose_scratch=scratch, is_forced=force),
    )  # fmt: skip

    async def find(world: World) -> Machine:
        """As it is declared, else as its node or its member of etcd tells."""
        declared = next((each for each in one.machines if each.name == machine), None)
        return declared if declared is not None else await departure.undeclared_machine(machine, world)

    return run_departure(platform, one, find, wishes, is_dry_run=dry_run, yes=yes, form=form)


# ``firstlight node reset``: a machine leaves its cluster and boots into maintenance mode, bare.


def reset(
    machine: str, *, cluster: str, wipe: Wipe, dry_run: bool, yes: bool, scratch: bool, force: bool, accept_storage:
    bool, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Let a machine leave its cluster, wipe it, and boot it into maintenance mode. What is on it is lost."""
    platform = which_repo.platform(root)
    one, found = machine_lookup.machine_of(platform, machine, cluster=cluster)
    wishes = NodeRemovalOptions(
        command="node reset", wipe=wipe, timeout=timeout, is_storage_accepted=accept_storage,
        drain=DrainOptions(may_lose_scratch=scratch, is_forced=force),
    )  # fmt: skip

    async def find(world: World) -> Machine:
        return found

    return run_departure(platform, one, find, wishes, is_dry_run=dry_run, yes=yes, form=form)


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
        _while_there(cordon_drain.cordon(machine, command=wishes.command), machine),
        _while_there(cordon_drain.drain(machine, wishes.drain), machine),
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
