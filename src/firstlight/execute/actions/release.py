"""Makes Talos forget what the engine owns."""

from firstlight.execute.change import Change
from firstlight.execute.world import World
from firstlight.model.work import Release


async def look(task: Release, world: World, step: str) -> Change | None:
    """Nothing yet."""
    del task, world, step
    return None
