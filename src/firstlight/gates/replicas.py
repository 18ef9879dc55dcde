"""Deployments, DaemonSets, StatefulSets, ReplicaSets: how many are up, and how many must be.

All of them must be up that the nodes can take: with required anti-affinity a second replica waits for a second node,
and nobody waits for it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, text
from firstlight.gates import pod_placement
from firstlight.model.verdict import Passed, Verdict, Waiting

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


@dataclasses.dataclass(frozen=True, slots=True)
class WantedReplicas:
    """How many replicas are declared, and how many the nodes take now."""

    all: int
    now: int
    rest: str = ""
    """What the others wait for."""


def wanted(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> WantedReplicas:
    """min(replicas, nodes that can take one), and at least one."""
    declared = at(value, "spec", "replicas")
    total = max(0, declared) if isinstance(declared, int) and not isinstance(declared, bool) else 1
    room = pod_placement.room(mapping(value, "spec", "template"), nodes)
    if not room.apart or room.most is None or room.most >= total:
        return WantedReplicas(total, total)
    least = max(1, room.most)
    return WantedReplicas(total, least, _rest(least, total) if least < total else "")


def _rest(least: int, total: int) -> str:
    if total - least == 1 and least < len(_ORDINALS):
        return f"{_ORDINALS[least]} replica waits for a {_ORDINALS[least]} node"
    return f"{total - least} replicas wait for more nodes"


def deployment(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Verdict:
    """A Deployment: rolled out, available."""
    want = wanted(value, nodes)
    total, updated = number(value, "status", "replicas"), number(value, "status", "updatedReplicas")
    available = number(value, "status", "availableReplicas")
    if want.all == 0:
        return _gone(value)
    count = f"{available}/{want.now}"
    if at(value, "spec", "paused") is True and updated < want.now:
        return Waiting(f"{count}, and its rollout is paused")
    if updated < want.now or available < want.now:
        return Waiting(f"{count}{_late(value)}")
    if total > updated:
        return Waiting(f"{count}, and {_counted(total - updated, 'old replica')} still to go")
    if want.now == want.all and conditions.is_false(value, "Available"):
        return Waiting(f"{count}, not Available")
    return _up(available, want)


def _gone(value: Mapping[str, Any]) -> Verdict:
    """Where none is declared, those that are left must go."""
    total = number(value, "status", "replicas")
    return Waiting(f"{total} replicas must go") if total else Passed("0/0, as declared")


def _late(value: Mapping[str, Any]) -> str:
    """That the deadline is over, which is no end: a node may join, and the Deployment goes on by itself."""
    reason = text(conditions.condition(value, "Progressing"), "reason")
    return ", past its progress deadline" if reason == "ProgressDeadlineExceeded" else ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count > 1 else ''}"


def _up(available: int, want: WantedReplicas) -> Passed:
    return Passed(f"{available}/{want.all}" + (f", {want.rest}" if want.rest else ""))


def daemon_set(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Verdict:
    """A DaemonSet: on every node that it is for, updated and available."""
    desired = number(value, "status", "desiredNumberScheduled")
    updated, available = number(value, "status", "updatedNumberScheduled"), number(value, "status", "numberAvailable")
    if desired == 0:
        return Passed("0/0, no node is to have one") if nodes else Waiting("0/0, no node has joined yet")
    is_rolling = text(value, "spec", "updateStrategy", "type") != "OnDelete"
    if is_rolling and updated < desired:
        return Waiting(f"{updated}/{desired} updated")
    return Waiting(f"{available}/{desired}") if available < desired else Passed(f"{available}/{desired}")


def stateful_set(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Verdict:
    """A StatefulSet: all pods that can be, ready and of the last revision."""
    want = wanted(value, nodes)
    ready, updated = number(value, "status", "readyReplicas"), number(value, "status", "updatedReplicas")
    if want.all == 0:
        return _gone(value)
    if ready < want.now:
        return Waiting(f"{ready}/{want.now}")
    held = number(value, "spec", "updateStrategy", "rollingUpdate", "partition")
    is_rolling = text(value, "spec", "updateStrategy", "type") != "OnDelete"
    if is_rolling and updated < max(0, want.now - held):
        return Waiting(f"{ready}/{want.now}, {updated} of the last revision")
    return _up(ready, want)


def replica_set(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Verdict:
    """A ReplicaSet by itself."""
    want, available = wanted(value, nodes), number(value, "status", "availableReplicas")
    if want.all == 0:
        return _gone(value)
    return Waiting(f"{available}/{want.now}") if available < want.now else _up(available, want)


# cilium-operator with two replicas on the first node, as the Deployment controller leaves it:
#
# metadata: {generation: 1, name: cilium-operator, namespace: kube-system}
# spec: {replicas: 2, progressDeadlineSeconds: 600, …}
# status:
#   observedGeneration: 1
#   replicas: 2
#   updatedReplicas: 2
#   readyReplicas: 1
#   availableReplicas: 1
#   unavailableReplicas: 1
#   conditions:
#   - {type: Available, status: "True", reason: MinimumReplicasAvailable, lastTransitionTime: "2026-11-16T06:39:31Z",
#      message: Deployment has minimum availability.}
#   - {type: Progressing, status: "False", reason: ProgressDeadlineExceeded, lastTransitionTime: "2026-11-16T06:49:02Z",
#      message: ReplicaSet "cilium-operator-6c5f8d9b7" has timed out progressing.}
#
# A DaemonSet:
#
# status: {observedGeneration: 1, currentNumberScheduled: 3, desiredNumberScheduled: 3, numberMisscheduled: 0,
#   numberReady: 2, numberAvailable: 2, numberUnavailable: 1, updatedNumberScheduled: 3}
