"""Who needs whom in a cluster, and why: what the repo declares, and what is so without saying."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from firstlight.commands.explain import reasons
from firstlight.commands.explain.explanation import Chain, ChainLink, ExplainInput
from firstlight.commands.inventory.text import count
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.component import Component, Phase, Side
from firstlight.model.place import Place
from firstlight.model.plan import Plan, StepNeed, Tie
from firstlight.plan import cluster_facts
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.plan.dependents import DependencyGraph

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


def needs(scene: ExplainInput, component: Component, *, also_waited: bool = False) -> tuple[Bond, ...]:
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


def _declared(scene: ExplainInput, component: Component) -> Iterator[Bond]:
    """What the repo says that it needs; what a plan has of it is told better there."""
    known = scene.facts.get(component.cluster)
    for origin in component.origins:
        for need in origin.needs:
            name = known.by_origin.get(need.id, "") if known else ""
            if name in component.needs:
                tie = cluster_facts.tie(origin, need)
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


def dependents(scene: ExplainInput, component: Component) -> Dependents:
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


def _counted(scene: ExplainInput, component: Component, needed: Mapping[str, Mapping[str, Bond]]) -> tuple[str, ...]:
    """Who depends on it as decisions have it, except for what only the order of a script says."""
    if scene.platform is None:
        return ()
    chance = {(name, bond.name) for name, wanted in needed.items() for bond in wanted.values() if bond.by_chance}
    graph = DependencyGraph(scene.platform, apart={(component.cluster, *each) for each in chance})
    return graph.dependents(component.cluster, component.name)


def _reached(
    component: Component,
    others: Sequence[Component],
    needed: Mapping[str, Mapping[str, Bond]],
    counted: Sequence[str],
) -> dict[str, None]:
    """Who is counted, or needs it or one of them, and so on, the nearest first; chance aside."""
    engines = {each.name for each in (component, *others) if each.role == "engine" and cluster_facts.in_bootstrap(each)}
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


# The chain of a cluster: machines, API, network, secrets, engine, and what Git brings, each after what it needs.


_PHASES = list(Phase)
_MANY = 4
"""Components side by side of which nothing is known, beyond which they are one link."""
_READERS = ("secrets", "engine")
"""Roles that cannot work without the first Secrets."""


def chain(scene: ExplainInput, cluster: Cluster) -> Chain:
    """What stands on what in a cluster."""
    ground = [*_ground(cluster)]
    known = scene.facts[cluster.name]
    links = [*ground, *_bootstrap(scene, known.bootstrap, level=_next(ground))]
    links = _with_secrets(known, links)
    links += _gitops(scene, known.gitops, known.components, level=_next(links))
    return Chain(
        cluster=cluster.name, links=tuple(links), url=cluster.url, path=cluster.path,
        engine=reasons.engine(scene, cluster.name) if cluster.engine else "",
    )  # fmt: skip


def _next(links: Sequence[ChainLink]) -> int:
    return links[-1].level + 1 if links else 0


def _ground(cluster: Cluster) -> Iterator[ChainLink]:
    """What every cluster stands on."""
    names = [*_machines(cluster)]
    if names or cluster.talos or cluster.files:
        version = f"Talos {cluster.talos}".rstrip()
        says = f"the operating system of {' and '.join(names) or 'the machines'}; there is no cluster before"
        yield ChainLink(name="Talos", says=f"{version}, {says}", phase=Phase.MACHINE, side=Side.BOOTSTRAP, level=0)
    at = f" at {cluster.network.endpoint}" if cluster.network.endpoint else ""
    says = f"etcd and the API{at}; nothing can be installed before it answers"
    yield ChainLink(name="Kubernetes API", says=says, phase=Phase.MACHINE, side=Side.BOOTSTRAP, level=1)


def _with_secrets(known: ClusterFacts, links: list[ChainLink]) -> list[ChainLink]:
    """The links with the first Secrets beside what reads them: those that fetch others, else the engine, else last."""
    secrets = known.secrets
    if not secrets:
        return links
    readers = {each.name for each in known.bootstrap if each.role in _READERS and each.phase != Phase.CRDS}
    level = next((each.level for each in links if each.name in readers), _next(links))
    link = ChainLink(
        name="foundation secret",
        says=f"{count(len(secrets), 'Secret')} that must be there before others can be fetched",
        phase=Phase.CORE, side=Side.BOOTSTRAP, level=level,
        members=tuple(f"{each.namespace}/{each.name}" for each in secrets),
    )  # fmt: skip
    before = [each for each in links if each.level < level]
    return [*before, link, *links[len(before) :]]


def _machines(cluster: Cluster) -> Iterator[str]:
    control_planes = sum(each.role == MachineRole.CONTROL_PLANE for each in cluster.machines)
    workers = len(cluster.machines) - control_planes
    if control_planes:
        yield count(control_planes, "control plane")
    if workers:
        yield count(workers, "worker")


def _is_shell(component: Component, others: Sequence[Component]) -> bool:
    """Whether it is only the Kustomization around something of the same name."""
    bare = component.name.removeprefix("kustomization/")
    return bare != component.name and any(each.name == bare and each.parent == component.name for each in others)


def _bootstrap(scene: ExplainInput, components: Sequence[Component], *, level: int) -> Iterator[ChainLink]:
    """A link for each component; those of one phase that do not need each other stand side by side."""
    heights = _heights(scene, components)
    steps: dict[tuple[int, int], list[Component]] = {}
    for each in sorted(components, key=lambda each: (_PHASES.index(each.phase), heights[each.name], each.name)):
        steps.setdefault((_PHASES.index(each.phase), heights[each.name]), []).append(each)
    for number, mine in enumerate(steps.values(), level):
        named = [each for each in mine if not each.is_why_only_form]
        others = [each for each in mine if each.is_why_only_form]
        if len(others) > _MANY:
            yield _several(others, number)
            others = []
        for each in [*named, *others]:
            says = each.origins[0].form if each.is_why_only_form else each.why
            yield ChainLink(name=each.name, says=says, phase=each.phase, side=each.side, level=number)


def _several(components: Sequence[Component], level: int) -> ChainLink:
    """One link for what the repo says nothing of but that bootstrap has it."""
    forms = dict.fromkeys(each.origins[0].form for each in components)
    return ChainLink(
        name=count(len(components), "component"), says=", ".join(forms), phase=components[0].phase,
        side=Side.BOOTSTRAP, level=level, members=tuple(each.name for each in components),
    )  # fmt: skip


def _gitops(
    scene: ExplainInput, components: Sequence[Component], every: Sequence[Component], *, level: int
) -> Iterator[ChainLink]:
    """A link for all that stand side by side, since Git brings many."""
    heights = _heights(scene, components)
    shown = [each for each in components if not _is_shell(each, every)]
    for number, height in enumerate(sorted({heights[each.name] for each in shown})):
        names = tuple(sorted(each.name for each in shown if heights[each.name] == height))
        needs = "what is above" if number or height else "nothing else from Git"
        says = f"needs {needs}" if len(names) == 1 else f"need {needs}"
        yield ChainLink(
            name=names[0] if len(names) == 1 else count(len(names), "component"), says=says,
            phase=Phase.GITOPS, side=Side.GITOPS, level=level + number, members=names,
        )  # fmt: skip


def _heights(scene: ExplainInput, components: Sequence[Component]) -> Mapping[str, int]:
    """How many of the others each stands on, one upon the other; those in a circle stand where it is entered."""
    names = {each.name for each in components}
    wanted = {each.name: [bond.name for bond in needs(scene, each) if bond.name in names] for each in components}
    heights: dict[str, int] = {}
    for start in sorted(names):
        stack, entered = [start], {start}
        while stack:
            name = stack[-1]
            below = [each for each in wanted[name] if each not in heights and each not in entered]
            if below:
                stack.append(below[0])
                entered.add(below[0])
                continue
            stack.pop()
            heights[name] = 1 + max((heights[each] for each in wanted[name] if each in heights), default=-1)
    return heights
