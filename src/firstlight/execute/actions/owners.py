"""Makes the engine own what bootstrap applied under other names, before it applies anything itself."""

from firstlight.execute.change import Change
from firstlight.execute.world import World
from firstlight.model.work import MigrateOwners


async def look(task: MigrateOwners, world: World, step: str) -> Change | None:
    """Nothing yet."""
    del task, world, step
    return None
