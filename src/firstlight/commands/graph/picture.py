"""What a picture of a plan shows, before anybody thinks of places and lines: nodes, edges, and how they are marked."""

import dataclasses
import enum
import graphlib
import itertools
from collections.abc import Iterable, Mapping, Sequence

from firstlight.model import plan as model_plan
from firstlight.model.component import Component, Phase, Side
from firstlight.model.diagnostic import Severity
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.source import ChartSource, DirectorySource, SeveralSources

SMALL = 60
"""Nodes up to which each has a second line; beyond it, what is alike is put into boxes."""
_ALL_SECRETS = "core:secrets"
_SECRETS = 4
"""Secrets of the foundation that are shown one by one."""


class NodeLook(enum.StrEnum):
    """How a node is drawn; told apart by form as well as by colour."""

    RUN = "run"
    BOOTSTRAP = "bootstrap"
    HYBRID = "hybrid"
    GITOPS = "gitops"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """One thing in the picture."""

    id: str
    label: str
    detail: str = ""
    phase: Phase
    look: NodeLook
    tip: str = ""
    """What a tooltip says, line by line."""
    group: str = ""
    """With which others it may share a box."""
    severity: Severity | None = None
    is_critical: bool = False
    members: tuple["GraphNode", ...] = ()
    """Of a box: what is in it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """Nodes, each after everything that it needs, and their needs."""

    title: str
    subtitle: str
    nodes: tuple[GraphNode, ...]
    needs: Mapping[str, tuple[str, ...]]
    """What each node needs directly, by ids."""
    critical: frozenset[tuple[str, str]] = frozenset()
    """The edges of the critical path: needed, needing."""


def of(plan: Plan, components: Sequence[Component]) -> Picture:
    """The picture of a plan; what can never run is shown as well, without the needs that hold it up for ever."""
    by_name = {each.name: each for each in components}
    order = [*plan.order(), *plan.stuck()]
    position = {each.id: index for index, each in enumerate(order)}
    needs = {
        each.id: tuple(need.step for need in each.needs if position.get(need.step, len(order)) < position[each.id])
        for each in order
    }
    joined = _joined(order, needs, by_name)
    merged = _merged(needs, joined)
    if not _is_ordered(merged):
        # Two pairs that each need a part of the other would become a circle.
        joined, merged = {}, _merged(needs, {})
    path = [joined.get(each.id, each.id) for each in plan.critical_path()]
    nodes = [_node(each, plan, by_name, set(path)) for each in order if each.id not in joined]
    nodes, merged = _with_one_secret(nodes, merged)
    nodes = _sorted(nodes, merged)
    direct = model_plan.reduced([each.id for each in nodes], merged)
    # The Secrets may have become one node, and a Kustomization one with its release.
    path = [each if each in direct else _ALL_SECRETS for each in path]
    edges = frozenset(pair for pair in itertools.pairwise(path) if pair[0] != pair[1])
    return Picture(plan.cluster, _subtitle(plan, components), tuple(nodes), direct, edges)


def _merged(needs: Mapping[str, Sequence[str]], joined: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The needs where some nodes stand for two."""
    found: dict[str, dict[str, None]] = {name: {} for name in needs if name not in joined}
    for name, wanted in needs.items():
        target = joined.get(name, name)
        for each in wanted:
            if (source := joined.get(each, each)) != target:
                found[target][source] = None
    return {name: tuple(each) for name, each in found.items()}


def _is_ordered(needs: Mapping[str, Sequence[str]]) -> bool:
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError:
        return False
    return True


def _subtitle(plan: Plan, components: Sequence[Component]) -> str:
    errors = sum(each.severity == Severity.ERROR for each in plan.problems)
    facts = [
        f"{len(components)} components in {len(plan.steps)} steps",
        f"critical path: {len(plan.critical_path())} steps",
        *([f"blocked by {errors} error{'s' if errors > 1 else ''}"] if errors else []),
    ]
    return " · ".join(facts)


def _joined(
    order: Sequence[Step], needs: Mapping[str, Sequence[str]], by_name: Mapping[str, Component]
) -> dict[str, str]:
    """Kustomizations that have one child of the same name: the two are one node. The parent's id, and the child's."""
    children: dict[str, list[Step]] = {}
    for step in order:
        component = by_name.get(step.component)
        if component is not None and component.parent and step.action in (Action.WATCH, Action.WATCH_ADOPTION):
            children.setdefault(component.parent, []).append(step)
    found: dict[str, str] = {}
    for step in order:
        mine = children.get(step.component, []) if step.action == Action.WATCH else []
        if len(mine) == 1 and step.component.removeprefix("kustomization/") == mine[0].component.rpartition("/")[2]:
            parent, child = step.id, mine[0].id
            others = [each for each in needs[child] if each != parent]
            if not _reaches(others, parent, needs) and child not in needs[parent]:
                found[parent] = child
    return found


