"""Workloads whose pods are not there, do not start, crash, or do not become ready; Jobs that failed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import error_messages, sick_pods, symptoms, workload_groups
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.commands.doctor.workload_groups import PodGroup
from firstlight.document import conditions
from firstlight.document.within import at, sequence, text
from firstlight.gates.causes import refusals, scheduling
from firstlight.gates.causes.refusals import WaitCause
from firstlight.model.verdict import Passed
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_REFUSED = (
    (r"^quota exceeded|failed quota", "quota-exceeded"),
    (r"^pod security refuses", "pod-security"),
    (r"(maximum|minimum) \S+ usage per (Container|Pod)|ratio per (Container|Pod)", "limit-range"),
    (r"^the webhook \S+ refuses", "policy-refuses"),
)


def sick_workloads(scene: ClusterObservation) -> Iterator[Symptom]:
    """One symptom for each workload that is not well, by what tells most."""
    for group in workload_groups.pod_groups(scene):
        if group.workload is not None and conditions.is_going(group.workload):
            continue
        if text(group.workload, "kind") == "Job":
            told = _job(group, scene)
        else:
            told = _unseen(group, scene) or _refused(group, scene) or _of_pods(group, scene)
        if told is not None:
            yield told


def _unseen(group: PodGroup, scene: ClusterObservation) -> Symptom | None:
    """Nobody makes its pods: the controller manager has never come to it."""
    value = group.workload
    if value is None or text(value, "kind") == "Job" or at(value, "status", "observedGeneration") is not None:
        return None
    if group.pods or not scene.is_over(conditions.created(value), times=2):
        return None
    return symptoms.symptom(
        code="controller-manager-silent",
        subject=group.subject,
        message=f"{group.subject} was never looked at; usually kube-controller-manager does not run",
        evidence=(symptoms.of_field(value, "status", "is empty"),),
        next=(symptoms.command("kubectl -n kube-system get pods -o wide", "whether kube-controller-manager runs"),),
        since=conditions.created(value),
        names=workload_groups.names_of_group(group, scene),
        needs=frozenset({symptoms.controller("kube-controller-manager"), symptoms.API, f"Namespace {group.namespace}"}),
        layer=workload_groups.layer_of_group(group),
    )


def _refused(group: PodGroup, scene: ClusterObservation) -> Symptom | None:
    """The API server takes no pods of it."""
    if group.workload is None:
        return None
    cause = refusals.refusal_cause(group.workload, scene.events, pods=len(group.pods))
    if cause is None:
        return None
    # A webhook that does not answer yet belongs to every start.
    is_silent = "does not answer" in cause.what
    if is_silent and not scene.is_over(cause.since):
        return None
    code = next((code for pattern, code in _REFUSED if re.search(pattern, cause.what)), "pods-refused")
    raw = _refusal(group.workload, scene)
    needs = symptoms.names(
        error_messages.needs_of_message(raw, group.namespace),
        f"Namespace {group.namespace}",
        _account(raw, group.namespace),
    )
    shown = (
        symptoms.of_condition(group.workload, "ReplicaFailure")
        if conditions.is_true(group.workload, "ReplicaFailure")
        else symptoms.evidence(f"event of {group.subject}", raw)
    )
    return symptoms.symptom(
        code=code,
        subject=group.subject,
        message=_said(group, cause),
        evidence=(shown,),
        next=_next(code, group),
        since=cause.since,
        names=workload_groups.names_of_group(group, scene),
        needs=needs,
        layer=workload_groups.layer_of_group(group),
    )


def _refusal(workload: Mapping[str, Any], scene: ClusterObservation) -> str:
    if conditions.is_true(workload, "ReplicaFailure"):
        return text(conditions.condition(workload, "ReplicaFailure"), "message")
    return next((text(each, "message") for each in scene.events_of(workload, "FailedCreate")), "")


def _account(raw: str, namespace: str) -> str:
    match = re.search(r'serviceaccount "([^"]+)" not found', raw)
    return f"ServiceAccount {namespace}/{match[1]}" if match else ""


def _of_pods(group: PodGroup, scene: ClusterObservation) -> Symptom | None:
    is_enough = isinstance(workload_groups.group_verdict(group, scene), Passed)
    sick = [each for pod in group.pods if (each := sick_pods.ill(pod, scene)) is not None]
    if is_enough:  # one more than the nodes can take, which waits for a node, is well
        sick = [each for each in sick if each.code not in ("unschedulable", "pod-not-ready", "probe-failing")]
    if not sick:
        return None
    worst = min(sick, key=lambda each: each.rank)
    count = len(sick)
    return symptoms.symptom(
        code=worst.code,
        subject=group.subject,
        message=_said(group, worst.cause) + (f" ({count} of {len(group.pods)} pods)" if len(group.pods) > 1 else ""),
        evidence=worst.evidence,
        next=_next(worst.code, group, worst),
        since=worst.cause.since,
        names=workload_groups.names_of_group(group, scene),
        needs=symptoms.names(f"Namespace {group.namespace}", *(_ground(each, group, scene) for each in sick)),
        layer=workload_groups.layer_of_group(group),
    )


def _ground(sick: sick_pods.SickPod, group: PodGroup, scene: ClusterObservation) -> frozenset[str]:
    """What a pod needs: one with the network of its host works without the CNI's, and brings it perhaps."""
    if not (workload_groups.is_agent(group) or at(sick.pod, "spec", "hostNetwork") is True):
        return sick.needs
    node = text(sick.pod, "spec", "nodeName")
    is_silent = text(conditions.condition(scene.one("/Node", node), "Ready"), "status") == "Unknown"
    spared = {symptoms.NETWORK, symptoms.network_of(node), *(() if is_silent else (f"Node {node}",))}
    return sick.needs - spared


