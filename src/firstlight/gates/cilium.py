"""Whether Cilium is up everywhere: agents, operator, the kinds that it makes, and what it says of nodes."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.gates import crds, gate_parts, workload
from firstlight.gates.gate_parts import GatePart
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.rendition import Object
from firstlight.model.verdict import Passed, Verdict, Waiting

AGENT = ObjectId("apps", "DaemonSet", "kube-system", "cilium")
OPERATOR = ObjectId("apps", "Deployment", "kube-system", "cilium-operator")
_TAINT = "node.cilium.io/agent-not-ready"
_NODES = WatchTarget(api_version="cilium.io/v2", kind="CiliumNode", with_content=False)


def is_it(item: Object) -> bool:
    """Whether an object is Cilium's agent."""
    images = [text(each, "image") for each in sequence(item.value, "spec", "template", "spec", "containers")]
    is_agent = item.id.name == "cilium" or any("/cilium/cilium" in each for each in images)
    return item.id.kind == "DaemonSet" and item.id.group == "apps" and is_agent


def of(objects: Sequence[Object]) -> GatePart:
    """The question about Cilium; objects are those of its chart, as far as they are known."""
    agent = next((each for each in objects if is_it(each)), None)
    operator = next((each for each in objects if each.id.kind == "Deployment" and "operator" in each.id.name), None)
    settings = next(
        (each.value for each in objects if each.id.kind == "ConfigMap" and each.id.name == "cilium-config"), {}
    )
    agents = workload.of(agent.id if agent else AGENT, agent.value if agent else None)
    operators = workload.of(operator.id if operator else OPERATOR, operator.value if operator else None)
    at = operator.id if operator else OPERATOR
    usually = (
        f"the operator, which makes it, fails: kubectl --namespace {at.namespace} logs deployment/{at.name} "
        "(in a plain lab nobody plays it: docs/lab.md)"
    )
    kinds = [crds.crd_part(f"{each}.cilium.io", usually=usually) for each in _kinds(settings)]
    # The operator makes the kinds, the agents wait for them, and nodes are what agents say: the first cause is told.
    whole = gate_parts.in_turn([operators, *kinds, agents, GatePart((gate_parts.NODES, _NODES), _nodes)])

    def judge(view: GateView) -> Verdict:
        verdict = whole.judge(view)
        if not isinstance(verdict, Passed):
            return verdict
        counts = [_count(each.judge(view)) for each in (agents, operators)]
        return Passed(f"agents {counts[0]}, operator {counts[1]}, nodes report CiliumIsUp")

    return GatePart(whole.looks, judge, whole.asks)


def _count(verdict: Verdict) -> str:
    return verdict.count if isinstance(verdict, Passed) else ""


def _kinds(settings: Mapping[str, Any]) -> list[str]:
    """The kinds without which its agents do not start; the operator defines them, not the chart."""
    kinds = ["ciliumnodes"]
    if text(settings, "data", "disable-endpoint-crd") != "true":
        kinds.append("ciliumendpoints")
    if text(settings, "data", "identity-allocation-mode") in ("", "crd"):
        kinds.append("ciliumidentities")
    return kinds


def _nodes(view: GateView) -> Verdict:
    nodes = view.all(gate_parts.NODES)
    if not nodes:
        return Waiting("no node has joined yet")
    known = {text(each, "metadata", "name") for each in view.all(_NODES)}
    for node in nodes:
        name = text(node, "metadata", "name")
        network = conditions.condition(node, "NetworkUnavailable")
        if name not in known:
            usually = "its agent does not run yet"
            return Waiting(f"node {name} has no CiliumNode yet; usually {usually}")
        if text(network, "status") != "False" or text(network, "reason") != "CiliumIsUp":
            said = text(network, "reason") or "nothing"
            what = f"node {name} does not report CiliumIsUp yet (it says {said})"
            return conditions.waiting(what, now=view.now, since=conditions.condition_since(node, "NetworkUnavailable"))
        if any(text(each, "key") == _TAINT for each in sequence(node, "spec", "taints")):
            usually = "the operator does not run"
            return Waiting(f"node {name} still has the taint {_TAINT}; usually {usually}")
    return Passed("nodes report CiliumIsUp")


# A node on which Cilium 1.18 is up, and its CiliumNode:
#
# apiVersion: v1
# kind: Node
# metadata: {name: cp-1}
# spec:
#   podCIDRs: [10.244.0.0/24]
#   taints: [{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}]
# status:
#   conditions:
#   - {type: NetworkUnavailable, status: "False", reason: CiliumIsUp, message: Cilium is running on this node,
#      lastHeartbeatTime: "2026-11-16T06:39:20Z", lastTransitionTime: "2026-11-16T06:39:20Z"}
#
# apiVersion: cilium.io/v2
# kind: CiliumNode
# metadata: {name: cp-1, ownerReferences: [{apiVersion: v1, kind: Node, name: cp-1}]}
# spec:
#   addresses: [{ip: 10.5.0.2, type: InternalIP}, {ip: 10.244.0.113, type: CiliumInternalIP}]
#   ipam: {podCIDRs: [10.244.0.0/24]}
# status: {ipam: {operator-status: {}}}
