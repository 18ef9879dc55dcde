"""Keeps how everything is before Git takes over: in the cluster, and in a file. Who saved one already, keeps it."""

import dataclasses

from firstlight.clients import kube
from firstlight.execute.baseline import keeping, snapshot
from firstlight.execute.change import Change
from firstlight.execute.world import World
from firstlight.model.work import SaveBaseline


async def look(task: SaveBaseline, world: World, step: str) -> Change | None:
    """Nothing, if a whole baseline of this very cluster is there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    uid = await _uid(world)
    if await keeping.is_kept(world.kube, uid=uid):
        return None

    file = world.state / world.cluster.name / keeping.FILE

    async def perform() -> None:
        if (saved := await keeping.copy_of(world.kube, file)) is not None:
            # What is there now is not what was there before Git took over.
            await keeping.store(saved, world.kube)
            world.tell(step, f"a part of it was lost, and is as in {file} again")
            return
        taken = dataclasses.replace(await snapshot.take(task.objects, world.kube), cluster=uid)
        keeping.write(taken, file)
        await keeping.store(taken, world.kube)
        world.tell(step, f"{len(taken.objects)} objects and {len(taken.pods)} pods as they are now")

    return Change(writes=(f"save the baseline in ConfigMap {keeping.NAMESPACE}/{keeping.NAME}",), perform=perform)


async def _uid(world: World) -> str:
    found: kube.Object = await world.kube.get("v1", "Namespace", "kube-system", metadata_only=True)
    return str(found["metadata"]["uid"])
