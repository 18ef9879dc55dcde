"""Whether a Secret is there with its keys. Values are never told, nor how long they are."""

from firstlight.document import conditions
from firstlight.document.within import mapping
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import CreateSecret, Task


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The Secret of the gate; its keys are those of the step."""
    if gate.object is None:
        return None
    name = f"secret {gate_parts.short_name(gate.object)}"
    part = of(gate.object, tuple(task.secret.data) if isinstance(task, CreateSecret) else ())
    return gate_parts.make_question(gate, name, part)


def of(identity: ObjectId, keys: tuple[str, ...]) -> GatePart:
    """The question about one Secret; what it holds is looked at only if it must hold something."""
    look = gate_parts.look_at(identity, with_content=bool(keys))

    def judge(view: GateView) -> Verdict:
        found, name = view.one(look), str(identity)
        if found is None:
            return Waiting(f"{name} is not there yet")
        if conditions.is_going(found):
            return Waiting(f"{name} is being deleted")
        data = mapping(found, "data")
        if absent := [each for each in keys if each not in data]:
            return Waiting(f"{name} has no {_keys(absent)}")
        if empty := [each for each in keys if not data[each]]:
            return Waiting(f"{name} has nothing in {_keys(empty)}")
        return Passed(f"{name} is there")

    return GatePart((look,), judge)


def _keys(names: list[str]) -> str:
    return f"key{'s' if len(names) > 1 else ''} {', '.join(names)}"


# A Secret has no status; this is all there is to see:
#
# apiVersion: v1
# kind: Secret
# metadata: {name: sops-age, namespace: flux-system}
# type: Opaque
# data: {age.agekey: …}
