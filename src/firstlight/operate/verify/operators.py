"""Operators with replicas that keep apart: as many as nodes can take, and none was scaled by hand to get there."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, number, sequence, text
from firstlight.gates import looking, parts, placing, replicas, status
from firstlight.gates.question import Question
from firstlight.model.observation import Look, View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict

DEPLOYMENTS = Look(api_version="apps/v1", kind="Deployment")
_AUTOSCALER = "kube-controller-manager"
"""As whom a HorizontalPodAutoscaler scales."""


def question() -> Question:
    """All Deployments whose replicas cannot share a node."""
    part = parts.Part((DEPLOYMENTS, looking.NODES), judge)
    return parts.question(Gate(Subject.WORKLOAD), "operator replicas", part, hint="See: kubectl get deployments -A")


def judge(view: View) -> Verdict:
    """The worst of them, or how many replicas each has."""
    nodes = view.all(looking.NODES)
    found = [_judged(each, nodes) for each in view.all(DEPLOYMENTS) if _is_apart(each, nodes)]
    if not found:
        return Skipped("no Deployment keeps its replicas apart")
    verdict = parts.worst(found)
    return Passed(f"{verdict.reason}; none was scaled by hand") if isinstance(verdict, Passed) else verdict


def _is_apart(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> bool:
    is_several = number(value, "spec", "replicas") > 1 and not status.is_going(value)
    return is_several and bool(placing.room(mapping(value, "spec", "template"), nodes).apart)


def _judged(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Verdict:
    name = text(value, "metadata", "name")
    by_hand = sorted(
        text(entry, "manager")
        for entry in sequence(value, "metadata", "managedFields")
        if text(entry, "subresource") == "scale" and text(entry, "manager") != _AUTOSCALER
    )
    if by_hand:
        return Failed(f"{name} was scaled by {', '.join(by_hand)}, not by the scheduler's finding a node")
    verdict = replicas.deployment(value, nodes)
    return type(verdict)(f"{name} {verdict.reason}")
