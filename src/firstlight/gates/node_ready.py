"""Whether the nodes that have joined are ready.

Every declared control plane must be there: they were configured before etcd was bootstrapped. Workers join whenever
they are ready, so that one that is not there yet holds nothing up; one that has joined must become ready.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.gates import gate_parts
from firstlight.gates.causes import scheduling
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """All nodes, held against the declared machines."""
    machines = ground.cluster.machines
    part = GatePart((gate_parts.NODES,), lambda view: judge(view, machines))
    return gate_parts.make_question(gate, "nodes", part, hint="See: kubectl describe nodes")


def judge(view: GateView, machines: Sequence[Machine]) -> Verdict:
    """The verdict on all nodes."""
    nodes = view.all(gate_parts.NODES)
    if not nodes:
        return Waiting("no node has joined yet; usually the kubelets still start")
    joined = {machine.name: node for machine in machines if (node := of_machine(machine, nodes)) is not None}
    absent = [each for each in machines if each.name not in joined]
    if planes := [each.name for each in absent if each.role == MachineRole.CONTROL_PLANE]:
        noun = "control plane" if len(planes) == 1 else "control planes"
        usually = "no config yet, still booting, or no way to the API"
        return Waiting(f"{noun} {', '.join(planes)}: no such node yet; usually {usually}")
    mine = [*joined.values()] if machines else list(nodes)
    if not mine:
        return Waiting(f"none of the nodes ({', '.join(map(_name, nodes))}) is a declared machine")
    causes = [cause for node in mine if (cause := scheduling.node_cause(node)) is not None]
    if causes:
        first = min(causes, key=lambda each: each.since or 0.0)
        more = len(causes) - 1
        others = f" (and {more} more node{'s' if more > 1 else ''})" if more else ""
        return conditions.waiting(f"{first.what}{others}", now=view.now, since=first.since, usually=first.usually)
    later = f", {', '.join(each.name for each in absent)} may join later" if absent else ""
    return Passed(f"{len(mine)} node{'s' if len(mine) > 1 else ''} ready{later}")


def of_machine(machine: Machine, nodes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The node that a machine is: by its name, else by its address, since not every repo declares host names."""
    for node in nodes:
        if _name(node) == machine.name:
            return node
    for node in nodes:
        addresses = [text(each, "address") for each in sequence(node, "status", "addresses")]
        if machine.address and machine.address in addresses:
            return node
    return None


def _name(node: Mapping[str, Any]) -> str:
    return text(node, "metadata", "name")


# A node that is ready (Talos 1.13, Cilium):
#
# status:
#   addresses:
#   - {type: InternalIP, address: 10.5.0.2}
#   - {type: Hostname, address: cp-1}
#   conditions:
#   - {type: NetworkUnavailable, status: "False", reason: CiliumIsUp, message: Cilium is running on this node,
#      lastTransitionTime: "2026-11-16T06:39:20Z"}
#   - {type: MemoryPressure, status: "False", reason: KubeletHasSufficientMemory,
#      message: kubelet has sufficient memory available, lastTransitionTime: "2026-11-16T06:38:02Z"}
#   - {type: Ready, status: "True", reason: KubeletReady, message: kubelet is posting ready status,
#      lastTransitionTime: "2026-11-16T06:39:24Z"}