def _said(group: PodGroup, cause: WaitCause) -> str:
    usually = f"; usually {cause.usually}" if cause.usually else ""
    return f"{group.subject}: {cause.what}{usually}"


def _next(code: str, group: PodGroup, sick: sick_pods.SickPod | None = None) -> tuple[NextCommand, ...]:
    where = f"kubectl -n {group.namespace}"
    if sick is not None and code in ("crash-loop", "out-of-memory"):
        name = text(sick.pod, "metadata", "name")
        first = symptoms.command(f"{where} logs {name} --all-containers --previous", "what it said before it ended")
        return (first, symptoms.command(f"{where} describe pod {name}", "how it ended"))
    match code:
        case "quota-exceeded":
            return (
                symptoms.command(f"{where} describe resourcequota", "what is used, and by how much it is too small"),
            )
        case "limit-range":
            return (symptoms.command(f"{where} describe limitrange", "what the namespace allows a container"),)
        case "pod-security":
            written = f"kubectl get namespace {group.namespace} --show-labels"
            return (symptoms.command(written, "the label pod-security.kubernetes.io/enforce decides"),)
        case "unschedulable" if sick is not None:
            name = text(sick.pod, "metadata", "name")
            return (
                symptoms.command(f"{where} describe pod {name}", "what the scheduler says of each node"),
                symptoms.command("kubectl describe nodes", "taints, labels, and what is left"),
            )
        case "scheduler-silent":
            return (symptoms.command("kubectl -n kube-system get pods -o wide", "whether kube-scheduler runs"),)
        case "pod-sandbox":
            return (symptoms.command("kubectl -n kube-system get pods -o wide", "whether the CNI runs on that node"),)
    if sick is not None:
        return (symptoms.command(f"{where} describe pod {text(sick.pod, 'metadata', 'name')}"),)
    return (symptoms.kubectl("describe", group.value),)


