"""What Talos was to release: whether any machine, the inventory or an object still has something of it."""

from collections.abc import Awaitable, Callable

from firstlight import errors
from firstlight.execute.handing import talos_inventory
from firstlight.execute.handing.releasing import TalosState, talos_state
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from firstlight.model.verification import Check
from firstlight.model.work import Release
from firstlight.operate.means import Means

NAME = "released by Talos"
SHOWN = 5
_HINT = "firstlight handover repairs it; until then upgrade only with: talosctl upgrade-k8s --manifests-no-prune"

Look = Callable[[Release], Awaitable[TalosState]]
"""Looks at all machines and at the API."""


def looking(cluster: Cluster, means: Means, connect: Callable[[World], Awaitable[None]]) -> Look | None:
    """How the machines of a cluster are asked; None for a cluster that has none here.

    Args:
        cluster: Which.
        means: How the world is reached.
        connect: Opens the way to its API.
    """
    declared = [each for each in cluster.machines if each.address and not each.id]  # Omni keeps the keys of its own
    if not declared or means.programs.talosctl is None:
        return None

    async def look(task: Release) -> TalosState:
        world = World(
            cluster=cluster, programs=means.programs, resolve=means.resolve, state=means.state, reach=means.reach,
            talos_secrets=lambda: means.talos_secrets(cluster),
        )  # fmt: skip
        try:
            await connect(world)
            ids = [each.id for each in task.passing]
            return await talos_state(task.control_planes, task.manifests, ids, world)
        finally:
            await world.close()

    return look


async def check(task: Release, look: Look) -> Check:
    """Everything that is left; what an upgrade would delete is red."""
    try:
        state = await look(task)
    except errors.Refused as error:
        return Check(name=NAME, verdict=Skipped(f"the machines were not asked: {error.message}"))
    verdict = judge(state)
    more = state.left[:SHOWN] if not state.is_released else ()
    hint = (_HINT,) if isinstance(verdict, Failed) else ()
    return Check(name=NAME, verdict=verdict, detail=(*more, *hint))


def judge(state: TalosState) -> Verdict:
    """Whether Talos has let go of everything."""
    if state.doomed:
        rest = f" and {len(state.doomed) - 1} more" if len(state.doomed) > 1 else ""
        return Failed(f"the next talosctl upgrade-k8s deletes {talos_inventory.shown(state.doomed[0])}{rest}")
    if not state.is_released:
        rest = f", and {len(state.left) - 1} more" if len(state.left) > 1 else ""
        return Waiting(f"{state.left[0]}{rest}")
    machines = len(state.configs)
    return Passed(f"{machines} control plane{'s' if machines > 1 else ''}, nothing left")