def _reaches(starts: Iterable[str], target: str, needs: Mapping[str, Sequence[str]]) -> bool:
    waiting, seen = list(starts), set[str]()
    while waiting:
        name = waiting.pop()
        if name == target:
            return True
        if name not in seen:
            seen.add(name)
            waiting += needs.get(name, ())
    return False


def _node(step: Step, plan: Plan, by_name: Mapping[str, Component], critical: set[str]) -> GraphNode:
    component = by_name.get(step.component)
    severities = [each.severity for each in plan.problems if each.subject and each.subject == step.component]
    worst = next((each for each in (Severity.ERROR, Severity.WARNING) if each in severities), None)
    if step.action == Action.CREATE_SECRET:
        step = dataclasses.replace(step, name=step.name.rpartition("/")[2])
    label = f"{step.name} CRDs" if step.action == Action.APPLY_CRDS and step.what.startswith("extracted") else step.name
    return GraphNode(
        id=step.id, label=label, detail=_detail(step), phase=step.phase, look=_look(step), tip=_tip(step, plan),
        group=_group(component) if component else "", severity=worst if step.action != Action.APPLY_CRDS else None,
        is_critical=step.id in critical,
    )  # fmt: skip


def _look(step: Step) -> NodeLook:
    if not step.component:
        return NodeLook.RUN
    return {Side.BOOTSTRAP: NodeLook.BOOTSTRAP, Side.HYBRID: NodeLook.HYBRID, Side.GITOPS: NodeLook.GITOPS}[step.side]


def _detail(step: Step) -> str:
    match step.action:
        case Action.WATCH_ADOPTION:
            return "taken over"
        case Action.CONFIGURE:
            return ", ".join(step.targets)
        case Action.CREATE_SECRET:
            return f"Secret in {step.id.split('/')[1]}"
        case Action.SAVE_BASELINE | Action.MIGRATE_OWNERS | Action.CERTIFY | Action.FETCH_KUBECONFIG:
            return str(step.action)
    return step.what


def _tip(step: Step, plan: Plan) -> str:
    needs = ", ".join(plan.by_id[each.step].name for each in step.needs if each.step in plan.by_id)
    lines = [
        step.name,
        f"{step.phase}: {step.action} {step.what}".rstrip(),
        f"needs {needs}" if needs else "",
        str(step.place) if step.place else "",
        *(f"{each.severity}: {each.message}" for each in plan.problems if step.component == each.subject != ""),
    ]
    return "\n".join(each for each in lines if each)


def _group(component: Component) -> str:
    """The namespace that it fills; what stands in the engine's own is told by who brings it."""
    origin = component.origins[-1]
    sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    for source in sources:
        if isinstance(source, ChartSource) and source.namespace:
            return source.namespace
        if isinstance(source, DirectorySource) and source.target_namespace:
            return source.target_namespace
    spaces = {each.namespace for each in origin.objects if each.namespace}
    if len(spaces) == 1:
        return next(iter(spaces))
    return component.parent.removeprefix("kustomization/") or origin.namespace


def _with_one_secret(
    nodes: Sequence[GraphNode], needs: Mapping[str, tuple[str, ...]]
) -> tuple[list[GraphNode], dict[str, tuple[str, ...]]]:
    """Many Secrets of the foundation as one node."""
    secrets = [each for each in nodes if each.id.startswith("core:secret/")]
    if len(secrets) <= _SECRETS:
        return list(nodes), dict(needs)
    ids = {each.id for each in secrets}
    one = dataclasses.replace(
        secrets[0], id=_ALL_SECRETS, label=f"{len(secrets)} Secrets", detail="the foundation",
        tip="\n".join(each.label for each in secrets),
    )  # fmt: skip
    kept = [one if each is secrets[0] else each for each in nodes if each is secrets[0] or each.id not in ids]
    found: dict[str, tuple[str, ...]] = {}
    for name, wanted in needs.items():
        target = one.id if name in ids else name
        renamed = (one.id if each in ids else each for each in wanted)
        found[target] = tuple(dict.fromkeys([*found.get(target, ()), *(each for each in renamed if each != target)]))
    return kept, found


def _sorted(nodes: Sequence[GraphNode], needs: Mapping[str, Sequence[str]]) -> list[GraphNode]:
    """Nodes so that each comes after what it needs, else as they were."""
    by_id = {each.id: each for each in nodes}
    done: dict[str, GraphNode] = {}
    for start in by_id:
        stack = [start]
        while stack:
            name = stack[-1]
            open_needs = [each for each in needs.get(name, ()) if each not in done and each in by_id]
            if name in done or not open_needs:
                done.setdefault(name, by_id[name])
                stack.pop()
            else:
                stack += open_needs
    return list(done.values())
