"""A cluster that lives, reached for work on it: its machines by their keys, its API by their kubeconfig or a given one.

Nothing is rendered. Whoever wants to go on without the API, since that is what is broken, asks for it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from firstlight import errors
from firstlight.execute import cluster_access
from firstlight.execute.actions import kubeconfig
from firstlight.execute.means import Means
from firstlight.execute.world import World
from firstlight.journal import run_identity
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.work import FetchKubeconfig
from firstlight.observe.machine_survey import MachineAccess

PATIENCE = 15.0
"""Seconds for machines and the API of a cluster that lives to answer."""


@contextlib.asynccontextmanager
async def reached(
    cluster: Cluster,
    means: Means,
    *,
    run: str = "",
    tell: Callable[[str, str], None] = lambda step, text: None,
    is_api_needed: bool = True,
    patience: float = PATIENCE,
) -> AsyncIterator[World]:
    """The cluster, connected.

    Args:
        cluster: As declared.
        means: How the world is reached.
        run: What the API server hears as the user agent; made up if it is not given.
        tell: Told how far a step is.
        is_api_needed: Whether an API that does not answer is an error; else the world is not connected then.
        patience: Seconds for each of them to answer.

    Raises:
        errors.Refused: It is another cluster than it was.
        errors.Unreachable: The API does not answer, and is needed.
    """
    world = _world(cluster, means, run=run, tell=tell, patience=patience)
    planes = tuple(each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE)
    omni = cluster.name if cluster.omni_template else ""
    try:
        try:
            async with asyncio.timeout(2 * patience):
                await kubeconfig.look(FetchKubeconfig(control_planes=planes, omni=omni), world, "")
        except (errors.Unreachable, TimeoutError) as error:
            if is_api_needed:
                message = str(error) or f"the API of {cluster.name} does not answer"
                raise errors.Unreachable(message, hint="What is wrong with it: firstlight doctor") from error
        yield world
    finally:
        await world.close()


@contextlib.asynccontextmanager
async def unconnected(cluster: Cluster, means: Means, *, patience: float = PATIENCE) -> AsyncIterator[World]:
    """The cluster by its machines alone, for work that its API does not survive; whoever needs that later connects."""
    world = _world(cluster, means, run="", tell=lambda step, text: None, patience=patience)
    try:
        yield world
    finally:
        await world.close()


def _world(
    cluster: Cluster, means: Means, *, run: str, tell: Callable[[str, str], None], patience: float
) -> World:  # fmt: skip
    return World(
        cluster=cluster, programs=means.programs, resolve=means.masks.remembering(means.resolve), state=means.state,
        reach=means.reach, run=run or run_identity.make_run_id(cluster.name, now=means.now()), tell=tell,
        fingerprints=means.fingerprints, kubeconfig=means.kubeconfig, patience=patience,
        talos_secrets=lambda: means.talos_secrets(cluster),
    )  # fmt: skip


async def way(world: World) -> MachineAccess:
    """The way to the machines.

    Raises:
        errors.Refused: Nothing says where the keys are, or Omni has them.
    """
    return await cluster_access.ensure(world)
