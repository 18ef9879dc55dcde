"""A machine that is lost, rebuilt: its member of etcd and its node go, then it is configured anew and joins.

One that answers with the cluster's keys is never wiped here, and its member and node stay: it is either rebuilt
already, by a run that was killed, or a person decides that it goes (``node reset``).
"""

import asyncio
import contextlib
import dataclasses
import time
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients import kube
from firstlight.clients.git import Git
from firstlight.commands.node import add, machine_ready, remove
from firstlight.commands.up import up
from firstlight.commands.up.up import PreparedRun
from firstlight.commands.verify import idempotency
from firstlight.commands.verify import verify as verify_room
from firstlight.execute import access_files, cluster_access, cluster_identity, live_cluster, talos_secrets
from firstlight.execute.actions import kubeconfig
from firstlight.execute.gate_wait import POLL
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.model.verdict import Verification
from firstlight.observe import machine_survey
from firstlight.observe.gate_watch import Watching
from firstlight.render import private_directory
from firstlight.repo import platform_reader
from firstlight.secrets import talos_bundle

_LEAVING = ("member", "node")
"""The stages of a departure that need no machine."""


def machine_stages(
    platform: Platform, cluster: Cluster, machine: Machine, *, timeout: float = machine_ready.TIMEOUT
) -> tuple[WalkStage, ...]:
    """The stages, in their order.

    Raises:
        errors.Refused: The repo's machines are not understood.
    """
    departure = {each.id: each for each in remove.stages(machine, remove.NodeRemovalOptions(command="node remove"))}
    silence: list[MachineReport] = []
    gone = [_while_lost(departure[f"{machine.name}:{each}"], machine, silence) for each in _LEAVING]
    return (*gone, *add.add_stages(platform, cluster, machine, timeout=timeout))


def _while_lost(stage: WalkStage, machine: Machine, silence: list[MachineReport]) -> WalkStage:
    async def look(world: World) -> PendingChange | None:
        report = await _standing(machine, world, silence)
        if report.standing is MachineStanding.OURS:
            return None
        if report.standing is MachineStanding.FOREIGN:
            raise errors.Refused(
                f"at {machine.address} is a machine of another cluster ({report.why}): it is not touched",
                hint=f"Look whether that is the address of {machine.name}.",
            )
        change = await stage.look(world)
        if change is None:
            return None
        danger = f"{machine.name} counts as lost: {', '.join(change.writes)}. What its disks held is not looked for."
        return dataclasses.replace(change, danger=danger)

    return dataclasses.replace(stage, look=look)


async def _standing(machine: Machine, world: World, silence: list[MachineReport]) -> MachineReport:
    """The machine; one that is silent is waited for once, since it may only be between two boots."""
    way = await cluster_access.ensure(world)
    deadline = time.monotonic() + (0.0 if silence else world.patience)
    while True:
        report = await machine_survey.look_at(machine, way)
        if report.standing is not MachineStanding.ABSENT:
            return report
        if time.monotonic() >= deadline:
            silence.append(report)
            return report
        await asyncio.sleep(POLL)


# The whole cluster from Git: the proof that the commit and the secrets alone are enough, before ``up`` begins.
#
# The commit is laid out in a directory of its own, without whatever else lies in the work tree, and everything that a
# run needs is rendered, resolved and asked for from there.


WAIT = 300.0
"""Seconds for what Git brings to be ready."""

MeansOf = Callable[[Platform], Awaitable[Means]]


async def proof(platform: Platform, cluster: Cluster, means: Means, *, means_of: MeansOf) -> tuple[Diagnostic, ...]:
    """What a rebuild could not have from the commit and the secrets; nothing is written.

    Args:
        platform: The repo as it is here.
        cluster: The cluster.
        means: How the world is reached from here.
        means_of: The same for another tree: what it resolves must be found there.

    Raises:
        errors.Refused: There is no commit.
    """
    async with _laid_out(platform, means) as (there, commit):
        own = await means_of(there)
        try:
            # Whether the commit is pushed is asked of the user's own clone; here is none.
            own = dataclasses.replace(own, revision=commit)
            mine = which_cluster.cluster_of(there, cluster.name)
            prepared = await up.prepare(there, RunRequest(cluster=cluster.name), own)
            return (*prepared.problems, *await _keys(there, mine, own))
        finally:
            await own.close()


async def set_aside(cluster: Cluster, means: Means) -> None:
    """Forget which cluster it was, once all its control planes are bare: the next one of this name is another one.

    Raises:
        errors.Refused: There are no keys.
    """
    planes = [each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE]
    async with live_cluster.unconnected(cluster, means) as world:
        reports = await machine_survey.look_at_all(planes, await live_cluster.way(world))
        if reports and all(each.standing is MachineStanding.MAINTENANCE for each in reports):
            cluster_identity.set_aside(world)


async def verify(prepared: PreparedRun, means: Means) -> Verification:
    """Whether the cluster is what it was to be, with a second run that writes nothing.

    Raises:
        errors.ClientError: The API does not answer.
    """
    cluster = prepared.cluster
    kept = means.state / cluster.name / "kubeconfig"
    config = kubeconfig.redirected(access_files.kept_kubeconfig(kept), means.reach.kubernetes)
    # A lab's machines have their API elsewhere than they declare.
    elsewhere = urllib.parse.urlsplit(means.reach.kubernetes).hostname
    async with kube.Client(config, agent="recover") as client, Watching(client) as watching:
        return await verify_room.verify(
            verify_room.VerifyContext(
                cluster=cluster, client=client, watching=watching, since=means.now(), work=prepared.work,
                ground=prepared.ground, wait=WAIT, rerun=idempotency.run_again(prepared.platform, cluster, means),
                machines=idempotency.machines_now(cluster, means),
                apis={each.address: elsewhere for each in cluster.machines} if elsewhere else {},
            )
        )  # fmt: skip


@contextlib.asynccontextmanager
async def _laid_out(platform: Platform, means: Means) -> AsyncIterator[tuple[Platform, str]]:
    """The repo as its commit has it."""
    if means.git is None:
        raise errors.Refused("git is not there, and a rebuild begins with a commit", hint="Install git.")
    git = Git(means.git)
    head = await git.head(platform.root)
    top = head.work_tree or platform.root
    with private_directory.create("decide") as home:
        await git.export(platform.root, "HEAD", home / "tree")
        yield platform_reader.read(home / "tree" / _inside(platform.root, top)), head.commit


def _inside(root: Path, top: Path) -> Path:
    """Where the repo lies in its clone."""
    return root.resolve().relative_to(top.resolve())


async def _keys(platform: Platform, cluster: Cluster, means: Means) -> list[Diagnostic]:
    """New Talos secrets would make another cluster: those of this one must be there."""
    if not talos_secrets.has_own(cluster):
        return []
    reference = talos_secrets.reference_of(cluster, platform.root)
    why = "there is no such file in the commit"
    try:
        if await talos_bundle.load(reference, means.resolve) is not None:
            return []
    except errors.FirstlightError as error:
        why = error.message
    return [
        Diagnostic.error(
            "keys-missing", f"the Talos secrets of {cluster.name} cannot be had from the commit ({reference}): {why}",
            fix="Commit the encrypted file and push it; others would make another cluster of the same machines.",
        )
    ]  # fmt: skip
