"""Whether namespaces are there to be used."""

from collections.abc import Mapping
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.model.work import Task


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The namespaces of a step, or the one of the gate."""
    found = [each.id for each in gate_parts.task_objects(task) if each.id.kind == "Namespace" and not each.id.group]
    asked = [_of(each) for each in ([gate.object] if gate.object else found)]
    return gate_parts.make_question(gate, "namespaces", gate_parts.together(asked)) if asked else None


def _of(identity: ObjectId) -> GatePart:
    look = gate_parts.look_at(identity)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return Waiting(f"the namespace {identity.name} is not there yet")
        if text(found, "status", "phase") == "Active" and not conditions.is_going(found):
            return Passed(identity.name)
        if conditions.is_going(found) or text(found, "status", "phase") == "Terminating":
            return _going(found, identity.name, view.now)
        return Waiting(f"the namespace {identity.name} is not active yet")

    return GatePart((look,), judge)


def _going(found: Mapping[str, Any], name: str, now: float) -> Failed:
    """It does not come back by itself: once it is gone, somebody must make it anew."""
    since = conditions.moment(text(found, "metadata", "deletionTimestamp"))
    when = f", since {conditions.clock(since, now)}" if since is not None else ""
    told = [
        conditions.said(text(each, "message"))
        for each in sequence(found, "status", "conditions")
        if text(each, "status") == "True" and text(each, "message")
    ]
    why = f" ({'; '.join(told)})" if told else ""
    return Failed(f"the namespace {name} is being deleted{when}{why}: run again when it is gone")


# A namespace that cannot go, since something in it has a finalizer:
#
# metadata: {name: flux-system, deletionTimestamp: "2026-11-16T06:20:11Z"}
# spec: {finalizers: [kubernetes]}
# status:
#   phase: Terminating
#   conditions:
#   - {type: NamespaceDeletionDiscoveryFailure, status: "False", reason: ResourcesDiscovered,
#      message: All resources successfully discovered, lastTransitionTime: "2026-11-16T06:20:17Z"}
#   - {type: NamespaceContentRemaining, status: "True", reason: SomeResourcesRemain,
#      message: 'Some resources are remaining: kustomizations.kustomize.toolkit.fluxcd.io has 1 resource instances',
#      lastTransitionTime: "2026-11-16T06:20:17Z"}
#   - {type: NamespaceFinalizersRemaining, status: "True", reason: SomeFinalizersRemain,
#      message: 'Some content in the namespace has finalizers remaining: finalizers.fluxcd.io in 1 resource instances',
#      lastTransitionTime: "2026-11-16T06:20:17Z"}
