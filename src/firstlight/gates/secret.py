"""Whether a Secret is there with its keys, and whether a store of secrets is reached. Values are never told."""

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


# A store: External Secrets has logged in to it.


def store_question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The store of the gate."""
    if gate.object is None:
        return None
    identity = gate.object
    look = gate_parts.look_at(identity, ground.declared(identity, task))

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(identity, is_served=look not in view.unserved)
        verdict = conditions.judged_ready(found, str(identity), now=view.now, expected=("Ready",))
        if isinstance(verdict, Waiting) and not verdict.has_cause and conditions.is_false(found, "Ready"):
            return Waiting(f"{verdict.reason}; usually the Secret that it logs in with is missing or wrong")
        return verdict

    hint = f"See: kubectl describe {identity.kind.lower()} {identity.name}"
    return gate_parts.make_question(
        gate, f"store {gate_parts.short_name(identity)}", GatePart((look,), judge), hint=hint
    )


# A store that cannot log in (External Secrets 1.0):
#
# apiVersion: external-secrets.io/v1
# kind: ClusterSecretStore
# status:
#   capabilities: ReadWrite
#   conditions:
#   - {type: Ready, status: "False", reason: InvalidProviderConfig, message: unable to validate store,
#      lastTransitionTime: "2026-11-16T06:41:07Z"}
#
# and one that can:
#
#   - {type: Ready, status: "True", reason: Valid, message: store validated, lastTransitionTime: "2026-11-16T06:42:07Z"}
