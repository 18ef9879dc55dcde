"""The whole cluster from Git: the proof that the commit and the secrets alone are enough, before ``up`` begins.

The commit is laid out in a directory of its own, without whatever else lies in the work tree, and everything that a run
needs is rendered, resolved and asked for from there.
"""

import contextlib
import dataclasses
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.git import Git
from firstlight.execute import identity, kept_access
from firstlight.execute.actions import kubeconfig
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.machine_report import Standing
from firstlight.model.plan import Problem, Severity
from firstlight.model.platform import Platform
from firstlight.model.verification import Verification
from firstlight.observe import machines
from firstlight.observe.watching import Watching
from firstlight.operate import reaching, talos_secrets, up
from firstlight.operate.means import Means, Wishes
from firstlight.operate.up import Prepared
from firstlight.operate.verify import again, checking
from firstlight.render import private_directory
from firstlight.repo import platform as platforms
from firstlight.secrets import talos

WAIT = 300.0
"""Seconds for what Git brings to be ready."""

MeansOf = Callable[[Platform], Awaitable[Means]]


async def proof(platform: Platform, cluster: Cluster, means: Means, *, means_of: MeansOf) -> tuple[Problem, ...]:
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
            mine = up.cluster_of(there, cluster.name)
            prepared = await up.prepare(there, Wishes(cluster=cluster.name), own)
            return (*prepared.problems, *await _keys(there, mine, own))
        finally:
            await own.close()


async def set_aside(cluster: Cluster, means: Means) -> None:
    """Forget which cluster it was, once all its control planes are bare: the next one of this name is another one.

    Raises:
        errors.Refused: There are no keys.
    """
    planes = [each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE]
    async with reaching.unconnected(cluster, means) as world:
        reports = await machines.look_at_all(planes, await reaching.way(world))
        if reports and all(each.standing is Standing.MAINTENANCE for each in reports):
            identity.set_aside(world)


async def verify(prepared: Prepared, means: Means) -> Verification:
    """Whether the cluster is what it was to be, with a second run that writes nothing.

    Raises:
        errors.ClientError: The API does not answer.
    """
    cluster = prepared.cluster
    kept = means.state / cluster.name / "kubeconfig"
    config = kubeconfig.redirected(kept_access.kubeconfig(kept), means.reach.kubernetes)
    # A lab's machines have their API elsewhere than they declare.
    elsewhere = urllib.parse.urlsplit(means.reach.kubernetes).hostname
    async with kube.Client(config, agent="recover") as client, Watching(client) as watching:
        return await checking.verify(
            checking.Scene(
                cluster=cluster, client=client, watching=watching, since=means.now(), work=prepared.work,
                ground=prepared.ground, wait=WAIT, rerun=again.again(prepared.platform, cluster, means),
                machines=again.machines(cluster, means),
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
    with private_directory.made("decide") as home:
        await git.export(platform.root, "HEAD", home / "tree")
        yield platforms.read(home / "tree" / _inside(platform.root, top)), head.commit


def _inside(root: Path, top: Path) -> Path:
    """Where the repo lies in its clone."""
    return root.resolve().relative_to(top.resolve())


async def _keys(platform: Platform, cluster: Cluster, means: Means) -> list[Problem]:
    """New Talos secrets would make another cluster: those of this one must be there."""
    if not talos_secrets.has_own(cluster):
        return []
    reference = talos_secrets.reference_of(cluster, platform.root)
    why = "there is no such file in the commit"
    try:
        if await talos.load(reference, means.resolve) is not None:
            return []
    except errors.FirstlightError as error:
        why = error.message
    return [
        Problem(
            rule="keys-missing", severity=Severity.ERROR,
            message=f"the Talos secrets of {cluster.name} cannot be had from the commit ({reference}): {why}",
            way_out="Commit the encrypted file and push it; others would make another cluster of the same machines.",
        )
    ]  # fmt: skip
