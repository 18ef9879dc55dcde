"""Log lines: the one that tells why something ended, what it points at, and whose logs are wanted at all."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.doctor import symptoms
from firstlight.document import conditions
from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.gates.causes import pods
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


# What engines say when the server does not take what they apply: the code it falls under, what would explain it.


_SAYINGS = (
    (r'no matches for kind "|resource mapping not found|could not find the requested resource', "kind-missing"),
    (r"field is immutable|updates to \S+ .*are forbidden|may not change once set|is immutable once", "immutable-field"),
    (r"because it is being terminated", "namespace-going"),
    (r'namespaces "[^"]+" not found', "namespace-missing"),
    (r"failed calling webhook ", "webhook-in-the-way"),
    (r"admission webhook \S+ denied the request|ValidatingAdmissionPolicy \S+ .*denied request", "policy-refuses"),
    (r"exceeded quota", "quota-exceeded"),
    (r"is forbidden: User \"", "engine-rights"),
    (r"Apply failed with \d+ conflicts?", "apply-conflict"),
    (r"invalid ownership metadata", "helm-ownership"),
)  # fmt: skip
_STATUS = re.compile(r"\b([A-Z][A-Za-z0-9]+)/([a-z0-9.:-]+)(?:/([a-z0-9.:-]+))? status: '")
_APPLIED = re.compile(r"\b([A-Z][A-Za-z0-9]+)/([a-z0-9.:-]+)(?:/([a-z0-9.:-]+))? (?:dry-run failed|apply failed)")


def apply_code(said: str) -> str:
    """The rule that a message falls under; empty where none knows it."""
    return next((code for pattern, code in _SAYINGS if re.search(pattern, said)), "")


def needs_of_apply(said: str, namespace: str = "") -> frozenset[str]:
    """What would explain a message: kinds, namespaces, webhooks and objects that it names."""
    return symptoms.names(
        needs_of_message(said, namespace),
        (f"Namespace {name}" for name in re.findall(r'namespaces "([^"]+)" not found', said)),
        (f"Namespace {name}" for name in re.findall(r"in namespace (\S+) because it is being terminated", said)),
        (f"Secret {namespace}/{name}" for name in re.findall(r'secrets "([^"]+)" not found', said) if namespace),
        (f"ConfigMap {namespace}/{name}" for name in re.findall(r'configmaps "([^"]+)" not found', said) if namespace),
        unready_objects(said),
    )


def unready_objects(said: str) -> Iterator[str]:
    """The objects that did not become ready, as Flux and Helm list them: ``[Deployment/shop/web status: 'Failed']``."""
    for kind, one, two in _STATUS.findall(said):
        yield f"{kind} {one}/{two}" if two else f"{kind} {one}"


def refused_object(said: str) -> str:
    """The object that the server did not take: ``Deployment shop/web``; empty where the message does not say."""
    match = _APPLIED.search(said)
    if match is None:
        return ""
    kind, one, two = match.groups()
    return f"{kind} {one}/{two}" if two else f"{kind} {one}"


def missing_kinds(said: str) -> list[str]:
    """The kinds that the server does not know."""
    return sorted(set(re.findall(r'no matches for kind "([^"]+)"', said)))


# Why a repository cannot be read, told from what Git, Helm or a registry answered, through Flux or Argo CD.


_GIT = (
    (r"knownhosts: key (is unknown|mismatch)|unknown host key|host key verification failed", "git-host-key"),
    (
        r"couldn't find remote ref|reference not found|unable to resolve '\S*' to a commit|object not found|"
        r"no match found for semver|failed to resolve commit object|unable to resolve git revision",
        "git-reference",
    ),
    (
        r"no such host|server misbehaving|i/o timeout|connection refused|deadline exceeded|x509:|tls: |"
        r"no route to host|connection reset|network is unreachable|Client\.Timeout|\bEOF\b",
        "git-unreachable",
    ),
    (
        r"authentication required|unable to authenticate|[Pp]ermission denied|[Aa]ccess denied|authorization failed|"
        r"[Rr]epository not found|failed to get secret|failed to configure auth|invalid auth|SSH_AUTH_SOCK|"
        r"\b(401|403)\b|[Ii]nvalid (username|credentials|token)",
        "git-authentication",
    ),
)  # fmt: skip
_CHART = (
    (
        r"\b(401|403)\b|[Uu]nauthorized|UNAUTHORIZED|DENIED|denied|authentication required|failed to get secret",
        "chart-authentication",
    ),
    (
        r"no '\S*' chart with version matching|no chart version found|chart not found|chart name found|"
        r"MANIFEST_UNKNOWN|NAME_UNKNOWN|\b404\b|not found|no match found for semver",
        "chart-missing",
    ),
    (
        r"no such host|server misbehaving|i/o timeout|connection refused|deadline exceeded|x509:|tls: |"
        r"no route to host|connection reset|Client\.Timeout|\bEOF\b|\b50[0-9]\b",
        "chart-unreachable",
    ),
)  # fmt: skip
REPOSITORY_MESSAGES = {
    "git-host-key": "the host key of the Git server is not the one that is known",
    "git-reference": "the branch, tag or commit does not exist",
    "git-unreachable": "the Git server is not reached",
    "git-authentication": "the Git server does not accept the credentials, or there are none",
    "chart-authentication": "the registry does not accept the credentials, or there are none",
    "chart-missing": "there is no such chart or version",
    "chart-unreachable": "the chart's repository is not reached",
}


def git_code(said: str) -> str:
    """The rule that the answer of a Git server falls under; empty where none knows it."""
    return next((code for pattern, code in _GIT if re.search(pattern, said)), "")


def chart_code(said: str) -> str:
    """The rule that the answer of a registry or Helm repository falls under; empty where none knows it."""
    return next((code for pattern, code in _CHART if re.search(pattern, said)), "")


def needs_of_repository(said: str) -> frozenset[str]:
    """What would explain it: names that are not found, or a network that does not carry."""
    reach = (symptoms.NETWORK,) if re.search(r"no such host|timeout|no route|unreachable|refused", said) else ()
    return symptoms.names(needs_of_message(said, ""), reach)
