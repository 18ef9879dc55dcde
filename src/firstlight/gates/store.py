"""Whether a store of secrets is reached: External Secrets has logged in to it."""

from firstlight.gates import looking, parts, ready
from firstlight.gates.ground import GateGround
from firstlight.gates.parts import Part
from firstlight.gates.question import Question
from firstlight.model.observation import View
from firstlight.model.plan import Gate
from firstlight.model.verdict import Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateGround) -> Question | None:
    """The store of the gate."""
    if gate.object is None:
        return None
    identity = gate.object
    look = looking.at(identity, ground.declared(identity, task))

    def judge(view: View) -> Verdict:
        found = view.one(look)
        if found is None:
            return ready.absent(identity, is_served=look not in view.unserved)
        verdict = ready.judged(found, str(identity), now=view.now, expected=("Ready",))
        if isinstance(verdict, Waiting) and "is not Ready" in verdict.reason:
            return Waiting(f"{verdict.reason}; usually the Secret that it logs in with is missing or wrong")
        return verdict

    hint = f"See: kubectl describe {identity.kind.lower()} {identity.name}"
    return parts.question(gate, f"store {looking.short(identity)}", Part((look,), judge), hint=hint)


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
