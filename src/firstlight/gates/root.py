"""Whether the root object is there, and its engine has seen it; what comes of it is for other gates."""

from collections.abc import Mapping
from typing import Any

from firstlight.document import conditions as gates_conditions
from firstlight.engines import adapters
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Passed, Verdict
from firstlight.model.work import Task

_ROOTS = {(each.group, each.kind): each for each in adapters.KINDS.values() if each.is_root}


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The root object that a step creates, or the one of the gate."""
    found = [each.id for each in gate_parts.task_objects(task) if (each.id.group, each.id.kind) in _ROOTS]
    asked = [_of(each, ground.declared(each, task)) for each in ([gate.object] if gate.object is not None else found)]
    return gate_parts.make_question(gate, "root", gate_parts.together(asked)) if asked else None


def _of(identity: ObjectId, declared: Mapping[str, Any]) -> GatePart:
    look, name = gate_parts.look_at(identity, declared), str(identity)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return gates_conditions.absent(identity, is_served=look not in view.unserved)
        kind = _ROOTS.get((identity.group, identity.kind))
        if kind is not None and (paused := kind.verdicts.suspended(found, name)) is not None:
            return paused
        if kind is not None and kind.verdicts.is_seen(found):
            return Passed(f"{name} is seen")
        usually = "its controller does not run, or does not watch its namespace"
        return gates_conditions.waiting(
            f"{name} was not seen yet", now=view.now, since=gates_conditions.created(found), usually=usually
        )

    return GatePart((look,), judge)


# A Kustomization that kustomize-controller has only just met:
#
# metadata: {name: flux-system, namespace: flux-system, generation: 1, finalizers: [finalizers.fluxcd.io]}
# status:
#   observedGeneration: -1
#   conditions:
#   - {type: Reconciling, status: "True", reason: Progressing, observedGeneration: 1, message: Fetching manifests for
#      revision main@sha1:3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594 with a timeout of 10m0s,
#      lastTransitionTime: "2026-11-16T06:46:00Z"}
#   - {type: Ready, status: Unknown, reason: Progressing, observedGeneration: 1, message: Reconciliation in progress,
#      lastTransitionTime: "2026-11-16T06:46:00Z"}
