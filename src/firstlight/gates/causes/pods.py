"""Why a pod is not ready: images, crashes, configuration that is missing, volumes, probes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.gates.causes import refusals
from firstlight.gates.causes.refusals import WaitCause

_PULLING = {"ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "RegistryUnavailable"}
_STARTING = {"ContainerCreating", "PodInitializing", ""}
_VOLUME = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"}
_SANDBOX = {"FailedCreatePodSandBox"}


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether a pod serves, or has done what it was for."""
    return text(pod, "status", "phase") == "Succeeded" or (
        conditions.is_true(pod, "Ready") and not conditions.is_going(pod)
    )


def pod_cause(pod: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> WaitCause | None:
    """Why a pod that has a node is not ready; None if it is, or nothing tells."""
    if is_ready(pod):
        return None
    mine = [each for each in events if _is_about(each, pod)]
    since = conditions.condition_since(pod, "Ready") or conditions.created(pod)
    if conditions.is_going(pod):
        usually = "its process is slow to stop, or its node is gone"
        return WaitCause(
            "an old pod is still being deleted",
            usually,
            conditions.moment(text(pod, "metadata", "deletionTimestamp")),
            5,
        )
    if text(pod, "status", "phase") == "Failed" and (why := text(pod, "status", "reason")):
        message = conditions.said(text(pod, "status", "message"))
        return WaitCause(f"its pod failed: {why}" + (f" ({message})" if message else ""), "", since, 2)
    for container, word in _containers(pod):
        if cause := _of_container(container, word, mine, since):
            return cause
    return _starting(mine, since) or _running(pod, mine, since)


def _is_about(event: Any, pod: Mapping[str, Any]) -> bool:
    about = mapping(event, "involvedObject")
    return (
        text(about, "kind") == "Pod"
        and text(about, "name") == text(pod, "metadata", "name")
        and text(about, "namespace") == text(pod, "metadata", "namespace")
    )


def _containers(pod: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Its containers with what they are called; those that come first, first."""
    for key, word in (("initContainerStatuses", "init container"), ("containerStatuses", "container")):
        for each in sequence(pod, "status", key):
            if at(each, "ready") is not True:
                yield mapping(each), word


def _of_container(
    container: Mapping[str, Any], word: str, events: Sequence[Mapping[str, Any]], since: float | None
) -> WaitCause | None:
    name = f"{word} {text(container, 'name')}"
    waits = mapping(container, "state", "waiting")
    reason, message = text(waits, "reason"), text(waits, "message")
    if reason in _PULLING:
        return _pull(container, message, events, since)
    if reason == "InvalidImageName":
        return WaitCause(f"{text(container, 'image')} is no image name", "a value that was not filled in", since, 1)
    if reason == "CrashLoopBackOff":
        return _crash(container, name, since)
    if reason == "CreateContainerConfigError":
        return _config(message, name, since)
    if reason and reason not in _STARTING:
        return WaitCause(f"{name}: {reason}" + (f" ({conditions.said(message)})" if message else ""), "", since, 2)
    ended = mapping(container, "state", "terminated")
    if ended and number(ended, "exitCode") != 0:
        return WaitCause(f"{name} ended with {_ended(ended)}", "its log tells", since, 2)
    if word == "init container" and mapping(container, "state", "running"):
        started = conditions.moment(text(container, "state", "running", "startedAt"))
        return WaitCause(
            f"{name} has not ended yet", "it waits for something itself: its log tells", started or since, 3
        )
    return None


def _pull(
    container: Mapping[str, Any], message: str, events: Sequence[Mapping[str, Any]], since: float | None
) -> WaitCause:
    """The back-off itself says little; the event of the last try says why."""
    told = [text(each, "message") for each in events if text(each, "reason") == "Failed"]
    why = next((each for each in (message, *told) if "rpc error" in each or "failed to" in each.lower()), "")
    if "not found" in why or "manifest unknown" in why:
        usually = "a wrong name or tag"
    elif re.search(r"401|403|unauthorized|forbidden|denied|credential", why, re.IGNORECASE):
        usually = "a pull secret that is missing or wrong"
    elif re.search(r"no such host|timeout|dial tcp|connection refused|i/o", why, re.IGNORECASE):
        usually = "the node does not reach the registry: DNS, proxy or firewall"
    elif "toomanyrequests" in why.lower():
        usually = "the registry's rate limit"
    else:
        usually = "a wrong name or tag, a missing pull secret, or a registry that the node does not reach"
    return WaitCause(f"image pull back-off: {text(container, 'image')}", usually, since, 1)


def _crash(container: Mapping[str, Any], name: str, since: float | None) -> WaitCause:
    ended = mapping(container, "lastState", "terminated")
    restarts = number(container, "restartCount")
    usually = "its log tells: kubectl logs --previous"
    if text(ended, "reason") == "OOMKilled":
        usually = "a memory limit that is too low"
    how = f", last with {_ended(ended)}" if ended else ""
    return WaitCause(f"{name} crashes again and again ({restarts} restarts{how})", usually, since, 1)


def _ended(ended: Mapping[str, Any]) -> str:
    reason, code = text(ended, "reason"), number(ended, "exitCode")
    return f"{reason}, exit code {code}" if reason and reason != "Error" else f"exit code {code}"


def _config(message: str, name: str, since: float | None) -> WaitCause:
    if found := re.search(r'(secret|configmap) "([^"]+)" not found', message):
        kind = "Secret" if found[1] == "secret" else "ConfigMap"
        return WaitCause(f"the {kind} {found[2]} is missing, which {name} needs", _maker(kind), since, 1)
    if found := re.search(r"couldn't find key (\S+) in (Secret|ConfigMap) (\S+)", message):
        return WaitCause(
            f"the {found[2]} {found[3]} has no key {found[1]}, which {name} needs", "a wrong name", since, 1
        )
    return WaitCause(f"{name} cannot be made: {conditions.said(message)}", "", since, 1)


def _maker(kind: str) -> str:
    return "whatever makes it (an ExternalSecret, a Certificate) is not ready" if kind == "Secret" else "a wrong name"


def _starting(events: Sequence[Mapping[str, Any]], since: float | None) -> WaitCause | None:
    """What keeps containers from being made at all is only in events."""
    for each in sorted(events, key=lambda event: refusals.event_time(event) or 0.0, reverse=True):
        message = text(each, "message")
        if text(each, "reason") in _VOLUME:
            if found := re.search(r'(secret|configmap) "([^"]+)" not found', message):
                kind = "Secret" if found[1] == "secret" else "ConfigMap"
                return WaitCause(f"the {kind} {found[2]} is missing, which a volume needs", _maker(kind), since, 1)
            return WaitCause(
                f"a volume cannot be mounted: {conditions.said(message)}",
                "the CSI driver does not run on its node",
                since,
                1,
            )
        if text(each, "reason") in _SANDBOX:
            return WaitCause(
                f"the network of its pod cannot be set up: {conditions.said(message)}",
                "the CNI on its node is not ready",
                since,
                1,
            )
    return None


def _running(pod: Mapping[str, Any], events: Sequence[Mapping[str, Any]], since: float | None) -> WaitCause | None:
    probes = [each for each in events if text(each, "reason") == "Unhealthy"]
    is_up = any(mapping(each, "state", "running") for each in sequence(pod, "status", "containerStatuses"))
    if is_up and probes:
        last = max(probes, key=lambda each: refusals.event_time(each) or 0.0)
        return WaitCause(
            _lowered(conditions.said(text(last, "message"))), "it still starts, or waits for something itself", since, 3
        )
    if is_up:
        return WaitCause("its pod runs and is not ready yet", "it still starts", since, 4)
    if text(pod, "spec", "nodeName"):
        return WaitCause("its pod starts", "images are being pulled", since, 4)
    return None


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]


# A pod whose image does not exist, as kubelet 1.34 reports it:
#
# status:
#   phase: Pending
#   conditions:
#   - {type: PodReadyToStartContainers, status: "True", lastTransitionTime: "2026-11-16T06:38:04Z"}
#   - {type: Initialized, status: "True", lastTransitionTime: "2026-11-16T06:38:02Z"}
#   - type: Ready
#     status: "False"
#     reason: ContainersNotReady
#     message: 'containers with unready status: [cert-manager-cainjector]'
#     lastTransitionTime: "2026-11-16T06:38:02Z"
#   - {type: PodScheduled, status: "True", lastTransitionTime: "2026-11-16T06:38:02Z"}
#   containerStatuses:
#   - name: cert-manager-cainjector
#     image: quay.io/jetstack/cert-manager-cainjector:v1.19.9
#     imageID: ""
#     ready: false
#     restartCount: 0
#     started: false
#     state:
#       waiting:
#         reason: ImagePullBackOff
#         message: 'Back-off pulling image "quay.io/jetstack/cert-manager-cainjector:v1.19.9": ErrImagePull: rpc error:
#           code = NotFound desc = failed to pull and unpack image …: not found'
