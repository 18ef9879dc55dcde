"""A cause: what holds something up, since when, and what usually lies behind it."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, number, text


@dataclasses.dataclass(frozen=True, slots=True)
class WaitCause:
    """What holds something up."""

    what: str
    usually: str = ""
    since: float | None = None
    rank: int = 5
    """How much it explains: of several, the lowest is told."""


# Why the API server takes no pods of a workload: quota, webhooks, pod security, accounts that are missing.


_FAILED_CREATE = "FailedCreate"


def message_cause(message: str, since: float | None) -> WaitCause:
    """A refusal in plain words."""
    told = conditions.said(message)
    if "exceeded quota" in message:
        return WaitCause(
            f"quota exceeded: {_after(told, 'exceeded quota: ')}", "a ResourceQuota that is too small", since, 1
        )
    if found := re.search(r'failed calling webhook "([^"]+)"', message):
        usually = "the webhook's own pods are not ready, or its CA bundle is not the one that it serves under"
        why = _after(told, "failed to call webhook: ")
        return WaitCause(f"the webhook {found[1]} does not answer, so that no pod is created: {why}", usually, since, 1)
    if found := re.search(r'admission webhook "([^"]+)" denied the request: ?(.*)', message, re.DOTALL):
        return WaitCause(f"the webhook {found[1]} refuses its pods: {conditions.said(found[2])}", "a policy", since, 1)
    if "violates PodSecurity" in message:
        usually = "a namespace without the label pod-security.kubernetes.io/enforce that such pods need"
        return WaitCause(f"pod security refuses its pods: {_after(told, 'violates PodSecurity ')}", usually, since, 1)
    if "error looking up service account" in message:
        return WaitCause(
            f"no pod is created: {_after(told, 'error looking up ')}", "a ServiceAccount that is missing", since, 1
        )
    return WaitCause(f"no pod is created: {told}", "", since, 1)


def _after(told: str, mark: str) -> str:
    _, _, rest = told.partition(mark)
    return rest or told


def refusal_cause(workload: Mapping[str, Any], events: Iterable[Mapping[str, Any]], *, pods: int) -> WaitCause | None:
    """Why a workload has fewer pods than it wants, as far as the API server refused them.

    Args:
        workload: As it is now.
        events: Those of its namespace; they stay for an hour, so that they may tell of what is over.
        pods: How many it has.
    """
    failing = conditions.condition(workload, "ReplicaFailure")
    if text(failing, "status") == "True":
        return message_cause(text(failing, "message"), conditions.condition_since(workload, "ReplicaFailure"))
    if pods >= max(number(workload, "spec", "replicas"), number(workload, "status", "desiredNumberScheduled"), 1):
        return None
    kind, name = text(workload, "kind"), text(workload, "metadata", "name")
    mine = [
        each
        for each in events
        if text(each, "reason") == _FAILED_CREATE
        and text(each, "involvedObject", "kind") == kind
        and text(each, "involvedObject", "name") == name
        and at(each, "involvedObject", "uid") == at(workload, "metadata", "uid")
    ]
    if not mine:
        return None
    last = max(mine, key=lambda each: event_time(each) or 0.0)
    return message_cause(text(last, "message"), first_event_time(last))


def event_time(event: Any) -> float | None:
    """When an event was last seen."""
    for path in (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("firstTimestamp",)):
        if (found := conditions.moment(text(event, *path))) is not None:
            return found
    return None


def first_event_time(event: Any) -> float | None:
    """When an event was first seen."""
    for path in (("firstTimestamp",), ("eventTime",)):
        if (found := conditions.moment(text(event, *path))) is not None:
            return found
    return None


# A Deployment whose namespace has a quota that is used up:
#
# status:
#   conditions:
#   - type: ReplicaFailure
#     status: "True"
#     reason: FailedCreate
#     message: 'pods "web-5d4f8c7b9-x2x7q" is forbidden: exceeded quota: small, requested: limits.memory=1Gi,
#       used: limits.memory=4Gi, limited: limits.memory=4Gi'
#     lastTransitionTime: "2026-11-16T06:38:02Z"
#
# DaemonSets and StatefulSets have no such condition; they leave an event:
#
# apiVersion: v1
# kind: Event
# involvedObject: {apiVersion: apps/v1, kind: DaemonSet, name: agent, namespace: metrics, uid: 0b4e…}
# reason: FailedCreate
# message: 'Error creating: pods "agent-" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes
#   (volume "proc")'
# type: Warning
# count: 14
# firstTimestamp: "2026-11-16T06:38:02Z"
# lastTimestamp: "2026-11-16T06:39:24Z"
