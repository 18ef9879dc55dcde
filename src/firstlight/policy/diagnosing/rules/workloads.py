"""Workloads whose pods are not there, do not start, crash, or do not become ready; Jobs that failed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, sequence, text
from firstlight.gates import status
from firstlight.gates.causes import of_refusals
from firstlight.gates.causes.cause import Cause
from firstlight.model.diagnosis import NextCommand
from firstlight.model.verdict import Passed
from firstlight.policy.diagnosing import found, groups, logs, pods, roles
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.groups import Group
from firstlight.policy.diagnosing.scene import Scene

_REFUSED = (
    (r"^quota exceeded|failed quota", "quota-exceeded"),
    (r"^pod security refuses", "pod-security"),
    (r"(maximum|minimum) \S+ usage per (Container|Pod)|ratio per (Container|Pod)", "limit-range"),
    (r"^the webhook \S+ refuses", "policy-refuses"),
)


def sick_workloads(scene: Scene) -> Iterator[Found]:
    """One symptom for each workload that is not well, by what tells most."""
    for group in groups.all_of(scene):
        if group.workload is not None and status.is_going(group.workload):
            continue
        if text(group.workload, "kind") == "Job":
            told = _job(group, scene)
        else:
            told = _unseen(group, scene) or _refused(group, scene) or _of_pods(group, scene)
        if told is not None:
            yield told


def _unseen(group: Group, scene: Scene) -> Found | None:
    """Nobody makes its pods: the controller manager has never come to it."""
    value = group.workload
    if value is None or text(value, "kind") == "Job" or at(value, "status", "observedGeneration") is not None:
        return None
    if group.pods or not scene.is_over(status.created(value), times=2):
        return None
    return Found(
        rule="controller-manager-silent",
        subject=group.subject,
        says=f"{group.subject} was never looked at; usually kube-controller-manager does not run",
        evidence=(found.of_field(value, "status", "is empty"),),
        next=(found.command("kubectl -n kube-system get pods -o wide", "whether kube-controller-manager runs"),),
        since=status.created(value),
        names=roles.names(group, scene),
        needs=frozenset({found.controller("kube-controller-manager"), found.API, f"Namespace {group.namespace}"}),
        layer=roles.layer(group),
    )


def _refused(group: Group, scene: Scene) -> Found | None:
    """The API server takes no pods of it."""
    if group.workload is None:
        return None
    cause = of_refusals.of(group.workload, scene.events, pods=len(group.pods))
    if cause is None:
        return None
    # A webhook that does not answer yet belongs to every start.
    is_silent = "does not answer" in cause.what
    if is_silent and not scene.is_over(cause.since):
        return None
    rule = next((rule for pattern, rule in _REFUSED if re.search(pattern, cause.what)), "pods-refused")
    raw = _refusal(group.workload, scene)
    needs = found.names(
        logs.needs(raw, group.namespace), f"Namespace {group.namespace}", _account(raw, group.namespace)
    )
    shown = (
        found.of_condition(group.workload, "ReplicaFailure")
        if status.is_true(group.workload, "ReplicaFailure")
        else found.evidence(f"event of {group.subject}", raw)
    )
    return Found(
        rule=rule,
        subject=group.subject,
        says=_said(group, cause),
        evidence=(shown,),
        next=_next(rule, group),
        since=cause.since,
        names=roles.names(group, scene),
        needs=needs,
        layer=roles.layer(group),
    )


def _refusal(workload: Mapping[str, Any], scene: Scene) -> str:
    if status.is_true(workload, "ReplicaFailure"):
        return text(status.condition(workload, "ReplicaFailure"), "message")
    return next((text(each, "message") for each in scene.events_of(workload, "FailedCreate")), "")


def _account(raw: str, namespace: str) -> str:
    match = re.search(r'serviceaccount "([^"]+)" not found', raw)
    return f"ServiceAccount {namespace}/{match[1]}" if match else ""


def _of_pods(group: Group, scene: Scene) -> Found | None:
    is_enough = isinstance(groups.verdict(group, scene), Passed)
    sick = [each for pod in group.pods if (each := pods.ill(pod, scene)) is not None]
    if is_enough:  # one more than the nodes can take, which waits for a node, is well
        sick = [each for each in sick if each.rule not in ("unschedulable", "pod-not-ready", "probe-failing")]
    if not sick:
        return None
    worst = min(sick, key=lambda each: each.rank)
    count = len(sick)
    return Found(
        rule=worst.rule,
        subject=group.subject,
        says=_said(group, worst.cause) + (f" ({count} of {len(group.pods)} pods)" if len(group.pods) > 1 else ""),
        evidence=worst.evidence,
        next=_next(worst.rule, group, worst),
        since=worst.cause.since,
        names=roles.names(group, scene),
        needs=found.names(f"Namespace {group.namespace}", *(_ground(each, group, scene) for each in sick)),
        layer=roles.layer(group),
    )


def _ground(sick: pods.Ill, group: Group, scene: Scene) -> frozenset[str]:
    """What a pod needs: one with the network of its host works without the CNI's, and brings it perhaps."""
    if not (roles.is_agent(group) or at(sick.pod, "spec", "hostNetwork") is True):
        return sick.needs
    node = text(sick.pod, "spec", "nodeName")
    is_silent = text(status.condition(scene.one("/Node", node), "Ready"), "status") == "Unknown"
    spared = {found.NETWORK, found.network_of(node), *(() if is_silent else (f"Node {node}",))}
    return sick.needs - spared


