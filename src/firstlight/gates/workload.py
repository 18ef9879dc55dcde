"""The one cause that explains most of why a workload waits."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.gates import gate_parts, label_selector, replicas
from firstlight.gates.causes import pods as causes_pods
from firstlight.gates.causes import refusals, scheduling
from firstlight.gates.causes.refusals import WaitCause
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.model.work import TalosApplies, Task


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadEvents:
    """What stands around a workload."""

    pods: Sequence[Mapping[str, Any]] = ()
    events: Sequence[Mapping[str, Any]] = ()
    nodes: Sequence[Mapping[str, Any]] = ()
    claims: Sequence[Mapping[str, Any]] = ()


def workload_cause(workload: Mapping[str, Any], scene: WorkloadEvents) -> WaitCause | None:
    """Why a workload waits; None where nothing tells."""
    if refused := refusals.refusal_cause(workload, scene.events, pods=len(scene.pods)):
        return refused
    found: list[WaitCause] = []
    for pod in scene.pods:
        cause = scheduling.placing_cause(pod, scene.nodes, scene.claims, events=scene.events) or causes_pods.pod_cause(
            pod, scene.events
        )
        if cause:
            found.append(cause)
    # The oldest of the most telling: what came later may follow from it.
    return min(found, key=lambda each: (each.rank, each.since or 0.0), default=None)


# Whether what makes pods has them, and if not, why: Deployments to Jobs and claims; other kinds by conditions.


_PODS = {
    ("apps", "Deployment"),
    ("apps", "DaemonSet"),
    ("apps", "StatefulSet"),
    ("apps", "ReplicaSet"),
    ("batch", "Job"),
    ("", "Pod"),
}
"""What makes pods that must run at once."""
_COUNTS = ("replicas", "currentNumberScheduled", "active", "failed")
"""How many pods controllers say that they have made."""
_RULES: Mapping[tuple[str, str], Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], Verdict]] = {
    ("apps", "Deployment"): replicas.deployment,
    ("apps", "DaemonSet"): replicas.daemon_set,
    ("apps", "StatefulSet"): replicas.stateful_set,
    ("apps", "ReplicaSet"): replicas.replica_set,
}


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """One workload, or all of a component."""
    if gate.object is not None:
        part = of(gate.object, ground.declared(gate.object, task), may_be_gone=not isinstance(task, TalosApplies))
        name = f"workload {gate_parts.short_name(gate.object)}"
        where = f"-n {gate.object.namespace} " if gate.object.namespace else ""
        hint = f"See: kubectl {where}describe {gate.object.kind.lower()} {gate.object.name}"
        return gate_parts.make_question(gate, name, part, hint=hint)
    mine = of_objects(gate_parts.gate_objects(gate, task, ground))
    return gate_parts.make_question(gate, f"workloads of {gate.component}", gate_parts.together(mine)) if mine else None


def of_objects(objects: Sequence[Object]) -> list[GatePart]:
    """The workloads among objects."""
    return [of(each.id, each.value) for each in objects if (each.id.group, each.id.kind) in _PODS]


def of(identity: ObjectId, declared: Mapping[str, Any] | None = None, *, may_be_gone: bool = True) -> GatePart:
    """The question about one workload, with everything that would tell why it waits.

    Args:
        identity: What it is called.
        declared: As it was rendered.
        may_be_gone: Whether a Job that deletes itself may be gone already, since somebody has applied it.
    """
    own = gate_parts.look_at(identity, declared)
    around = _around(identity, declared)
    deletes_itself = at(declared, "spec", "ttlSecondsAfterFinished") is not None

    def judge(view: GateView) -> Verdict:
        found = view.one(own)
        if found is None:
            if identity.kind == "Job" and deletes_itself and may_be_gone:
                return Passed(f"{identity.name} is done and gone")
            return conditions.absent(identity, is_served=own not in view.unserved)
        return judged(found, identity, view, around)

    return GatePart((own, *around.values()), judge)


def _around(identity: ObjectId, declared: Mapping[str, Any] | None) -> dict[str, WatchTarget]:
    if (identity.group, identity.kind) == ("", "PersistentVolumeClaim"):
        return {"events": WatchTarget(api_version="v1", kind="Event", namespace=identity.namespace)}
    if (identity.group, identity.kind) not in _PODS:
        return {}
    space, selector = identity.namespace, label_selector.written(mapping(declared, "spec", "selector"))
    found = {"nodes": gate_parts.NODES, "events": WatchTarget(api_version="v1", kind="Event", namespace=space)}
    if identity.kind == "Job":
        found["pods"] = WatchTarget(api_version="v1", kind="Pod", namespace=space, labels=f"job-name={identity.name}")
    elif identity.kind != "Pod":
        found["pods"] = WatchTarget(api_version="v1", kind="Pod", namespace=space, labels=selector)
    template = declared if identity.kind == "Pod" else mapping(declared, "spec", "template")
    volumes = sequence(template, "spec", "volumes")
    if at(declared, "spec", "volumeClaimTemplates") or any(at(each, "persistentVolumeClaim") for each in volumes):
        found["claims"] = WatchTarget(api_version="v1", kind="PersistentVolumeClaim", namespace=space)
    return found


def judged(
    found: Mapping[str, Any], identity: ObjectId, view: GateView, around: Mapping[str, WatchTarget] | None = None
) -> Verdict:
    """The verdict on a workload that is there."""
    around = around if around is not None else {}
    seen = {key: view.all(look) for key, look in around.items()}
    kind, name = (identity.group, identity.kind), identity.name
    if conditions.is_going(found):
        since = conditions.moment(text(found, "metadata", "deletionTimestamp"))
        return conditions.waiting(f"{identity} is being deleted", now=view.now, since=since)
    if kind == ("", "PersistentVolumeClaim"):
        return _claim(found, name, view.now, seen.get("events", ()))
    if kind not in _PODS:
        return conditions.judged_ready(found, str(identity), now=view.now)
    scene = WorkloadEvents(
        pods=[found] if kind[1] == "Pod" else _pods(found, kind[1], seen.get("pods", ())),
        events=seen.get("events", ()),
        nodes=seen.get("nodes", ()),
        claims=seen.get("claims", ()),
    )
    if at(found, "spec", "suspend") is True:
        return Waiting(f"{name} is suspended: nothing runs it until it is resumed")
    if kind in _RULES and (at(found, "status", "observedGeneration") is None or not conditions.is_seen(found)):
        usually = "the controller manager does not run"
        return conditions.waiting(f"{name}: its controller has not seen the last change", now=view.now, usually=usually)
    if kind == ("", "Pod"):
        verdict = _pod(found)
    elif kind == ("batch", "Job"):
        verdict = _job(found)
    else:
        verdict = _RULES[kind](found, scene.nodes)
    return _explained(verdict, name, found, scene, view.now)


def _pods(found: Mapping[str, Any], kind: str, pods: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if kind == "Job":
        name = text(found, "metadata", "name")
        return [each for each in pods if text(each, "metadata", "labels", "job-name") == name]
    selector = mapping(found, "spec", "selector")
    return [each for each in pods if label_selector.matches(selector, mapping(each, "metadata", "labels"))]


def _explained(verdict: Verdict, name: str, found: Mapping[str, Any], scene: WorkloadEvents, now: float) -> Verdict:
    """A verdict with the name before it and, where it waits, the cause behind it."""
    match verdict:
        case Passed(reason):
            return Passed(f"{name} {reason}" if reason else name, reason)
        case Failed(reason):
            cause = workload_cause(found, scene)
            return Failed(f"{name} {reason}" + (f": {cause.what}" if cause else ""))
        case Waiting(reason):
            if (cause := workload_cause(found, scene)) is not None:
                return conditions.waiting(
                    f"{name} {reason}: {cause.what}", now=now, since=cause.since, usually=cause.usually
                )
            since = _since(found)
            if scene.pods or not scene.nodes or any(number(found, "status", each) for each in _COUNTS):
                return conditions.waiting(f"{name} {reason}", now=now, since=since)
            usually = "the controller manager has not come to it"
            return conditions.waiting(f"{name} {reason}: it has no pods yet", now=now, since=since, usually=usually)
    return verdict


def _since(found: Mapping[str, Any]) -> float | None:
    """Since when it waits, as far as that is said: an old one that only rolls out does not wait since its creation."""
    if conditions.is_false(found, "Available"):
        return conditions.condition_since(found, "Available")
    updated = conditions.moment(text(conditions.condition(found, "Progressing"), "lastUpdateTime"))
    return updated or (conditions.created(found) if number(found, "metadata", "generation") <= 1 else None)


def _job(found: Mapping[str, Any]) -> Verdict:
    if conditions.is_true(found, "Complete"):
        return Passed("is done")
    if conditions.is_true(found, "Failed"):
        failed = conditions.condition(found, "Failed")
        return Failed(f"failed ({text(failed, 'reason') or 'no reason'}: {conditions.said(text(failed, 'message'))})")
    failed_before = number(found, "status", "failed")
    return Waiting("runs" + (f", {failed_before} tries failed" if failed_before else ""))


def _pod(found: Mapping[str, Any]) -> Verdict:
    if causes_pods.is_ready(found):
        return Passed("is ready" if text(found, "status", "phase") != "Succeeded" else "is done")
    if text(found, "status", "phase") == "Failed" and text(found, "spec", "restartPolicy") == "Never":
        return Failed("failed")
    return Waiting("is not ready")


def _claim(found: Mapping[str, Any], name: str, now: float, events: Sequence[Mapping[str, Any]]) -> Verdict:
    phase = text(found, "status", "phase")
    if phase == "Bound":
        return Passed(f"{name} is bound")
    if phase == "Lost":
        return Failed(f"the volume claim {name} has lost its volume")
    cause = scheduling.claim_cause(found, events)
    return conditions.waiting(cause.what, now=now, since=cause.since, usually=cause.usually)


# A Job that gave up (batch/v1, Kubernetes 1.34):
#
# status:
#   failed: 7
#   startTime: "2026-11-16T06:30:00Z"
#   uncountedTerminatedPods: {}
#   conditions:
#   - {type: FailureTarget, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-11-16T06:41:00Z",
#      message: Job has reached the specified backoff limit}
#   - {type: Failed, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-11-16T06:41:00Z",
#      message: Job has reached the specified backoff limit}
