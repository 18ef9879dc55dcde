"""Nodes: every declared machine has joined and is ready; none lacks memory, disk or processes; no guard is left."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import text
from firstlight.gates import looking, parts, placing, status
from firstlight.gates import nodes as gate
from firstlight.gates.question import Question
from firstlight.model.cluster import Machine
from firstlight.model.observation import View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting

_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_GUARDS = ("node.cilium.io/agent-not-ready", "node.cloudprovider.kubernetes.io/uninitialized")
"""Taints that something takes away when it works."""


def question(machines: Sequence[Machine]) -> Question:
    """All nodes against the declared machines."""
    part = parts.Part((looking.NODES,), lambda view: judge(view, machines))
    return parts.question(Gate(Subject.NODES), "nodes", part, hint="See: kubectl describe nodes")


def judge(view: View, machines: Sequence[Machine]) -> Verdict:
    """What the gate says, and what a node complains of besides."""
    verdict = gate.judge(view, machines)
    complaints = [told for node in view.all(looking.NODES) for told in _complaints(node)]
    if not isinstance(verdict, Passed) or not complaints:
        return verdict
    return Waiting("; ".join(complaints))


def _complaints(node: Mapping[str, Any]) -> list[str]:
    name = text(node, "metadata", "name")
    pressures = [f"{name} reports {each}" for each in _PRESSURES if status.is_true(node, each)]
    guards = [text(each, "key") for each in placing.taints(node)]
    return pressures + [f"{name} still has the taint {each}" for each in guards if each in _GUARDS]
