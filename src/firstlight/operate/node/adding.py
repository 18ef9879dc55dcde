"""A machine added to a cluster that lives: configured as the others are, never bootstrapped, waited for, verified.

It gets the steady rendition of its config: a manifest that was released to Git does not come back with a new machine.
"""

import asyncio
import dataclasses
import time
from collections.abc import Mapping
from typing import Any, assert_never

from firstlight import errors
from firstlight.document.within import mapping, text
from firstlight.execute import cluster_keys, machine_configs, quorum
from firstlight.execute.actions import configure
from firstlight.execute.change import Change
from firstlight.execute.machine_gates import POLL
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import etcd as etcd_gate
from firstlight.gates import machines as machine_gate
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_draft import MachineDraft
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.platform import Platform
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Configure
from firstlight.observe import machines as observed
from firstlight.operate.means import Means
from firstlight.operate.node import coming_back, nodes, removing_survey, settling, upgrading_survey
from firstlight.repo.declaration import form
from firstlight.repo.talos import talhelper

COMMAND = "node add"
LABELLED = 60.0
"""Seconds for Talos to put the declared labels on a node that is there."""


def stages(
    platform: Platform, cluster: Cluster, machine: Machine, *, timeout: float = coming_back.TIMEOUT
) -> tuple[Stage, ...]:
    """The stages, in their order.

    Raises:
        errors.Refused: The repo's machines are not understood.
    """
    drafts = upgrading_survey.drafts(platform, cluster)
    return (
        _configure(machine, drafts),
        coming_back.stage(machine, expected=coming_back.Expected(), timeout=timeout),
        _labels(machine, drafts[machine.name]),
        settling.stage(machine),
    )


def how_to_declare(cluster: Cluster, name: str) -> str:
    """What to write, and where, so that a machine is declared."""
    path = cluster.machines[0].place.path if cluster.machines else form.FILE
    if talhelper.is_talconfig(path):
        return f"Write it into {path}: nodes: - {{hostname: {name}, ipAddress: 10.0.0.9, controlPlane: false, …}}"
    if path != form.FILE:
        return f"Put its config or patch beside {path}, named after it, with its address; see docs/machines.md."
    line = f"- {{name: {name}, address: 10.0.0.9, role: worker, disk: /dev/sda}}"
    return f"Write it into {path}: clusters.{cluster.name}.machines: {line}"


def _configure(machine: Machine, drafts: Mapping[str, MachineDraft]) -> Stage:
    id = f"{machine.name}:configure"

    async def look(world: World) -> Change | None:
        await _refuse_unborn(machine, world)
        report = await _answered(machine, world)
        if report.standing is Standing.OURS:
            if report.stage == "running":
                world.tell(id, f"{machine.name} has its config already; whether it is the repo's: firstlight node list")
            return None
        await _refuse_remains(machine, world)
        mine = await _as_the_others(drafts[machine.name], world)
        planes = [each for each in drafts.values() if each.machine.role is MachineRole.CONTROL_PLANE]
        others = [each for each in planes if each.machine.name != machine.name]
        return await configure.look(Configure(drafts=(*others, mine)), world, id, only=(machine.name,))

    return Stage(id=id, name=f"configure {machine.name}", look=look)


async def check(machine: Machine, cluster: Cluster, means: Means) -> None:
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
    way = await cluster_keys.ensure(world)
    planes = [each for each in quorum.control_planes(world) if each.name != machine.name]
    reports = await observed.look_at_all(planes, way, with_etcd=True)
    refuse_unborn(world.cluster, etcd_gate.history(reports) if reports else etcd_gate.Virgin())


def refuse_unborn(cluster: Cluster, history: etcd_gate.History) -> None:
    """Nothing joins but what was bootstrapped, and is known to be.

    Raises:
        errors.Refused: It never was, or nobody can tell.
    """
    match history:
        case etcd_gate.Bootstrapped():
            return
        case etcd_gate.Virgin():
            raise errors.Refused(
                f"{cluster.name} was never bootstrapped, as its control planes say: there is nothing to join",
                hint=f"A whole cluster is brought up with firstlight up {cluster.name}",
            )
        case etcd_gate.Doubtful(reason) | etcd_gate.Split(reason):
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
    way = await cluster_keys.ensure(world)
    planes = [each for each in quorum.control_planes(world) if each.name != machine.name]
    reports = await observed.look_at_all(planes, way, with_etcd=True)
    if members := await removing_survey.members_of(machine, reports, way):
        raise errors.Refused(
            f"etcd still has a member of {machine.name} ({', '.join(members)}), from before it was wiped",
            hint=f"Take it out first: firstlight node remove {machine.name}",
        )


async def _answered(machine: Machine, world: World) -> MachineReport:
    """The machine, once it answers.

    Raises:
        errors.Refused: It does not.
    """
    way = await cluster_keys.ensure(world)
    deadline = time.monotonic() + world.patience
    while True:
        report = await observed.look_at(machine, way)
        if report.standing is not Standing.ABSENT:
            return report
        if time.monotonic() >= deadline:
            raise errors.Refused(
                f"{machine.name} {machine_gate.state_of(report)} at {machine.address}",
                hint="Boot it from Talos's medium into maintenance mode, and look whether its address is right.",
            )
        await asyncio.sleep(POLL)


async def _as_the_others(draft: MachineDraft, world: World) -> MachineDraft:
    """Of manifests that are listed by URL it gets those that the others have: what is missing there was released."""
    held = machine_configs.manifests(await machine_configs.make(draft, world))
    urls = frozenset(each for listed in held.urls.values() for each in listed)
    return dataclasses.replace(draft, passing=draft.passing | urls)


def _labels(machine: Machine, draft: MachineDraft) -> Stage:
    """Talos itself labels the node, from the config; that is waited for."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        wanted = await _declared_labels(draft, world)
        deadline = time.monotonic() + LABELLED
        last: Verdict | None = None
        while True:
            verdict = _labelled(await nodes.of(machine, world), wanted)
            if verdict != last:
                last = verdict
                on_verdict(verdict)
            if isinstance(verdict, Passed) or time.monotonic() >= deadline:
                return verdict, "" if isinstance(verdict, Passed) else "See: talosctl get nodelabelspecs"
            await asyncio.sleep(POLL)

    return Stage(id=f"{machine.name}:labels", name=f"labels of {machine.name}", wait=wait)


async def _declared_labels(draft: MachineDraft, world: World) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in machine_configs.documents(await machine_configs.make(draft, world)):
        found |= {str(key): str(value) for key, value in mapping(each, "machine", "nodeLabels").items()}
    return found


def _labelled(node: Mapping[str, Any], wanted: Mapping[str, str]) -> Verdict:
    labels = mapping(node, "metadata", "labels")
    missing = [f"{key}={value}" for key, value in wanted.items() if text(labels, key) != value]
    if missing:
        return Waiting(f"the node lacks {', '.join(missing)}")
    return Passed(f"labelled {', '.join(f'{key}={value}' for key, value in wanted.items())}" if wanted else "")
