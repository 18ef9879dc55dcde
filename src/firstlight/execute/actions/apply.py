"""Objects applied as their final owner; what is equal already is not written."""

from firstlight.execute.applying import refusals
from firstlight.execute.applying.difference import Difference
from firstlight.execute.applying.survey import survey
from firstlight.execute.applying.writing import apply
from firstlight.execute.change import Change
from firstlight.execute.world import World
from firstlight.model import work


async def look(task: work.Apply, world: World, step: str) -> Change | None:
    """What of the objects is missing or differs.

    Raises:
        errors.Refused: Somebody else owns a field, or a live CRD would be downgraded.
        errors.ClientError: The API does not answer.
    """
    found = await survey(task.objects, world.kube, manager=task.manager, managers=task.managers, once=task.once)
    changes = writable(found, world, step)
    refusals.check(changes)
    if not changes:
        return None

    async def perform() -> None:
        await apply(changes, world.kube, tell=lambda text: world.tell(step, text))

    return Change(writes=tuple(each.sentence for each in changes), perform=perform)


def writable(found: list[Difference], world: World, step: str) -> list[Difference]:
    """Differences without those of an engine, which are told of instead."""
    for each in found:
        if each.left:
            world.tell(step, each.left)
    return [each for each in found if each.mark is None]
