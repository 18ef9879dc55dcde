"""What engines say when the server does not take what they apply: the rule it falls under, what would explain it."""

import re
from collections.abc import Iterator

from firstlight.policy.diagnosing import found, logs

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


def rule(said: str) -> str:
    """The rule that a message falls under; empty where none knows it."""
    return next((rule for pattern, rule in _SAYINGS if re.search(pattern, said)), "")


def needs(said: str, namespace: str = "") -> frozenset[str]:
    """What would explain a message: kinds, namespaces, webhooks and objects that it names."""
    return found.names(
        logs.needs(said, namespace),
        (f"Namespace {name}" for name in re.findall(r'namespaces "([^"]+)" not found', said)),
        (f"Namespace {name}" for name in re.findall(r"in namespace (\S+) because it is being terminated", said)),
        (f"Secret {namespace}/{name}" for name in re.findall(r'secrets "([^"]+)" not found', said) if namespace),
        (f"ConfigMap {namespace}/{name}" for name in re.findall(r'configmaps "([^"]+)" not found', said) if namespace),
        unready(said),
    )


def unready(said: str) -> Iterator[str]:
    """The objects that did not become ready, as Flux and Helm list them: ``[Deployment/shop/web status: 'Failed']``."""
    for kind, one, two in _STATUS.findall(said):
        yield f"{kind} {one}/{two}" if two else f"{kind} {one}"


def refused(said: str) -> str:
    """The object that the server did not take: ``Deployment shop/web``; empty where the message does not say."""
    match = _APPLIED.search(said)
    if match is None:
        return ""
    kind, one, two = match.groups()
    return f"{kind} {one}/{two}" if two else f"{kind} {one}"


def kinds(said: str) -> list[str]:
    """The kinds that the server does not know."""
    return sorted(set(re.findall(r'no matches for kind "([^"]+)"', said)))
