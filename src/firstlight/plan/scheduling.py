"""Whether a node takes the pods of bootstrap's components: the taint of control planes, and one pod to a node."""

from collections.abc import Iterator

from firstlight.document.within import at
from firstlight.model import talos_facts
from firstlight.model.component import Component, Phase, Side
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.rendition import Object
from firstlight.model.talos_facts import TalosField
from firstlight.plan import cluster_facts, pod_needs
from firstlight.plan.cluster_facts import ClusterFacts

_FIELD = "schedules_on_control_planes"


def problems(known: ClusterFacts) -> Iterator[Diagnostic]:
    """Pods that no node takes, and replicas that wait for another node."""
    if not known.cluster.machines:
        return
    for component in known.bootstrap:
        if component.phase == Phase.CRDS:
            continue
        takes = known.schedules_on_control_planes
        if known.workers == 0 and takes.is_known and not takes.value:
            yield from _unschedulable(known, component)
        yield from _alone(known, component)


def wants_workers(known: ClusterFacts, component: Component) -> bool:
    """Whether a component waits for the first worker, since control planes are tainted."""
    return not known.schedules_on_control_planes.value and bool(_refused(known, component) or _may(known, component))


def _refused(known: ClusterFacts, component: Component) -> list[Object]:
    """Its rendered workloads that no control plane takes."""
    return [
        each
        for each in known.objects(component, Side.BOOTSTRAP)
        if pod_needs.runs_at_start(each) and not pod_needs.tolerates_control_planes(each)
    ]


def _may(known: ClusterFacts, component: Component) -> bool:
    """Whether a component that was not rendered is one whose pods tolerate no taint by default."""
    if known.rendition(component, Side.BOOTSTRAP) is not None or component.role in ("cni", "crds"):
        return False
    return component.role == "engine" and not _mentions_tolerations(component)


def _mentions_tolerations(component: Component) -> bool:
    """Whether somebody thought of it: in values, or in patches of the FluxInstance."""
    texts = [str(dict(origin.definition)) for origin in component.origins]
    texts += [
        str(values.inline) for chart in cluster_facts.charts(component, Side.BOOTSTRAP) for values in chart.values
    ]
    return any("tolerations" in each for each in texts)


def _unschedulable(known: ClusterFacts, component: Component) -> Iterator[Diagnostic]:
    refused = _refused(known, component)
    if not refused and not _may(known, component):
        return
    who = ", ".join(f"{each.id.kind} {each.id.name}" for each in refused[:3]) or "its pods"
    more = f" and {len(refused) - 3} more" if len(refused) > 3 else ""
    takes = known.schedules_on_control_planes
    workers = [Evidence(each.message, each.place, where=known.cluster.name) for each in known.unlisted]
    yield Diagnostic(
        code="pods-unschedulable",
        # What a chart tolerates by default is not known before it is rendered.
        severity=Severity.ERROR if refused and not workers else Severity.WARNING,
        basis=takes.basis,
        message=f"{'perhaps ' if workers else ''}no node takes the pods of {component.name}: {_tainted(known)}",
        evidence=(
            Evidence(
                f"{who}{more}: no toleration for control planes",
                cluster_facts.place(component, Side.BOOTSTRAP),
                where=component.name,
            ),
            *(workers or [Evidence("has no workers", known.cluster.place, where=known.cluster.name)]),
            Evidence(f"control planes take workloads: {takes}", known.said(_FIELD), where=known.cluster.name),
        ),
        fix=f"{talos_facts.how_to_turn_off(known.cluster, TalosField.SCHEDULES)} Or add a worker, or let "
        f"{component.name} tolerate {pod_needs.CONTROL_PLANE_TAINT}.",
        subject=component.name,
    )


def _tainted(known: ClusterFacts) -> str:
    """That all machines are tainted, as far as the repo lists them."""
    listed = " that the repo lists" if known.unlisted else ""
    if known.control_planes == 1:
        return f"the only machine{listed} is a tainted control plane"
    return f"all {known.control_planes} machines{listed} are tainted control planes"


def _alone(known: ClusterFacts, component: Component) -> Iterator[Diagnostic]:
    """Two replicas that cannot share the one node that takes them: harmless, and a gate must know it."""
    for item in known.objects(component, Side.BOOTSTRAP):
        wanted = at(item.value, "spec", "replicas")
        reason = pod_needs.one_per_node(item)
        if item.id.kind not in {"Deployment", "StatefulSet"} or not isinstance(wanted, int) or not reason:
            continue
        takes_control_planes = known.schedules_on_control_planes.value or pod_needs.tolerates_control_planes(item)
        nodes = known.workers + (known.control_planes if takes_control_planes else 0)
        if 0 < nodes < wanted and not known.unlisted:
            yield Diagnostic.note(
                "replicas-wait",
                f"{item.id.kind} {item.id.name} wants {wanted} replicas with {reason}, and {nodes} "
                f"node{' takes' if nodes == 1 else 's take'} them: the rest waits, the gate asks for {nodes}",
                evidence=(
                    Evidence(
                        f"{wanted} replicas, {reason}",
                        cluster_facts.place(component, Side.BOOTSTRAP),
                        where=component.name,
                    ),
                ),
                fix="Nothing: the scheduler places the rest when a node joins.",
                subject=component.name,
            )
