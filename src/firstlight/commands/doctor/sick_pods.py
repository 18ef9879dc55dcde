"""Why one pod is not well: which rule it falls under, what shows it, and what would explain it."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import error_messages, symptoms
from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.gates import pod_placement
from firstlight.gates.causes import pods, refusals, scheduling
from firstlight.gates.causes.refusals import WaitCause
from firstlight.model.diagnostic import Evidence
from firstlight.observe.cluster.observation import ClusterObservation

_PULLING = {"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "RegistryUnavailable", "InvalidImageName"}
_FEW = 3
"""Restarts that happen in any start, when what a pod needs comes a moment later than it does."""
_FRESH = 900.0
"""Seconds for which an event tells of now: kubelets repeat what still fails within minutes."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SickPod:
    """What is wrong with a pod."""

    code: str
    cause: WaitCause
    pod: Mapping[str, Any]
    evidence: tuple[Evidence, ...] = ()
    needs: frozenset[str] = frozenset()

    @property
    def rank(self) -> tuple[int, float, str]:
        """Of several pods of a workload the one that tells most is told."""
        return self.cause.rank, self.cause.since or float("inf"), text(self.pod, "metadata", "name")


def ill(pod: Mapping[str, Any], scene: ClusterObservation) -> SickPod | None:
    """What is wrong with a pod; None where nothing is, or it may still come right by itself."""
    if pods.is_ready(pod) or conditions.is_going(pod) or text(pod, "status", "phase") in ("Failed", "Succeeded"):
        return None
    events = _fresh(pod, scene)
    claims = scene.inside("/PersistentVolumeClaim", text(pod, "metadata", "namespace"))
    if (cause := scheduling.placing_cause(pod, scene.of("/Node"), claims, events=scene.events)) is not None:
        return _unplaced(pod, cause, scene)
    cause = pods.pod_cause(pod, events)
    if cause is None:
        return _unseen(pod, scene)
    for container in _containers(pod):
        if sick := _of_container(container, pod, cause, scene):
            return sick
    return _starting(pod, cause, scene, events) or _unready(pod, cause, scene, events)


def _unseen(pod: Mapping[str, Any], scene: ClusterObservation) -> SickPod | None:
    """A pod without a node, of which the scheduler says nothing."""
    is_waiting = text(pod, "status", "phase") == "Pending" and not text(pod, "spec", "nodeName")
    own = text(pod, "spec", "schedulerName") or "default-scheduler"
    told = conditions.condition(pod, "PodScheduled")
    if not is_waiting or told or own != "default-scheduler" or not scene.is_over(conditions.created(pod), times=2):
        return None
    cause = WaitCause(
        "the scheduler has not looked for a node for its pod", "kube-scheduler does not run", conditions.created(pod), 1
    )
    name = f"Pod {text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}"
    shown = (symptoms.evidence(f"{name}, status.conditions", "no condition PodScheduled"),)
    needs = frozenset({symptoms.controller("kube-scheduler"), symptoms.API})
    return SickPod(code="scheduler-silent", cause=cause, pod=pod, evidence=shown, needs=needs)


def _fresh(pod: Mapping[str, Any], scene: ClusterObservation) -> list[Mapping[str, Any]]:
    return [each for each in scene.events_of(pod) if scene.now - (refusals.event_time(each) or scene.now) < _FRESH]


