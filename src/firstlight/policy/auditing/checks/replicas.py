"""Replicas of what bootstrap brings against the number of nodes."""

from collections.abc import Iterator

from firstlight.document.within import at
from firstlight.model.component import Component, Side
from firstlight.model.finding import Evidence, Severity
from firstlight.model.rendition import Object
from firstlight.plan import facts, pods
from firstlight.policy.auditing import charts, merged_values
from firstlight.policy.auditing.chart_values import Given
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_OPERATOR = 2
"""Replicas of Cilium's operator unless something else is said; no node takes two."""


def beyond_nodes(scene: Scene) -> Iterator[Hit]:
    """More replicas than nodes that take one each."""
    for cluster in scene.clusters:
        nodes = _nodes(scene, cluster.name)
        if not nodes:
            continue
        counted = Evidence(f"the cluster has {_count(nodes, 'machine')}", cluster.place)
        for component, given in _operators(scene, cluster.name):
            wanted = _number(given) if given else _OPERATOR
            if wanted is not None and wanted > nodes and not scene.value(component, "operator", "affinity"):
                yield Hit(
                    message=f"the operator of {component.name} wants {wanted} replicas, no two on one node, and "
                    f"there {'is' if nodes == 1 else 'are'} {_count(nodes, 'node')}",
                    place=given.place if given else facts.place(component, Side.BOOTSTRAP),
                    clusters=(cluster.name,),
                    component=component.name,
                    evidence=(counted,),
                    fix=f"Write operator.replicas: {nodes} until there are more nodes.",
                )
        yield from _stated(scene, cluster.name, nodes, counted)


def _stated(scene: Scene, cluster: str, nodes: int, counted: Evidence) -> Iterator[Hit]:
    """Workloads that bootstrap applies as they are."""
    known = scene.facts[cluster]
    for item in scene.of_cluster(cluster, "apps/Deployment", "apps/StatefulSet"):
        if item.origin.side is not Side.BOOTSTRAP:
            continue
        wanted = at(item.value, "spec", "replicas")
        obj = Object(item.value)
        takes_all = known.cluster.schedules_on_control_planes is True or pods.tolerates_control_planes(obj)
        able = nodes if takes_all else known.workers
        reason = pods.one_per_node(obj)
        if isinstance(wanted, int) and reason and 0 < able < wanted:
            yield Hit(
                message=f"{item.object.id} wants {wanted} replicas with {reason}, and {_count(able, 'node')} "
                f"{'takes' if able == 1 else 'take'} them",
                place=item.object.at("spec", "replicas"),
                clusters=(cluster,),
                component=item.component.name,
                evidence=(counted,),
            )


def single(scene: Scene) -> Iterator[Hit]:
    """One replica of what everything depends on, where there are nodes for two."""
    for cluster in scene.clusters:
        nodes = _nodes(scene, cluster.name)
        if nodes < 2:
            continue
        counted = Evidence(f"the cluster has {_count(nodes, 'machine')}", cluster.place)
        for component, given in _operators(scene, cluster.name):
            if given is not None and _number(given) == 1:
                yield Hit(
                    message=f"the operator of {component.name} has one replica on {nodes} nodes",
                    place=given.place,
                    clusters=(cluster.name,),
                    component=component.name,
                    evidence=(counted,),
                    fix="Write operator.replicas: 2.",
                    severity=Severity.NOTE,
                )
        for component in scene.facts[cluster.name].with_role("dns"):
            given = scene.value(component, "replicaCount")
            scaled = any(
                merged_values.is_on(scene, component, side, path, default=False)[0]
                for side in (Side.BOOTSTRAP, Side.GITOPS)
                for path in ("hpa.enabled", "autoscaler.enabled")
            )
            if given is not None and _number(given) == 1 and not scaled:
                yield Hit(
                    message=f"{component.name} has one replica on {nodes} nodes",
                    place=given.place,
                    clusters=(cluster.name,),
                    component=component.name,
                    evidence=(counted,),
                    fix="Write replicaCount: 2.",
                )


def _operators(scene: Scene, cluster: str) -> Iterator[tuple[Component, Given | None]]:
    """Cilium as a chart, with the number of replicas that its operator is given."""
    for component in scene.with_role("cni", cluster):
        if charts.has(component, "cilium"):
            yield component, scene.value(component, "operator", "replicas")


def _nodes(scene: Scene, cluster: str) -> int:
    """How many machines a cluster has; 0 where nobody knows. Cilium's operator tolerates every taint."""
    known = scene.facts[cluster]
    return 0 if known.unlisted else len(known.cluster.machines)


def _number(given: Given) -> int | None:
    return int(str(given.value)) if str(given.value).isdigit() else None


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
