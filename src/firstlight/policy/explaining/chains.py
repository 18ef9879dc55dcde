"""The chain of a cluster: machines, API, network, secrets, engine, and what Git brings, each after what it needs."""

from collections.abc import Iterator, Mapping, Sequence

from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.component import Component, Phase, Side
from firstlight.model.explanation import Chain, Link
from firstlight.plan.facts import Facts
from firstlight.policy.explaining import depending, reasons
from firstlight.policy.explaining.scene import Scene
from firstlight.report.inventory import count

_PHASES = list(Phase)
_MANY = 4
"""Components side by side of which nothing is known, beyond which they are one link."""
_READERS = ("secrets", "engine")
"""Roles that cannot work without the first Secrets."""


def chain(scene: Scene, cluster: Cluster) -> Chain:
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


def _next(links: Sequence[Link]) -> int:
    return links[-1].level + 1 if links else 0


def _ground(cluster: Cluster) -> Iterator[Link]:
    """What every cluster stands on."""
    names = [*_machines(cluster)]
    if names or cluster.talos or cluster.files:
        version = f"Talos {cluster.talos}".rstrip()
        says = f"the operating system of {' and '.join(names) or 'the machines'}; there is no cluster before"
        yield Link(name="Talos", says=f"{version}, {says}", phase=Phase.MACHINE, side=Side.BOOTSTRAP, level=0)
    at = f" at {cluster.network.endpoint}" if cluster.network.endpoint else ""
    says = f"etcd and the API{at}; nothing can be installed before it answers"
    yield Link(name="Kubernetes API", says=says, phase=Phase.MACHINE, side=Side.BOOTSTRAP, level=1)


def _with_secrets(known: Facts, links: list[Link]) -> list[Link]:
    """The links with the first Secrets beside what reads them: those that fetch others, else the engine, else last."""
    secrets = known.secrets
    if not secrets:
        return links
    readers = {each.name for each in known.bootstrap if each.role in _READERS and each.phase != Phase.CRDS}
    level = next((each.level for each in links if each.name in readers), _next(links))
    link = Link(
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


def _bootstrap(scene: Scene, components: Sequence[Component], *, level: int) -> Iterator[Link]:
    """A link for each component; those of one phase that do not need each other stand side by side."""
    heights = _heights(scene, components)
    steps: dict[tuple[int, int], list[Component]] = {}
    for each in sorted(components, key=lambda each: (_PHASES.index(each.phase), heights[each.name], each.name)):
        steps.setdefault((_PHASES.index(each.phase), heights[each.name]), []).append(each)
    for number, mine in enumerate(steps.values(), level):
        named = [each for each in mine if not reasons.is_only_form(each)]
        others = [each for each in mine if reasons.is_only_form(each)]
        if len(others) > _MANY:
            yield _several(others, number)
            others = []
        for each in [*named, *others]:
            says = each.origins[0].form if reasons.is_only_form(each) else each.why
            yield Link(name=each.name, says=says, phase=each.phase, side=each.side, level=number)


def _several(components: Sequence[Component], level: int) -> Link:
    """One link for what the repo says nothing of but that bootstrap has it."""
    forms = dict.fromkeys(each.origins[0].form for each in components)
    return Link(
        name=count(len(components), "component"), says=", ".join(forms), phase=components[0].phase,
        side=Side.BOOTSTRAP, level=level, members=tuple(each.name for each in components),
    )  # fmt: skip


def _gitops(scene: Scene, components: Sequence[Component], every: Sequence[Component], *, level: int) -> Iterator[Link]:
    """A link for all that stand side by side, since Git brings many."""
    heights = _heights(scene, components)
    shown = [each for each in components if not _is_shell(each, every)]
    for number, height in enumerate(sorted({heights[each.name] for each in shown})):
        names = tuple(sorted(each.name for each in shown if heights[each.name] == height))
        needs = "what is above" if number or height else "nothing else from Git"
        says = f"needs {needs}" if len(names) == 1 else f"need {needs}"
        yield Link(
            name=names[0] if len(names) == 1 else count(len(names), "component"), says=says,
            phase=Phase.GITOPS, side=Side.GITOPS, level=level + number, members=names,
        )  # fmt: skip


def _heights(scene: Scene, components: Sequence[Component]) -> Mapping[str, int]:
    """How many of the others each stands on, one upon the other; those in a circle stand where it is entered."""
    names = {each.name for each in components}
    wanted = {
        each.name: [bond.name for bond in depending.needs(scene, each) if bond.name in names] for each in components
    }
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
