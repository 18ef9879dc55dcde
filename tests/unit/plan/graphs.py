"""Random plans and pictures for property tests."""

from hypothesis import strategies as st

from firstlight.commands.graph.picture import GraphNode, NodeLook, Picture
from firstlight.model.component import Phase
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie

PHASES = list(Phase)


def step(name: str, *needs: str, phase: Phase = Phase.CORE) -> Step:
    """A step with needs."""
    return Step(
        id=name, phase=phase, action=Action.APPLY_OBJECTS, name=name, component=name,
        needs=tuple(StepNeed(each, "test", Tie.DECLARED) for each in needs),
    )  # fmt: skip


@st.composite
def plans(draw: st.DrawFn, *, acyclic: bool = False, largest: int = 9) -> Plan:
    """Plans with any needs; also needs of steps that are not there, unless they are to be free of cycles."""
    number = draw(st.integers(0, largest))
    names = [f"s{index}" for index in range(number)]
    steps = []
    for index, name in enumerate(names):
        choices = names[:index] if acyclic else [*names, "gone"]
        needs = draw(st.lists(st.sampled_from(choices), max_size=3, unique=True)) if choices else []
        steps.append(step(name, *needs))
    return Plan(cluster="home", steps=tuple(draw(st.permutations(steps))))


@st.composite
def pictures(draw: st.DrawFn, *, largest: int = 40) -> Picture:
    """Pictures of any form: chains, stars, islands, long labels, groups."""
    number = draw(st.integers(1, largest))
    nodes: list[GraphNode] = []
    needs: dict[str, tuple[str, ...]] = {}
    for index in range(number):
        earlier = [node.id for node in nodes]
        needs[f"n{index}"] = tuple(draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True))) if earlier else ()
        nodes.append(
            GraphNode(
                id=f"n{index}",
                label=draw(st.text(max_size=30)),
                detail=draw(st.sampled_from(["", "HelmRelease 1.2.3"])),
                phase=draw(st.sampled_from(PHASES)),
                look=draw(st.sampled_from(list(NodeLook))),
                tip=draw(st.text(max_size=20)),
                group=draw(st.sampled_from(["", "media", "storage"])),
            )
        )
    return Picture("home", "test", tuple(nodes), needs)
