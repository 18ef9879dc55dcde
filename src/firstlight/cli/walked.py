"""How a command walks its stages: alone on this computer, with a journal, a screen and questions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.execute.loop import Result
    from firstlight.execute.world import World
    from firstlight.operate.means import Means
    from firstlight.operate.walk import Walk


async def walked(walk: "Walk", world: "World", means: "Means", *, yes: bool, form: "Form") -> "Result":
    """Carry a walk out; ``up.exit_code`` says what its result means to a shell.

    Raises:
        errors.Refused: Another run works on this cluster.
    """
    from firstlight.cli import following, up
    from firstlight.journal import writing
    from firstlight.operate import up as operating
    from firstlight.operate import walk as walks

    begun = walks.started(walk, means)
    with operating.alone(walk.cluster, means, who=begun.who):
        async with following.Following(writing.Journal.start(means.state, begun), form) as progress:

            def confirm(danger: str) -> bool:
                if yes:
                    return True
                with progress.paused():
                    return up.agreed(danger)

            return await walks.run(walk, world, means, begun=begun, tell=progress.tell, confirm=confirm)
