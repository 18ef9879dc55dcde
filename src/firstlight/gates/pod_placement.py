"""How many pods of a workload the nodes take: taints, node selectors, and rules that keep two pods apart."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import label_selector

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_HOSTNAME = "kubernetes.io/hostname"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_CORDONED: Mapping[str, Any] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """What the nodes have room for, by rules; whether CPU and memory suffice is the scheduler's to say."""

    takers: int
    """How many nodes can take a pod."""
    most: int | None
    """How many pods at once; None for any number."""
    apart: str = ""
    """Why two pods cannot share a node."""
    refusals: tuple[str, ...] = ()
    """Why other nodes take none: ``taint node-role.kubernetes.io/control-plane (3 nodes)``."""


def room(template: Any, nodes: Sequence[Mapping[str, Any]]) -> Room:
    """What the nodes take of a pod template."""
    refused = [(node, refusal(template, node)) for node in nodes]
    able = [node for node, why in refused if not why]
    apart, key = _apart(template)
    counts = Counter(why for _, why in refused if why)
    refusals = tuple(f"{why} ({count} node{'s' if count > 1 else ''})" for why, count in counts.most_common())
    if not apart:
        return Room(len(able), None if able else 0, refusals=refusals)
    places = [text(node, "metadata", "labels", key) for node in able]
    # A node without the label is in no place with others: the rule does not keep pods off it.
    return Room(len(able), len({each for each in places if each}) + places.count(""), apart, refusals)


def refusal(template: Any, node: Any) -> str:
    """Why a node does not take a pod; empty if it does."""
    spec = mapping(template, "spec")
    for taint in taints(node):
        if not any(_tolerates(each, taint) for each in sequence(spec, "tolerations")):
            return f"taint {text(taint, 'key')}"
    labels = mapping(node, "metadata", "labels")
    selector = mapping(spec, "nodeSelector")
    if missing := [f"{key}={value}" for key, value in selector.items() if labels.get(key) != value]:
        return f"no label {missing[0]}"
    terms = sequence(spec, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
    if terms and not any(_is_meant(each, node) for each in terms):
        return "required node affinity"
    return ""


def aimed(pod: Any, nodes: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The nodes that a pod is made for: the one of a DaemonSet's pod, else all."""
    terms = [
        each
        for each in sequence(pod, "spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
        if sequence(each, "matchFields")
    ]
    return [node for node in nodes if any(_is_meant(each, node) for each in terms)] if terms else nodes


def taints(node: Any) -> list[Mapping[str, Any]]:
    """The taints of a node that keep pods off."""
    found = [mapping(each) for each in sequence(node, "spec", "taints")]
    strict = [each for each in found if text(each, "effect") in ("NoSchedule", "NoExecute")]
    if at(node, "spec", "unschedulable") is True and all(text(each, "key") != _CORDONED["key"] for each in strict):
        strict.append(_CORDONED)
    return strict


def _tolerates(toleration: Any, taint: Mapping[str, Any]) -> bool:
    key, effect = text(toleration, "key"), text(toleration, "effect")
    if effect and effect != text(taint, "effect"):
        return False
    if text(toleration, "operator") == "Exists":
        return not key or key == text(taint, "key")
    return key == text(taint, "key") and text(toleration, "value") == text(taint, "value")


def _is_meant(term: Any, node: Any) -> bool:
    labels, name = mapping(node, "metadata", "labels"), text(node, "metadata", "name")
    expressions, fields = sequence(term, "matchExpressions"), sequence(term, "matchFields")
    return (
        bool(expressions or fields)
        and all(label_selector.holds(each, labels) for each in expressions)
        and all(label_selector.holds(each, {"metadata.name": name}) for each in fields)
    )


def _apart(template: Any) -> tuple[str, str]:
    """Why two pods of a template cannot share a place, and which label of nodes makes the place."""
    labels = mapping(template, "metadata", "labels")
    for rule in sequence(template, "spec", "affinity", "podAntiAffinity", _REQUIRED):
        if label_selector.matches(mapping(rule, "labelSelector"), labels):
            return "required anti-affinity", text(rule, "topologyKey") or _HOSTNAME
    if any(at(port, "hostPort") for each in _containers(template) for port in sequence(each, "ports")):
        return "a host port", _HOSTNAME
    return "", ""


def _containers(template: Any) -> Iterable[Any]:
    return sequence(template, "spec", "containers")
