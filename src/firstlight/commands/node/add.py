"""``firstlight node add``: a machine that the repo declares joins its cluster."""

import asyncio
import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import which_cluster, which_repo
from firstlight.cli.follow_run import follow_walk
from firstlight.cli.output import Form
from firstlight.commands.node import departure, machine_lookup, machine_ready, upgrade_survey
from firstlight.document.within import mapping, text
from firstlight.execute import cluster_access, config_contract, gate_wait, live_cluster, machine_configs
from firstlight.execute.actions import configure
from firstlight.execute.gate_wait import POLL
from firstlight.execute.means import Means
from firstlight.execute.walk import OnVerdict, Walk, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd, machine_stage
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_config import MachineDraft
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Configure
from firstlight.observe import machine_survey
from firstlight.repo.declaration import declaration_form
from firstlight.repo.talos import talhelper


def add(machine: str, *, cluster: str, pin: str, dry_run: bool, timeout: float, root: Path | None, form: Form) -> int:
    """Add a machine to a cluster that lives. It is declared in the repo, and waits in maintenance mode."""
    platform = which_repo.platform(root)
    one, found = _declared(platform, machine, cluster)

    async def run() -> int:
        pins = {machine: pin} if pin else {}
        means = await cli_means.user_means(platform, fingerprints=pins, keep=False)
        try:
            return await _added(platform, one, found, means, is_dry_run=dry_run, timeout=timeout, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


def _declared(platform: Platform, name: str, cluster: str) -> tuple[Cluster, Machine]:
    if not any(each.name == name for one in platform.clusters for each in one.machines):
        one = which_cluster.cluster_of(platform, cluster)
        machine_lookup.refuse_omni(one)
        raise errors.UsageError(f"the repo declares no machine {name[:63]!r}", hint=how_to_declare(one, name))
    return machine_lookup.machine_of(platform, name, cluster=cluster)


async def _added(
    platform: Platform, cluster: Cluster, machine: Machine, means: Means, *, is_dry_run: bool, timeout: float,
    form: Form,
) -> int:  # fmt: skip
    walk = Walk(
        cluster=cluster, command=COMMAND, again=f"{machine.name} --cluster {cluster.name}",
        stages=add_stages(platform, cluster, machine, timeout=timeout), is_dry_run=is_dry_run,
    )  # fmt: skip
    await check_joinable(machine, cluster, means)
    async with live_cluster.reached(cluster, means) as world:
        return (await follow_walk(walk, world, means, yes=True, form=form)).exit_code


# A machine added to a cluster that lives: configured as the others are, never bootstrapped, waited for, verified.
#
# It gets the steady rendition of its config: a manifest that was released to Git does not come back with a new machine.


COMMAND = "node add"
LABELLED = 60.0
"""Seconds for Talos to put the declared labels on a node that is there."""


def add_stages(
    platform: Platform, cluster: Cluster, machine: Machine, *, timeout: float = machine_ready.TIMEOUT
) -> tuple[WalkStage, ...]:
    """The stages, in their order.

    Raises:
        errors.Refused: The repo's machines are not understood.
    """
    drafts = upgrade_survey.drafts(platform, cluster)
    return (
        _configure(machine, drafts),
        machine_ready.ready_stage(machine, expected=machine_ready.ExpectedMachine(), timeout=timeout),
        _labels(machine, drafts[machine.name]),
        machine_ready.settled_stage(machine),
    )


def how_to_declare(cluster: Cluster, name: str) -> str:
    """What to write, and where, so that a machine is declared."""
    path = cluster.machines[0].place.path if cluster.machines else declaration_form.FILE
    if talhelper.is_talconfig(path):
        return f"Write it into {path}: nodes: - {{hostname: {name}, ipAddress: 10.0.0.9, controlPlane: false, …}}"
    if path != declaration_form.FILE:
        return f"Put its config or patch beside {path}, named after it, with its address; see docs/machines.md."
    line = f"- {{name: {name}, address: 10.0.0.9, role: worker, disk: /dev/sda}}"
    return f"Write it into {path}: clusters.{cluster.name}.machines: {line}"


def _configure(machine: Machine, drafts: Mapping[str, MachineDraft]) -> WalkStage:
    id = f"{machine.name}:configure"

    async def look(world: World) -> PendingChange | None:
        await _refuse_unborn(machine, world)
        report = await _answered(machine, world)
        if report.standing is MachineStanding.OURS:
            if report.stage == "running":
                world.tell(id, f"{machine.name} has its config already; whether it is the repo's: firstlight node list")
            return None
        await _refuse_remains(machine, world)
        mine = await _as_the_others(await config_contract.settled_here(drafts[machine.name], world), world)
        planes = [each for each in drafts.values() if each.machine.role is MachineRole.CONTROL_PLANE]
        others = [each for each in planes if each.machine.name != machine.name]
        return await configure.look(Configure(drafts=(*others, mine)), world, id, only=(machine.name,))

    return WalkStage(id=id, name=f"configure {machine.name}", look=look)


async def check_joinable(machine: Machine, cluster: Cluster, means: Means) -> None:
    """See that there is a cluster to join, before its API is asked for anything.

    Raises:
        errors.Refused: It was never bootstrapped.
    """
    world = World(
        cluster=cluster, programs=means.programs, resolve=means.masks.remembering(means.resolve), state=means.state,
        reach=means.reach, talos_secrets=lambda: means.talos_secrets(cluster),
    )  # fmt: skip
    await _refuse_unborn(machine, world)


async def _refuse_unborn(machine: Machine, world: World) -> None:
    """A cluster that was never bootstrapped has nothing that a machine could join."""
    way = await cluster_access.ensure(world)
    planes = [each for each in gate_wait.control_planes(world) if each.name != machine.name]
    reports = await machine_survey.look_at_all(planes, way, with_etcd=True)
    refuse_unborn(world.cluster, etcd.history(reports) if reports else etcd.Virgin())


def refuse_unborn(cluster: Cluster, history: etcd.History) -> None:
    """Nothing joins but what was bootstrapped, and is known to be.

    Raises:
        errors.Refused: It never was, or nobody can tell.
    """
    match history:
        case etcd.Bootstrapped():
            return
        case etcd.Virgin():
            raise errors.Refused(
                f"{cluster.name} was never bootstrapped, as its control planes say: there is nothing to join",
                hint=f"A whole cluster is brought up with firstlight up {cluster.name}",
            )
        case etcd.Doubtful(reason) | etcd.SplitBrain(reason):
            raise errors.Refused(
                f"whether {cluster.name} can be joined is not known: {reason}",
                hint=f"Bring its control planes back first; what is wrong: firstlight doctor {cluster.name}",
            )
        case _:
            assert_never(history)


async def _refuse_remains(machine: Machine, world: World) -> None:
    """A machine that was wiped without leaving is still a member of etcd, and could not become one again."""
    if machine.role is not MachineRole.CONTROL_PLANE:
        return
    way = await cluster_access.ensure(world)
    planes = [each for each in gate_wait.control_planes(world) if each.name != machine.name]
    reports = await machine_survey.look_at_all(planes, way, with_etcd=True)
    if members := await departure.members_of(machine, reports, way):
        raise errors.Refused(
            f"etcd still has a member of {machine.name} ({', '.join(members)}), from before it was wiped",
            hint=f"Take it out first: firstlight node remove {machine.name}",
        )


async def _answered(machine: Machine, world: World) -> MachineReport:
    """The machine, once it answers.

    Raises:
        errors.Refused: It does not.
    """
    way = await cluster_access.ensure(world)
    deadline = time.monotonic() + world.patience
    while True:
        report = await machine_survey.look_at(machine, way)
        if report.standing is not MachineStanding.ABSENT:
            return report
        if time.monotonic() >= deadline:
            raise errors.Refused(
                f"{machine.name} {machine_stage.state_of(report)} at {machine.address}",
                hint="Boot it from Talos's medium into maintenance mode, and look whether its address is right.",
            )
        await asyncio.sleep(POLL)


async def _as_the_others(draft: MachineDraft, world: World) -> MachineDraft:
    """Of manifests that are listed by URL it gets those that the others have: what is missing there was released."""
    held = machine_configs.manifests(await machine_configs.make(draft, world))
    return dataclasses.replace(draft, passing=draft.passing.union(held.all_urls))


def _labels(machine: Machine, draft: MachineDraft) -> WalkStage:
    """Talos itself labels the node, from the config; that is waited for."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        wanted = await _declared_labels(await config_contract.settled_here(draft, world), world)
        deadline = time.monotonic() + LABELLED
        last: Verdict | None = None
        while True:
            verdict = _labelled(await machine_lookup.require_node(machine, world), wanted)
            if verdict != last:
                last = verdict
                on_verdict(verdict)
            if isinstance(verdict, Passed) or time.monotonic() >= deadline:
                return verdict, "" if isinstance(verdict, Passed) else "See: talosctl get nodelabelspecs"
            await asyncio.sleep(POLL)

    return WalkStage(id=f"{machine.name}:labels", name=f"labels of {machine.name}", wait=wait)


async def _declared_labels(draft: MachineDraft, world: World) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in machine_configs.documents(await machine_configs.make(draft, world)):
        is_apart = each.get("kind") == "KubeNodeConfig"
        labels = mapping(each, "labels") if is_apart else mapping(each, "machine", "nodeLabels")
        found |= {str(key): str(value) for key, value in labels.items()}
    return found


def _labelled(node: Mapping[str, Any], wanted: Mapping[str, str]) -> Verdict:
    labels = mapping(node, "metadata", "labels")
    missing = [f"{key}={value}" for key, value in wanted.items() if text(labels, key) != value]
    if missing:
        return Waiting(f"the node lacks {', '.join(missing)}")
    return Passed(f"labelled {', '.join(f'{key}={value}' for key, value in wanted.items())}" if wanted else "")
