"""Whether a store of secrets is reached: External Secrets has logged in to it."""

from firstlight.document import conditions
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
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