def _said(group: Group, cause: Cause) -> str:
    usually = f"; usually {cause.usually}" if cause.usually else ""
    return f"{group.subject}: {cause.what}{usually}"


def _next(rule: str, group: Group, sick: pods.Ill | None = None) -> tuple[NextCommand, ...]:
    where = f"kubectl -n {group.namespace}"
    if sick is not None and rule in ("crash-loop", "out-of-memory"):
        name = text(sick.pod, "metadata", "name")
        first = found.command(f"{where} logs {name} --all-containers --previous", "what it said before it ended")
        return (first, found.command(f"{where} describe pod {name}", "how it ended"))
    match rule:
        case "quota-exceeded":
            return (found.command(f"{where} describe resourcequota", "what is used, and by how much it is too small"),)
        case "limit-range":
            return (found.command(f"{where} describe limitrange", "what the namespace allows a container"),)
        case "pod-security":
            written = f"kubectl get namespace {group.namespace} --show-labels"
            return (found.command(written, "the label pod-security.kubernetes.io/enforce decides"),)
        case "unschedulable" if sick is not None:
            name = text(sick.pod, "metadata", "name")
            return (
                found.command(f"{where} describe pod {name}", "what the scheduler says of each node"),
                found.command("kubectl describe nodes", "taints, labels, and what is left"),
            )
        case "scheduler-silent":
            return (found.command("kubectl -n kube-system get pods -o wide", "whether kube-scheduler runs"),)
        case "pod-sandbox":
            return (found.command("kubectl -n kube-system get pods -o wide", "whether the CNI runs on that node"),)
    if sick is not None:
        return (found.command(f"{where} describe pod {text(sick.pod, 'metadata', 'name')}"),)
    return (found.kubectl("describe", group.value),)


def _job(group: Group, scene: Scene) -> Found | None:
    """A Job that gave up, or cannot start; one that is overtaken by a later one of its CronJob is history."""
    job = group.workload
    assert job is not None
    if status.is_true(job, "Complete") or _is_overtaken(job, scene):
        return None
    if not status.is_true(job, "Failed"):
        return _refused(group, scene) or _of_pods(group, scene)
    said = found.of_condition(job, "Failed")
    shown = [said]
    for pod in group.pods:
        for _, lines in scene.log_of(group.namespace, text(pod, "metadata", "name")):
            if line := logs.last(lines):
                shown.append(found.of_log(group.namespace, text(pod, "metadata", "name"), line))
    message = status.said(text(status.condition(job, "Failed"), "message"))
    return Found(
        rule="job-failed",
        subject=group.subject,
        says=f"{group.subject} failed and is not tried again: {message or 'no reason given'}",
        evidence=tuple(shown[:3]),
        next=(found.command(f"kubectl -n {group.namespace} logs job/{group.name} --all-containers", "why it failed"),),
        since=status.since(job, "Failed"),
        needs=found.names(f"Namespace {group.namespace}", logs.needs(" ".join(e.text for e in shown), group.namespace)),
    )


def _is_overtaken(job: Mapping[str, Any], scene: Scene) -> bool:
    owners = {text(each, "uid") for each in sequence(job, "metadata", "ownerReferences")}
    return bool(owners) and any(
        owners & {text(each, "uid") for each in sequence(other, "metadata", "ownerReferences")}
        and (status.created(other) or 0.0) > (status.created(job) or 0.0)
        for other in scene.of("batch/Job")
    )
