"""The approval of a change whose bootstrap half comes before the merge: nothing is written without it.

Whoever approves in a forge alone leaves nothing in Git that says so before the merge: then a person is asked.
"""

from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.verdict import Passed, Verdict
from firstlight.operate.changing import publishing
from firstlight.operate.changing.carrying import Carrying


def stage(carrying: Carrying, cluster: Cluster) -> Stage:
    """A stage that writes nothing, and asks where Git does not tell that the change is approved."""

    async def look(world: World) -> Change | None:
        found = await publishing.approved(carrying, _part(carrying, cluster))
        if found.is_given or carrying.record.emergency:
            return None

        async def perform() -> None:
            confirmed = f"{found.needed}: Git does not say so; {carrying.record.who} has said that it is given"
            carrying.keeper.set(approval=confirmed)

        asked = (
            f"it needs the approval of {found.needed} before {cluster.name} is changed, and Git has none: {found.says}"
        )
        return Change(writes=("go on with an approval that Git does not have",), perform=perform, danger=asked)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        verdict = Passed(carrying.record.approval)
        on_verdict(verdict)
        return verdict, ""

    return Stage(
        id=f"{cluster.name}:approval", name="approved", what="before anything is written", look=look, wait=wait
    )


def _part(carrying: Carrying, cluster: Cluster) -> int:
    """The part of the change that is for a cluster."""
    numbers = [at for at, each in enumerate(carrying.record.parts) if each.cluster == cluster.name]
    return numbers[0] if numbers else 0
