"""Whether the engine has brought what it was told to: its own word for the object that declares a component."""

from firstlight.document import conditions
from firstlight.engines import adapters, engine_marks
from firstlight.engines.engine_kind import EngineKind, VerdictFacts
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate
from firstlight.model.verdict import Verdict
from firstlight.model.work import Task, Watch

_TIMEOUT = 1800.0
"""A chart may take its own five minutes several times before the engine gives up."""


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """The declaring object of the gate; None where the gate names none."""
    if gate.object is None:
        return None
    identity = gate.object
    declared = ground.declared(identity, task)
    look, name = gate_parts.look_at(identity, declared), str(identity)
    expected = (task.revision if isinstance(task, Watch) else "") or ground.revision
    kind = _kind(identity)
    is_suspended = engine_marks.is_suspended(declared)

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        if found is None:
            return conditions.absent(identity, is_served=look not in view.unserved)
        if kind is None:
            return conditions.judged_ready(found, name, now=view.now)
        if (paused := kind.verdicts.suspended(found, name, is_declared=is_suspended)) is not None:
            return paused
        if kind.verdicts.judge is None:
            return conditions.judged_ready(found, name, now=view.now)
        return kind.verdicts.judge(found, name, VerdictFacts(view=view, expected=expected, url=ground.cluster.url))

    looks = (look, *(kind.verdicts.beside if kind is not None else ()))
    hint = f"See: kubectl -n {identity.namespace} describe {identity.kind.lower()} {identity.name}"
    name_of_question = f"{identity.kind} {gate_parts.short_name(identity)}"
    return gate_parts.make_question(gate, name_of_question, GatePart(looks, judge), hint=hint, timeout=_TIMEOUT)


def _kind(identity: ObjectId) -> EngineKind | None:
    found = adapters.KINDS.get(identity.kind)
    return found if found is not None and found.group == identity.group else None


# A Kustomization that waits for another (kustomize-controller 1.7):
#
# metadata: {name: apps, namespace: flux-system, generation: 1}
# status:
#   observedGeneration: 1
#   lastAttemptedRevision: main@sha1:3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594
#   conditions:
#   - {type: Ready, status: "False", reason: DependencyNotReady, observedGeneration: 1,
#      message: dependency 'flux-system/infra' is not ready, lastTransitionTime: "2026-11-16T06:46:00Z"}
#
# A HelmRelease that gave up (helm-controller 1.4):
#
# status:
#   observedGeneration: 1
#   failures: 1
#   installFailures: 1
#   conditions:
#   - {type: Stalled, status: "True", reason: RetriesExceeded, observedGeneration: 1,
#      message: Failed to install after 1 attempt(s), lastTransitionTime: "2026-11-16T06:51:10Z"}
#   - {type: Ready, status: "False", reason: InstallFailed, lastTransitionTime: "2026-11-16T06:51:10Z",
#      message: 'Helm install failed for release web/web with chart web@1.2.0: context deadline exceeded'}
#   - {type: Released, status: "False", reason: InstallFailed, …}
#
# An Application that is done (Argo CD 3.1):
#
# status:
#   sync: {status: Synced, revision: 3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594, comparedTo: {…}}
#   health: {status: Healthy, lastTransitionTime: "2026-11-16T06:47:12Z"}
#   operationState: {phase: Succeeded, message: successfully synced (all tasks run), startedAt: "2026-11-16T06:46:41Z",
#     finishedAt: "2026-11-16T06:46:52Z", syncResult: {revision: 3f2a91c0d6b1f0a5d7f7c2f4a1b0e9d8c7b6a594, …}}
#   reconciledAt: "2026-11-16T06:47:12Z"
