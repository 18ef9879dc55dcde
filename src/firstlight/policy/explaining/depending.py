"""Who needs whom in a cluster, and why: what the repo declares, and what is so without saying."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from firstlight.model.component import Component, Phase
from firstlight.model.place import Place
from firstlight.model.plan import Plan, StepNeed, Tie
from firstlight.plan import facts as plan_facts
from firstlight.policy.dependents import Graph
from firstlight.policy.explaining.scene import Scene

_REASONS = (Tie.FACT, Tie.DECLARED, Tie.ORDER, Tie.LIKELY)
"""Ties between components themselves; the others come from how every run goes."""
_TALOS = "inline:talos"
"""The step of what Talos brings without being asked, such as its own DNS."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bond:
    """That somebody needs a thing."""

    name: str
    """What is needed: a component, or a part of every cluster."""
    why: str
    place: Place | None = None
    by_chance: bool = False
    """Whether only the order of a script says so, which need not mean anything."""


def needs(scene: Scene, component: Component, *, also_waited: bool = False) -> tuple[Bond, ...]:
    """What a component needs, each once, the surest reason first.

    Args:
        scene: What is known.
        component: Of one of its clusters.
        also_waited: Also what it brings itself and is not ready without.
    """
    found: dict[str, Bond] = {}
    plan = scene.plans.get(component.cluster)
    steps = scene.steps.get((component.cluster, component.name), [])
    ties = (*_REASONS, Tie.WAITED) if also_waited else _REASONS
    wanted = [need for step in steps for need in step.needs if need.tie in ties]
    for need in sorted(wanted, key=lambda each: ties.index(each.tie)):
        name = _name(plan, need)
        if name and name != component.name:
            found.setdefault(name, Bond(name, _why(need.tie, need.why), need.place, need.tie == Tie.ORDER))
    for bond in _declared(scene, component):
        found.setdefault(bond.name, bond)
    return tuple(found.values())


def _name(plan: Plan | None, need: StepNeed) -> str:
    step = plan.by_id.get(need.step) if plan else None
    if step is None:
        return ""
    return "what Talos itself brings" if step.id == _TALOS else step.component or step.name


def _declared(scene: Scene, component: Component) -> Iterator[Bond]:
    """What the repo says that it needs; what a plan has of it is told better there."""
    known = scene.facts.get(component.cluster)
    for origin in component.origins:
        for need in origin.needs:
            name = known.by_origin.get(need.id, "") if known else ""
            if name in component.needs:
                tie = plan_facts.tie(origin, need)
                yield Bond(name, _why(tie, need.why), need.place, tie == Tie.ORDER)
    for name in component.needs:
        yield Bond(name, _why(Tie.DECLARED, ""))


def _why(tie: Tie, why: str) -> str:
    match tie:
        case Tie.DECLARED:
            return f"the repo says so ({why})" if why else "the repo says so"
        case Tie.ORDER:
            return "a script does it in this order"
        case Tie.LIKELY:
            return f"probably: {why}"
    return why


@dataclasses.dataclass(frozen=True, slots=True)
class Dependents:
    """Who depends on a component."""

    direct: tuple[Bond, ...]
    """Who needs it, with the reason."""
    through: tuple[str, ...]
    """All others that a decision on it counts."""
    besides: tuple[str, ...]
    """Who comes later without it, or waits for one of these, and is not counted: it is not said to need anything."""
    counted: int
    """How many a decision counts."""


def dependents(scene: Scene, component: Component) -> Dependents:
    """Who depends on a component, as decisions count it, and who feels it besides."""
    others = [each for each in scene.components if each.cluster == component.cluster and each.name != component.name]
    needed = {each.name: {bond.name: bond for bond in needs(scene, each, also_waited=True)} for each in others}
    direct = [
        dataclasses.replace(wanted[component.name], name=name)
        for name, wanted in needed.items()
        if component.name in wanted
    ]
    known = {component.name, *(each.name for each in direct)}
    counted = _counted(scene, component, needed)
    reached = _reached(component, others, needed, counted)
    return Dependents(
        direct=tuple(sorted(direct, key=lambda each: each.name)),
        through=tuple(each for each in counted if each not in known),
        besides=tuple(each for each in reached if each not in {*known, *counted}),
        counted=len(counted),
    )


def _counted(scene: Scene, component: Component, needed: Mapping[str, Mapping[str, Bond]]) -> tuple[str, ...]:
    """Who depends on it as decisions have it, except for what only the order of a script says."""
    if scene.platform is None:
        return ()
    chance = {(name, bond.name) for name, wanted in needed.items() for bond in wanted.values() if bond.by_chance}
    graph = Graph(scene.platform, apart={(component.cluster, *each) for each in chance})
    return graph.dependents(component.cluster, component.name)


def _reached(
    component: Component,
    others: Sequence[Component],
    needed: Mapping[str, Mapping[str, Bond]],
    counted: Sequence[str],
) -> dict[str, None]:
    """Who is counted, or needs it or one of them, and so on, the nearest first; chance aside."""
    engines = {each.name for each in (component, *others) if each.role == "engine" and plan_facts.in_bootstrap(each)}
    brought = [each.name for each in others if each.phase == Phase.GITOPS]
    reached: dict[str, None] = dict.fromkeys([component.name, *counted])
    waiting = list(reached)
    while waiting:
        name = waiting.pop(0)
        nearby = [other for other, wanted in needed.items() if name in wanted and not wanted[name].by_chance]
        # What the engine brings does not come without it, whether it says so or not.
        for each in [*nearby, *(brought if name in engines else ())]:
            if each not in reached:
                reached[each] = None
                waiting.append(each)
    return reached
