"""Images that are another thing tomorrow."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.component import Component, Side
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.rendition import Object
from firstlight.plan import cluster_facts, pod_needs
from firstlight.repo import chart_values, platform_view
from firstlight.repo.chart_values import GivenValue
from firstlight.repo.platform_view import PlatformView

_MOVING = re.compile(r"(latest|main|master|edge|nightly|stable)")
_DEEPEST = 12
Way = tuple[str | int, ...]


def images_untagged(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Containers and chart values whose image has no tag, or one that moves; one finding for each workload."""
    for (group, kind), path in pod_needs.TEMPLATES.items():
        for item in scene.of_kind(f"{group}/{kind}"):
            found = [*_containers(item.value, path)]
            if found:
                (way, image), *more = found
                yield rule.finding(
                    f"{item.object.id} runs {image}, which {_what(image)}",
                    at=item.object.at(*way),
                    clusters=(item.cluster,),
                    subject=item.component.name,
                    evidence=tuple(Evidence(f"and {other}", item.object.at(*there)) for there, other in more),
                    # Scaled to nothing it runs nothing until somebody wants it again.
                    severity=Severity.NOTE if at(item.value, "spec", "replicas") == 0 else None,
                )
    yield from _charts(rule, scene)


def _containers(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[Way, str]]:
    spec = mapping(value, *path, "spec")
    for key in ("initContainers", "containers"):
        for number, each in enumerate(sequence(spec, key)):
            image = text(each, "image")
            if image and _what(image):
                yield (*path, "spec", key, number, "image"), image


def _what(image: str) -> str:
    """What is wrong with an image; empty where it is fixed, or not known."""
    if "@" in image or "$" in image or "{" in image:
        return ""
    _, colon, tag = image.rpartition("/")[2].partition(":")
    if not colon:
        return "has no tag, so that it is latest"
    return f"is another image after each push to {tag}" if _MOVING.fullmatch(tag) else ""


