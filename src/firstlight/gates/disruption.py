"""Whether a PodDisruptionBudget lets a pod go, so that nodes can be drained afterwards."""

from firstlight.document.within import at, text
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The budget of the gate."""
    if gate.object is None:
        return None
    declared = ground.declared(gate.object, task)
    name = f"disruption {gate_parts.short_name(gate.object)}"
    hint = f"See: kubectl -n {gate.object.namespace} describe pdb {gate.object.name}"
    return gate_parts.make_question(gate, name, _of(gate.object, text(declared, "apiVersion")), hint=hint)


def _of(identity: ObjectId, version: str) -> GatePart:
    look = gate_parts.look_at(identity, {"apiVersion": version})
    name = gate_parts.short_name(identity)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return Waiting(f"the budget {name} is not there yet")
        allowed = at(found, "status", "disruptionsAllowed")
        if isinstance(allowed, int) and allowed > 0:
            return Passed(f"{name} allows {allowed} pods to go")
        return Waiting(f"the budget {name} allows no pod to go")

    return GatePart((look,), judge)
