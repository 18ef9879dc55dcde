"""Whether pods have a network: which CNI it is tells its objects, and each says so in its own way."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.gates import cilium, gate_parts, workload
from firstlight.gates.causes import scheduling
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model import talos_facts
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task

_FLANNEL = ObjectId("apps", "DaemonSet", "kube-system", "kube-flannel")
"""Talos's own."""
_CALICO = ObjectId("apps", "DaemonSet", "calico-system", "calico-node")
"""What Calico's operator makes; no chart has it."""


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The network of a component, or Talos's own where the gate has none."""
    name = f"cni {gate.component}".strip()
    hint = "See: kubectl -n kube-system get pods -o wide; kubectl describe nodes"
    return gate_parts.make_question(gate, name, _of(gate, task, ground), hint=hint)


def _of(gate: Gate, task: Task, ground: GateContext) -> GatePart:
    objects = gate_parts.gate_objects(gate, task, ground)
    if any(map(cilium.is_it, objects)) or (not objects and "cilium" in gate.component):
        return cilium.of(objects)
    network = GatePart((gate_parts.NODES,), _nodes)
    if any(each.id.kind == "Installation" and each.id.group == "operator.tigera.io" for each in objects):
        return gate_parts.together([*workload.of_objects(objects), workload.of(_CALICO), network])
    agents = [workload.of(each.id, each.value) for each in objects if _is_agent(each)]
    if not agents and not gate.component and talos_facts.cni(ground.cluster).value == "flannel":
        agents = [workload.of(_FLANNEL)]
    return gate_parts.together([*agents, network])


def _is_agent(item: Object) -> bool:
    """Whether an object runs on every node to set up the network: it writes CNI's configuration on the host."""
    volumes = sequence(item.value, "spec", "template", "spec", "volumes")
    paths = [text(each, "hostPath", "path") for each in volumes]
    return item.id.kind == "DaemonSet" and any("/cni" in each for each in paths)


def _nodes(view: GateView) -> Verdict:
    nodes = view.all(gate_parts.NODES)
    if not nodes:
        return Waiting("no node has joined yet")
    if lacking := [node for node in nodes if conditions.is_true(node, "NetworkUnavailable")]:
        return _lacking(lacking, view.now)
    without = [cause for node in nodes if (cause := scheduling.node_cause(node)) is not None and "CNI" in cause.what]
    if without:
        first = without[0]
        return conditions.waiting(first.what, now=view.now, since=first.since, usually=first.usually)
    return Passed(f"{len(nodes)} node{'s have' if len(nodes) > 1 else ' has'} a network")


def _lacking(nodes: Sequence[Mapping[str, Any]], now: float) -> Verdict:
    names = ", ".join(text(each, "metadata", "name") for each in nodes)
    said = text(conditions.condition(nodes[0], "NetworkUnavailable"), "reason") or "no reason given"
    since = conditions.condition_since(nodes[0], "NetworkUnavailable")
    usually = "the CNI's agent on it does not run yet"
    return conditions.waiting(
        f"the network of {names} is not available ({said})", now=now, since=since, usually=usually
    )


# A node with Talos's own flannel:
#
# status:
#   conditions:
#   - {type: NetworkUnavailable, status: "False", reason: FlannelIsUp, message: Flannel is running on this node,
#      lastHeartbeatTime: "2026-11-16T06:39:20Z", lastTransitionTime: "2026-11-16T06:39:20Z"}
#   - {type: Ready, status: "True", reason: KubeletReady, message: kubelet is posting ready status,
#      lastTransitionTime: "2026-11-16T06:39:24Z"}