def _charts(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    for component in scene.platform.components:
        for layer in scene.values(component):
            if not layer.chart.name:
                continue
            found = [*_tags(layer.value, ())]
            if found:
                (way, tag), *more = found
                yield rule.finding(
                    f"{component.name} sets {'.'.join(map(str, way))}: {tag}, which is another image after each push",
                    at=layer.at(*way),
                    clusters=(component.cluster,),
                    subject=component.name,
                    evidence=tuple(
                        Evidence(f"{'.'.join(map(str, there))}: {each}", layer.at(*there)) for there, each in more
                    ),
                )


def _tags(value: Any, way: Way) -> Iterator[tuple[Way, str]]:
    """Tags of images in values: ``image.tag`` without a digest, at any depth."""
    if isinstance(value, list) and len(way) < _DEEPEST:
        for number, each in enumerate(value):
            yield from _tags(each, (*way, number))
    if not isinstance(value, Mapping) or len(way) >= _DEEPEST:
        return
    for key, inner in value.items():
        is_image = isinstance(key, str) and key.lower().endswith("image")
        if is_image and isinstance(inner, Mapping):
            tag = text(inner, "tag")
            if _MOVING.fullmatch(tag) and not text(inner, "digest"):
                yield (*way, key, "tag"), tag
        elif is_image and isinstance(inner, str) and ":" in inner and _what(inner):
            yield (*way, key), inner
        else:
            yield from _tags(inner, (*way, key))


# Replicas of what bootstrap brings against the number of nodes.


_OPERATOR = 2
"""Replicas of Cilium's operator unless something else is said; no node takes two."""


def replicas_beyond_nodes(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """More replicas than nodes that take one each."""
    for cluster in scene.clusters:
        nodes = _nodes(scene, cluster.name)
        if not nodes:
            continue
        counted = Evidence(f"the cluster has {_count(nodes, 'machine')}", cluster.place)
        for component, given in _operators(scene, cluster.name):
            wanted = _number(given) if given else _OPERATOR
            if wanted is not None and wanted > nodes and not scene.value(component, "operator", "affinity"):
                yield rule.finding(
                    f"the operator of {component.name} wants {wanted} replicas, no two on one node, and "
                    f"there {'is' if nodes == 1 else 'are'} {_count(nodes, 'node')}",
                    at=given.place if given else cluster_facts.place(component, Side.BOOTSTRAP),
                    clusters=(cluster.name,),
                    subject=component.name,
                    evidence=(counted,),
                    fix=f"Write operator.replicas: {nodes} until there are more nodes.",
                )
        yield from _stated(rule, scene, cluster.name, nodes, counted)


def _stated(rule: AuditRule, scene: PlatformView, cluster: str, nodes: int, counted: Evidence) -> Iterator[Finding]:
    """Workloads that bootstrap applies as they are."""
    known = scene.facts[cluster]
    for item in scene.of_cluster(cluster, "apps/Deployment", "apps/StatefulSet"):
        if item.origin.side is not Side.BOOTSTRAP:
            continue
        if not known.schedules_on_control_planes.is_known:
            continue
        wanted = at(item.value, "spec", "replicas")
        obj = Object(item.value)
        takes_all = known.schedules_on_control_planes.value or pod_needs.tolerates_control_planes(obj)
        able = nodes if takes_all else known.workers
        reason = pod_needs.one_per_node(obj)
        if isinstance(wanted, int) and reason and 0 < able < wanted:
            yield rule.finding(
                f"{item.object.id} wants {wanted} replicas with {reason}, and {_count(able, 'node')} "
                f"{'takes' if able == 1 else 'take'} them",
                at=item.object.at("spec", "replicas"),
                clusters=(cluster,),
                subject=item.component.name,
                evidence=(counted,),
            )


def replicas_single(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """One replica of what everything depends on, where there are nodes for two."""
    for cluster in scene.clusters:
        nodes = _nodes(scene, cluster.name)
        if nodes < 2:
            continue
        counted = Evidence(f"the cluster has {_count(nodes, 'machine')}", cluster.place)
        for component, given in _operators(scene, cluster.name):
            if given is not None and _number(given) == 1:
                yield rule.finding(
                    f"the operator of {component.name} has one replica on {nodes} nodes",
                    at=given.place,
                    clusters=(cluster.name,),
                    subject=component.name,
                    evidence=(counted,),
                    fix="Write operator.replicas: 2.",
                    severity=Severity.NOTE,
                )
        for component in scene.facts[cluster.name].with_role("dns"):
            given = scene.value(component, "replicaCount")
            scaled = any(
                platform_view.is_switched_on(scene, component, side, path, default=False)[0]
                for side in (Side.BOOTSTRAP, Side.GITOPS)
                for path in ("hpa.enabled", "autoscaler.enabled")
            )
            if given is not None and _number(given) == 1 and not scaled:
                yield rule.finding(
                    f"{component.name} has one replica on {nodes} nodes",
                    at=given.place,
                    clusters=(cluster.name,),
                    subject=component.name,
                    evidence=(counted,),
                    fix="Write replicaCount: 2.",
                )


def _operators(scene: PlatformView, cluster: str) -> Iterator[tuple[Component, GivenValue | None]]:
    """Cilium as a chart, with the number of replicas that its operator is given."""
    for component in scene.with_role("cni", cluster):
        if chart_values.has_chart(component, "cilium"):
            yield component, scene.value(component, "operator", "replicas")


def _nodes(scene: PlatformView, cluster: str) -> int:
    """How many machines a cluster has; 0 where nobody knows. Cilium's operator tolerates every taint."""
    known = scene.facts[cluster]
    return 0 if known.unlisted else len(known.cluster.machines)


def _number(given: GivenValue) -> int | None:
    return int(str(given.value)) if str(given.value).isdigit() else None


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