def _containers(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("initContainerStatuses", "containerStatuses"):
        yield from (mapping(each) for each in sequence(pod, "status", key) if at(each, "ready") is not True)


def _unplaced(pod: Mapping[str, Any], cause: WaitCause, scene: ClusterObservation) -> SickPod | None:
    if text(conditions.condition(pod, "PodScheduled"), "reason") == "SchedulingGated" or not scene.is_over(cause.since):
        return None
    claims = {
        f"PersistentVolumeClaim {text(pod, 'metadata', 'namespace')}/{name}"
        for each in sequence(pod, "spec", "volumes")
        if (name := text(each, "persistentVolumeClaim", "claimName"))
    }
    nodes = {
        f"Node {text(node, 'metadata', 'name')}"
        for node in pod_placement.aimed(pod, scene.of("/Node"))
        if pod_placement.refusal(pod, node)
        and pod_placement.refusal(pod, node) != f"taint {pod_placement.CONTROL_PLANE}"
    }
    shown = (symptoms.of_condition(pod, "PodScheduled"),)
    return SickPod(code="unschedulable", cause=cause, pod=pod, evidence=shown, needs=symptoms.names(claims, nodes))


def _of_container(
    container: Mapping[str, Any], pod: Mapping[str, Any], cause: WaitCause, scene: ClusterObservation
) -> SickPod | None:
    reason, said = text(container, "state", "waiting", "reason"), text(container, "state", "waiting", "message")
    field = f"Pod {text(pod, 'metadata', 'namespace')}/{text(pod, 'metadata', 'name')}, status.containerStatuses"
    shown = symptoms.evidence(field, f"{text(container, 'name')}: {reason}: {said}" if said else reason)
    if reason in _PULLING:
        return _pull(pod, cause, scene, shown)
    if reason == "CreateContainerConfigError" and scene.is_over(cause.since):
        return SickPod(code="reference-missing", cause=cause, pod=pod, evidence=(shown,), needs=_referenced(said, pod))
    ended = mapping(container, "lastState", "terminated") or mapping(container, "state", "terminated")
    restarts = number(container, "restartCount")
    is_looping = reason == "CrashLoopBackOff" or (mapping(container, "state", "terminated") and restarts >= _FEW)
    if is_looping and (restarts >= _FEW or scene.is_over(conditions.created(pod))):
        return _crash(container, pod, cause, scene=scene, ended=ended)
    if reason in ("CreateContainerError", "RunContainerError") and scene.is_over(cause.since):
        return SickPod(code="container-refused", cause=cause, pod=pod, evidence=(shown,), needs=_node(pod))
    return None


def _pull(pod: Mapping[str, Any], cause: WaitCause, scene: ClusterObservation, shown: Evidence) -> SickPod:
    told = scene.events_of(pod, "Failed", "FailedToRetrieveImagePullSecret")
    needs = set(_node(pod))
    why = " ".join([shown.text, *(text(each, "message") for each in told)])
    if re.search(r"no such host|server misbehaving", why):
        needs.add(symptoms.DNS)
    for each in sequence(pod, "spec", "imagePullSecrets"):
        needs.add(f"Secret {text(pod, 'metadata', 'namespace')}/{text(each, 'name')}")
    events = tuple(symptoms.of_event(each) for each in told if "back-off" not in text(each, "message").lower())[:2]
    return SickPod(code="image-pull", cause=cause, pod=pod, evidence=(shown, *events), needs=frozenset(needs))


def _crash(
    container: Mapping[str, Any],
    pod: Mapping[str, Any],
    cause: WaitCause,
    *,
    scene: ClusterObservation,
    ended: Mapping[str, Any],
) -> SickPod:
    namespace, name = text(pod, "metadata", "namespace"), text(pod, "metadata", "name")
    how = f"exit code {number(ended, 'exitCode')}" if ended else "it ended"
    field = f"Pod {namespace}/{name}, status.containerStatuses"
    restarts = number(container, "restartCount")
    shown = [
        symptoms.evidence(field, f"{text(container, 'name')}: {text(ended, 'reason') or how}, {restarts} restarts")
    ]
    line = error_messages.last_failure(scene.logs.get(f"{namespace}/{name}/{text(container, 'name')}", ()))
    if line:
        shown.append(symptoms.of_log(namespace, name, line))
        cause = dataclasses.replace(cause, usually="", what=f"{cause.what}; it last said: {shown[-1].text}")
    if message := text(ended, "message"):
        shown.append(symptoms.evidence(field, message))
    code = "out-of-memory" if text(ended, "reason") == "OOMKilled" else "crash-loop"
    if not ended and cause.rank > 1:
        cause = dataclasses.replace(cause, rank=1)
    needs = _node(pod) | error_messages.needs_of_message(" ".join(each.text for each in shown), namespace)
    return SickPod(code=code, cause=cause, pod=pod, evidence=tuple(shown), needs=needs)


def _starting(
    pod: Mapping[str, Any], cause: WaitCause, scene: ClusterObservation, events: list[Mapping[str, Any]]
) -> SickPod | None:
    """What keeps containers from being made at all."""
    for each in events:
        reason, said = text(each, "reason"), text(each, "message")
        if not scene.is_over(refusals.first_event_time(each) or conditions.created(pod)):
            continue
        if reason in ("FailedMount", "FailedAttachVolume", "FailedMapVolume"):
            missing = _referenced(said, pod)
            code = "reference-missing" if re.search(r'(secret|configmap) "[^"]+" not found', said) else "volume-mount"
            needs = missing if code == "reference-missing" else _node(pod) | _claims(pod)
            return SickPod(code=code, cause=cause, pod=pod, evidence=(symptoms.of_event(each),), needs=needs)
        if reason == "FailedCreatePodSandBox":
            return SickPod(
                code="pod-sandbox", cause=cause, pod=pod, evidence=(symptoms.of_event(each),), needs=_node(pod)
            )
    return None


def _unready(
    pod: Mapping[str, Any], cause: WaitCause, scene: ClusterObservation, events: list[Mapping[str, Any]]
) -> SickPod | None:
    """What runs, and is not ready: quiet for a while, since that is what starting looks like."""
    failing = [each for each in events if text(each, "reason") == "Unhealthy"]
    since = conditions.condition_since(pod, "Ready") or conditions.created(pod)
    if failing and scene.is_over(since, times=2):
        shown = (symptoms.of_event(failing[0]),)
        namespace = text(pod, "metadata", "namespace")
        needs = _node(pod) | error_messages.needs_of_message(text(failing[0], "message"), namespace)
        return SickPod(code="probe-failing", cause=cause, pod=pod, evidence=shown, needs=needs)
    if scene.is_over(since, times=10):
        shown = (symptoms.of_condition(pod, "Ready"),)
        return SickPod(code="pod-not-ready", cause=cause, pod=pod, evidence=shown, needs=_node(pod) | _claims(pod))
    return None


def _referenced(said: str, pod: Mapping[str, Any]) -> frozenset[str]:
    """The Secrets and ConfigMaps that a message misses."""
    namespace = text(pod, "metadata", "namespace")
    kinds = {"secret": "Secret", "configmap": "ConfigMap"}
    told = {f"{kinds[kind]} {namespace}/{name}" for kind, name in re.findall(r'(secret|configmap) "([^"]+)" not', said)}
    for kind, name in re.findall(r"couldn't find key \S+ in (Secret|ConfigMap) (\S+)", said):
        told.add(f"{kind} {name if '/' in name else f'{namespace}/{name}'}")
    return frozenset(told)


def _node(pod: Mapping[str, Any]) -> frozenset[str]:
    name = text(pod, "spec", "nodeName")
    return symptoms.names(f"Node {name}", symptoms.network_of(name), symptoms.NETWORK) if name else frozenset()


def _claims(pod: Mapping[str, Any]) -> frozenset[str]:
    namespace = text(pod, "metadata", "namespace")
    return frozenset(
        f"PersistentVolumeClaim {namespace}/{name}"
        for each in sequence(pod, "spec", "volumes")
        if (name := text(each, "persistentVolumeClaim", "claimName"))
    )