def _job(group: PodGroup, scene: ClusterObservation) -> Symptom | None:
    """A Job that gave up, or cannot start; one that is overtaken by a later one of its CronJob is history."""
    job = group.workload
    assert job is not None
    if conditions.is_true(job, "Complete") or _is_overtaken(job, scene):
        return None
    if not conditions.is_true(job, "Failed"):
        return _refused(group, scene) or _of_pods(group, scene)
    said = symptoms.of_condition(job, "Failed")
    shown = [said]
    for pod in group.pods:
        for _, lines in scene.log_of(group.namespace, text(pod, "metadata", "name")):
            if line := error_messages.last_failure(lines):
                shown.append(symptoms.of_log(group.namespace, text(pod, "metadata", "name"), line))
    message = conditions.said(text(conditions.condition(job, "Failed"), "message"))
    return symptoms.symptom(
        code="job-failed",
        subject=group.subject,
        message=f"{group.subject} failed and is not tried again: {message or 'no reason given'}",
        evidence=tuple(shown[:3]),
        next=(
            symptoms.command(f"kubectl -n {group.namespace} logs job/{group.name} --all-containers", "why it failed"),
        ),
        since=conditions.condition_since(job, "Failed"),
        needs=symptoms.names(
            f"Namespace {group.namespace}",
            error_messages.needs_of_message(" ".join(e.text for e in shown), group.namespace),
        ),
    )


def _is_overtaken(job: Mapping[str, Any], scene: ClusterObservation) -> bool:
    owners = {text(each, "uid") for each in sequence(job, "metadata", "ownerReferences")}
    return bool(owners) and any(
        owners & {text(each, "uid") for each in sequence(other, "metadata", "ownerReferences")}
        and (conditions.created(other) or 0.0) > (conditions.created(job) or 0.0)
        for other in scene.of("batch/Job")
    )


# Volume claims that are not bound.


_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def pending_claims(scene: ClusterObservation) -> Iterator[Symptom]:
    """Claims that nobody provides for."""
    for claim in scene.of("/PersistentVolumeClaim"):
        if text(claim, "status", "phase") != "Pending" or conditions.is_going(claim):
            continue
        waits = scene.events_of(claim, "WaitForFirstConsumer")
        failed = scene.events_of(claim, "ProvisioningFailed", "FailedBinding", "ExternalProvisioning", "Provisioning")
        if (waits and not failed) or not scene.is_over(conditions.created(claim)):
            continue
        yield _pending(claim, scene, failed)


def _pending(claim: Mapping[str, Any], scene: ClusterObservation, failed: tuple[Mapping[str, Any], ...]) -> Symptom:
    cause = scheduling.claim_cause(claim, scene.events)
    name = text(claim, "spec", "storageClassName")
    storage = scene.one("storage.k8s.io/StorageClass", name) if name else None
    message, code, needs = f"{name_of(claim)}: {cause.what}", "claim-pending", set()
    if not name and scene.is_listed("storage.k8s.io/StorageClass") and not _default(scene):
        code, message = "no-default-class", f"{name_of(claim)} names no storage class, and no class is the default one"
    elif name and storage is None and scene.is_listed("storage.k8s.io/StorageClass"):
        code, message = "storage-class-missing", f"{name_of(claim)}: the storage class {name} does not exist"
    elif storage is not None:
        needs.add(f"provisioner {text(storage, 'provisioner')}")
        message += f"; usually the provisioner {text(storage, 'provisioner')} does not run"
    shown = [symptoms.of_event(each) for each in failed[:1]]
    shown.append(symptoms.of_field(claim, "status.phase", "Pending"))
    return symptoms.symptom(
        code=code,
        subject=name_of(claim),
        message=message,
        evidence=tuple(shown),
        next=(
            symptoms.kubectl("describe", claim, "what the provisioner says"),
            symptoms.command("kubectl get storageclass", "which there are, and which is the default"),
        ),
        since=conditions.created(claim),
        needs=symptoms.names(
            needs, f"StorageClass {name}" if name else "", f"Namespace {text(claim, 'metadata', 'namespace')}"
        ),
    )


def _default(scene: ClusterObservation) -> bool:
    return any(
        text(each, "metadata", "annotations", key) == "true"
        for each in scene.of("storage.k8s.io/StorageClass")
        for key in _DEFAULT
    )
