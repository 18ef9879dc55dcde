"""Keeps how everything is before Git takes over: in the cluster, and in a file. Who saved one already, keeps it."""

import dataclasses

from firstlight.execute.baseline import keeping, snapshot
from firstlight.execute.change import Change
from firstlight.execute.handing.certifying import uid_of
from firstlight.execute.world import World
from firstlight.model.work import SaveBaseline


async def look(task: SaveBaseline, world: World, step: str) -> Change | None:
    """Nothing, if a whole baseline of this very cluster is there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    uid = await uid_of(world.kube)
    if await keeping.is_kept(world.kube, uid=uid):
        return None

    file = world.state / world.cluster.name / keeping.FILE

    async def perform() -> None:
        if (saved := await keeping.copy_of(world.kube, file, uid=uid)) is not None:
            # What is there now is not what was there before Git took over.
            await keeping.store(saved, world.kube)
            world.tell(step, f"it was lost, or a part of it, and is as in {file} again")
            return
        taken = dataclasses.replace(await snapshot.take(task.objects, world.kube), cluster=uid)
        keeping.write(taken, file)
        await keeping.store(taken, world.kube)
        had = sum(bool(each.holder) for each in taken.objects)
        late = f"; the engine has {had} of them already, and how those were before is not known" if had else ""
        world.tell(step, f"{len(taken.objects)} objects and {len(taken.pods)} pods as they are now{late}")

    return Change(writes=(f"save the baseline in ConfigMap {keeping.NAMESPACE}/{keeping.NAME}",), perform=perform)
