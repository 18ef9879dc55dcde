"""Messages and log lines: what would explain what they say, and whose logs are wanted at all."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.doctor import symptoms
from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.gates.causes import message_codes, pods
from firstlight.observe.cluster.observation import ClusterObservation, WantedLog

_TELLING = re.compile(
    r"\b(error|fatal|panic|failed|cannot|unable|denied|refused|forbidden|exception|no such|not found)\b", re.IGNORECASE
)
_DNS = re.compile(
    r"no such host|server misbehaving|lookup \S+( on \S+)?: i/o timeout|Temporary failure in name resolution"
)
_MOST = 40
"""Logs that are read at most: the first of many pods that fail alike tells as much as all."""


def last_failure(lines: Sequence[str]) -> str:
    """The line that tells why a container ended: the last one that speaks of failure, else the last."""
    full = [line for each in lines if (line := each.strip())]
    return next((each for each in reversed(full) if _TELLING.search(each)), full[-1] if full else "")


def needs_of_message(said: str, namespace: str) -> frozenset[str]:
    """What would explain what a message says."""
    told = set()
    if _DNS.search(said):
        told.add(symptoms.DNS)
    for host in re.findall(r"\b([a-z0-9-]+)\.([a-z0-9-]+)\.svc\b", said):
        told.add(f"Service {host[1]}/{host[0]}")
    if re.search(r"lookup ([a-z0-9-]+)( on \S+)?:", said):
        told |= {f"Service {namespace}/{name}" for name in re.findall(r"lookup ([a-z0-9-]+)(?: on \S+)?:", said)}
    if re.search(r"10\.96\.0\.1:443|kubernetes\.default\.svc", said):
        told.add(symptoms.API)
    for hook in re.findall(r'failed calling webhook "([^"]+)"', said):
        told.add(f"webhook {hook}")
    for kind, group in re.findall(r'no matches for kind "([^"]+)"(?: in version "([^"/]+)/)?', said):
        told |= {f"kind {kind}", f"kinds of {group}"}
    if re.search(r"certificate has expired or is not yet valid", said):
        told.add(symptoms.TIME)
    return frozenset(told)


def wanted_logs(scene: ClusterObservation) -> tuple[WantedLog, ...]:
    """The logs that would tell more: of containers that crash, end or run without becoming ready."""
    listed = sorted(set(_wanted(scene)))
    return tuple(listed[:_MOST])


def _wanted(scene: ClusterObservation) -> Iterator[WantedLog]:
    for pod in scene.of("/Pod"):
        if pods.is_ready(pod) or conditions.is_going(pod):
            continue
        for key in ("initContainerStatuses", "containerStatuses"):
            for container in sequence(pod, "status", key):
                if at(container, "ready") is not True and (is_previous := _is_told(container)) is not None:
                    names = text(pod, "metadata", "namespace"), text(pod, "metadata", "name")
                    yield WantedLog(*names, text(container, "name"), is_previous)


def _is_told(container: Mapping[str, Any]) -> bool | None:
    """Whether the log of the one that ended before is meant; None where there is nothing to read."""
    if mapping(container, "state", "terminated"):
        return None if number(container, "state", "terminated", "exitCode") == 0 else False
    if text(container, "state", "waiting", "reason") == "CrashLoopBackOff":
        return True
    return False if mapping(container, "state", "running") else None


def needs_of_apply(said: str, namespace: str = "") -> frozenset[str]:
    """What would explain a message: kinds, namespaces, webhooks and objects that it names."""
    return symptoms.names(
        needs_of_message(said, namespace),
        (f"Namespace {name}" for name in re.findall(r'namespaces "([^"]+)" not found', said)),
        (f"Namespace {name}" for name in re.findall(r"in namespace (\S+) because it is being terminated", said)),
        (f"Secret {namespace}/{name}" for name in re.findall(r'secrets "([^"]+)" not found', said) if namespace),
        (f"ConfigMap {namespace}/{name}" for name in re.findall(r'configmaps "([^"]+)" not found', said) if namespace),
        message_codes.unready_objects(said),
    )


def needs_of_repository(said: str) -> frozenset[str]:
    """What would explain it: names that are not found, or a network that does not carry."""
    reach = (symptoms.NETWORK,) if re.search(r"no such host|timeout|no route|unreachable|refused", said) else ()
    return symptoms.names(needs_of_message(said, ""), reach)
