"""Why the scheduler finds no node for a pod."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import sequence, text
from firstlight.gates import placing, status
from firstlight.gates.causes import of_claims, of_nodes
from firstlight.gates.causes.cause import Cause

_TAINTS = {
    "node.cilium.io/agent-not-ready": "the Cilium agent on it is not up",
    "node.cloudprovider.kubernetes.io/uninitialized": "no cloud controller manager has initialised the node",
    "node.kubernetes.io/unschedulable": "somebody cordoned the node",
    "node.kubernetes.io/disk-pressure": "its disk is full",
    "node.kubernetes.io/memory-pressure": "its memory is used up",
    placing.CONTROL_PLANE: "control planes take no ordinary pods: it needs a worker, a toleration, "
    "or cluster.allowSchedulingOnControlPlanes",
}
_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def of(
    pod: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]] = (),
    *,
    events: Sequence[Mapping[str, Any]] = (),
) -> Cause | None:
    """Why a pod has no node; None where the scheduler says nothing of it."""
    scheduled = status.condition(pod, "PodScheduled")
    if text(scheduled, "status") != "False":
        return None
    since = status.since(pod, "PodScheduled")
    if text(scheduled, "reason") == "SchedulingGated":
        return Cause("scheduling gates hold its pod back", "a controller that must open them", since, 2)
    message, _, _ = text(scheduled, "message").partition(" preemption:")
    if "unbound immediate PersistentVolumeClaims" in message or "persistentvolumeclaim" in message:
        return _claims(pod, claims, events, message=message, since=since)
    if not nodes or "no nodes available" in message:
        return Cause("no node has joined yet", "the machines still boot", since, 2)
    nodes = placing.aimed(pod, nodes)
    refusals = [placing.refusal(pod, each) for each in nodes]
    if refusals and all(refusals):
        return _refused(nodes, refusals, since)
    short = [each for each in ("cpu", "memory", "ephemeral-storage", "pods") if f"Insufficient {each}" in message]
    if not short and "Too many pods" in message:
        short = ["room for more pods"]
    if short:
        return Cause(
            f"no node has enough {' and '.join(short)} left", "requests that are larger than the node", since, 2
        )
    if "anti-affinity" in message or "free ports" in message:
        usually = "there are fewer nodes than replicas: the scheduler places it when a node joins"
        return Cause("anti-affinity or a host port keeps it off the nodes that have one already", usually, since, 4)
    return Cause(f"no node takes its pod ({status.said(message) or 'no reason given'})", "", since, 2)


def _refused(nodes: Sequence[Mapping[str, Any]], refusals: Sequence[str], since: float | None) -> Cause:
    """No node takes it by rule: the node's own trouble tells more than the taint."""
    for node, why in zip(nodes, refusals, strict=True):
        if why.removeprefix("taint ") in _NOT_READY and (cause := of_nodes.of(node)):
            return Cause(f"no node takes its pod: {cause.what}", cause.usually, cause.since or since, 1)
    # That control planes take nothing is so in most clusters; another refusal tells more.
    why = max(
        dict.fromkeys(refusals), key=lambda each: (each != f"taint {placing.CONTROL_PLANE}", refusals.count(each))
    )
    usually = _TAINTS.get(why.removeprefix("taint "), "a toleration or a label is missing")
    told = ", ".join(f"{each} ({refusals.count(each)} of {len(nodes)} nodes)" for each in dict.fromkeys(refusals))
    return Cause(f"no node takes its pod: {told}", usually, since, 1)


def _claims(
    pod: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    *,
    message: str,
    since: float | None,
) -> Cause:
    names = {
        text(each, "persistentVolumeClaim", "claimName")
        for each in sequence(pod, "spec", "volumes")
        if text(each, "persistentVolumeClaim", "claimName")
    }
    if found := re.search(r'persistentvolumeclaim "([^"]+)" not found', message):
        return Cause(f"the volume claim {found[1]} does not exist", "it is made by something else", since, 1)
    pending = [
        each for each in claims if text(each, "metadata", "name") in names and text(each, "status", "phase") != "Bound"
    ]
    if not pending:
        return Cause("its volume claim is not bound", "no storage class, or no provisioner", since, 1)
    return of_claims.of(pending[0], events, since)


# A pod on a cluster of tainted control planes (kube-scheduler 1.34):
#
# status:
#   phase: Pending
#   qosClass: Burstable
#   conditions:
#   - type: PodScheduled
#     status: "False"
#     reason: Unschedulable
#     message: '0/3 nodes are available: 3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.
#       preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.'
#     lastTransitionTime: "2026-11-16T06:38:02Z"
