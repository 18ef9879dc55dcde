"""Why the scheduler finds no node for a pod."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.gates import pod_placement
from firstlight.gates.causes.refusals import WaitCause

_TAINTS = {
    "node.cilium.io/agent-not-ready": "the Cilium agent on it is not up",
    "node.cloudprovider.kubernetes.io/uninitialized": "no cloud controller manager has initialised the node",
    "node.kubernetes.io/unschedulable": "somebody cordoned the node",
    "node.kubernetes.io/disk-pressure": "its disk is full",
    "node.kubernetes.io/memory-pressure": "its memory is used up",
    pod_placement.CONTROL_PLANE: "control planes take no ordinary pods: it needs a worker, a toleration, "
    "or cluster.allowSchedulingOnControlPlanes",
}
_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def placing_cause(
    pod: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    claims: Sequence[Mapping[str, Any]] = (),
    *,
    events: Sequence[Mapping[str, Any]] = (),
) -> WaitCause | None:
    """Why a pod has no node; None where the scheduler says nothing of it."""
    scheduled = conditions.condition(pod, "PodScheduled")
    if text(scheduled, "status") != "False":
        return None
    since = conditions.condition_since(pod, "PodScheduled")
    if text(scheduled, "reason") == "SchedulingGated":
        return WaitCause("scheduling gates hold its pod back", "a controller that must open them", since, 2)
    message, _, _ = text(scheduled, "message").partition(" preemption:")
    if "unbound immediate PersistentVolumeClaims" in message or "persistentvolumeclaim" in message:
        return _claims(pod, claims, events, message=message, since=since)
    if not nodes or "no nodes available" in message:
        return WaitCause("no node has joined yet", "the machines still boot", since, 2)
    nodes = pod_placement.aimed(pod, nodes)
    refusals = [pod_placement.refusal(pod, each) for each in nodes]
    if refusals and all(refusals):
        return _refused(nodes, refusals, since)
    short = [each for each in ("cpu", "memory", "ephemeral-storage", "pods") if f"Insufficient {each}" in message]
    if not short and "Too many pods" in message:
        short = ["room for more pods"]
    if short:
        return WaitCause(
            f"no node has enough {' and '.join(short)} left", "requests that are larger than the node", since, 2
        )
    if "anti-affinity" in message or "free ports" in message:
        usually = "there are fewer nodes than replicas: the scheduler places it when a node joins"
        return WaitCause("anti-affinity or a host port keeps it off the nodes that have one already", usually, since, 4)
    return WaitCause(f"no node takes its pod ({conditions.said(message) or 'no reason given'})", "", since, 2)


def _refused(nodes: Sequence[Mapping[str, Any]], refusals: Sequence[str], since: float | None) -> WaitCause:
    """No node takes it by rule: the node's own trouble tells more than the taint."""
    for node, why in zip(nodes, refusals, strict=True):
        if why.removeprefix("taint ") in _NOT_READY and (cause := node_cause(node)):
            return WaitCause(f"no node takes its pod: {cause.what}", cause.usually, cause.since or since, 1)
    # That control planes take nothing is so in most clusters; another refusal tells more.
    why = max(
        dict.fromkeys(refusals), key=lambda each: (each != f"taint {pod_placement.CONTROL_PLANE}", refusals.count(each))
    )
    usually = _TAINTS.get(why.removeprefix("taint "), "a toleration or a label is missing")
    told = ", ".join(f"{each} ({refusals.count(each)} of {len(nodes)} nodes)" for each in dict.fromkeys(refusals))
    return WaitCause(f"no node takes its pod: {told}", usually, since, 1)


def _claims(
    pod: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    *,
    message: str,
    since: float | None,
) -> WaitCause:
    names = {
        text(each, "persistentVolumeClaim", "claimName")
        for each in sequence(pod, "spec", "volumes")
        if text(each, "persistentVolumeClaim", "claimName")
    }
    if found := re.search(r'persistentvolumeclaim "([^"]+)" not found', message):
        return WaitCause(f"the volume claim {found[1]} does not exist", "it is made by something else", since, 1)
    pending = [
        each for each in claims if text(each, "metadata", "name") in names and text(each, "status", "phase") != "Bound"
    ]
    if not pending:
        return WaitCause("its volume claim is not bound", "no storage class, or no provisioner", since, 1)
    return claim_cause(pending[0], events, since)


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


# Why a volume claim is not bound.


def claim_cause(
    claim: Mapping[str, Any], events: Sequence[Mapping[str, Any]] = (), since: float | None = None
) -> WaitCause:
    """Why a claim is pending: what its provisioner says, else who must provide for it."""
    name, kind = text(claim, "metadata", "name"), text(claim, "spec", "storageClassName")
    began = since or conditions.created(claim)
    usually = (
        f"the provisioner of the storage class {kind} does not run" if kind else "no storage class is the default one"
    )
    mine = {
        text(each, "reason"): text(each, "message")
        for each in events
        if text(each, "involvedObject", "kind") == "PersistentVolumeClaim"
        and text(each, "involvedObject", "name") == name
        and text(each, "involvedObject", "namespace") == text(claim, "metadata", "namespace")
    }
    if message := mine.get("ProvisioningFailed"):
        return WaitCause(f"the volume claim {name} is pending: {conditions.said(message)}", usually, began, 1)
    if "WaitForFirstConsumer" in mine and "ExternalProvisioning" not in mine:
        return WaitCause(f"the volume claim {name} waits for a pod that uses it", "", began, 1)
    return WaitCause(f"the volume claim {name} is pending", usually, began, 1)


# A claim of a storage class that does not exist, with its event:
#
# spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}, storageClassName: fast}
# status: {phase: Pending}
#
# apiVersion: v1
# kind: Event
# involvedObject: {apiVersion: v1, kind: PersistentVolumeClaim, name: data, namespace: db}
# reason: ProvisioningFailed
# message: storageclass.storage.k8s.io "fast" not found
# type: Warning


# Why a node is not ready.


_NO_NETWORK = ("networkpluginnotready", "cni plugin not initialized", "cni config uninitialized", "networkready=false")


def node_cause(node: Mapping[str, Any]) -> WaitCause | None:
    """Why a node is not ready; None if it is."""
    ready = conditions.condition(node, "Ready")
    if text(ready, "status") == "True":
        return None
    name, since = text(node, "metadata", "name"), conditions.condition_since(node, "Ready")
    message = text(ready, "message")
    if not ready:
        return WaitCause(f"node {name} has not reported yet", "its kubelet has only just started", since)
    if text(ready, "status") == "Unknown":
        usually = "the machine is off, or has lost its network"
        return WaitCause(
            f"node {name} is silent ({conditions.said(message) or 'its kubelet stopped reporting'})", usually, since
        )
    if any(each in message.lower() for each in _NO_NETWORK):
        usually = "the CNI's pod on it does not run yet"
        return WaitCause(f"node {name} is NotReady because no CNI has set up its network", usually, since)
    return WaitCause(
        f"node {name} is NotReady ({conditions.said(message) or text(ready, 'reason') or 'no reason given'})", "", since
    )


# What kubelet writes on a node without a CNI:
#
# status:
#   conditions:
#   - type: Ready
#     status: "False"
#     reason: KubeletNotReady
#     message: 'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady
#       message:Network plugin returns error: cni plugin not initialized'
#     lastHeartbeatTime: "2026-11-16T06:40:11Z"
#     lastTransitionTime: "2026-11-16T06:38:02Z"
