"""Whether a cluster is well: nodes, agents, operators, and the gates of the components that a change touches."""

from collections.abc import Awaitable, Callable, Sequence

from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import questions
from firstlight.gates.question import Question
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.verify import agents, components, nodes, operators

More = Callable[[World], Awaitable[Sequence[Question]]]


def stage(cluster: Cluster, *, patience: float, more: More | None = None) -> Stage:
    """A stage that writes nothing and waits until the cluster is well.

    Args:
        cluster: The cluster.
        patience: Seconds for what is not there yet; 0 for one look.
        more: What else is asked.
    """

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        asked = [nodes.question(cluster.machines), agents.question(), operators.question()]
        asked += await more(world) if more is not None else []
        found = await components.judged(asked, world.watching, wait=patience)
        verdict, hint = _together(asked, found)
        on_verdict(verdict)
        return verdict, hint

    return Stage(
        id=f"{cluster.name}:verify", name=f"verify {cluster.name}", what="nodes, agents, operators, gates",
        phase=Phase.GITOPS, wait=wait,
    )  # fmt: skip


def gates(preparing: Preparing, names: Sequence[str]) -> More:
    """The gates of some components, as bootstrap's plan has them."""

    async def asked(world: World) -> list[Question]:
        prepared = await preparing.get(world)
        steps = [each for each in prepared.work.plan.steps if each.component in names]
        made = [
            questions.question(gate, prepared.work.tasks[each.id], prepared.ground)
            for each in steps
            for gate in each.gates
        ]
        return [each for each in made if each is not None]

    return asked


def _together(asked: Sequence[Question], found: Sequence[Verdict]) -> tuple[Verdict, str]:
    """The worst of them, by name."""
    both = list(zip(asked, found, strict=True))
    for kind in (Failed, Waiting):
        bad = [(one, verdict) for one, verdict in both if isinstance(verdict, kind)]
        if bad:
            said = "; ".join(f"{one.name}: {verdict.reason}" for one, verdict in bad)
            return kind(said), " ".join(dict.fromkeys(one.hint for one, _ in bad if one.hint))
    passed = [f"{one.name}: {each.reason}" for one, each in both if isinstance(each, Passed) and each.reason]
    return Passed("; ".join(passed)), ""
