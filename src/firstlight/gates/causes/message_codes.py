"""Codes of what other programs say: the API server through an engine, Git servers, Helm and registries.

Whoever reports such a message branches on its code.
"""

import re
from collections.abc import Iterator

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
_FINAL = re.compile(
    r"failed to create typed patch object|field not declared in schema|unknown field \"|strict decoding error|"
    r": Unsupported value|must be of type|cannot unmarshal|"
    r"kustomization path not found|kustomize build failed|accumulating resources|"
    r"unable to load .* manifest|failed to decode Kubernetes YAML"
)
_STATUS = re.compile(r"\b([A-Z][A-Za-z0-9]+)/([a-z0-9.:-]+)(?:/([a-z0-9.:-]+))? status: '")
_APPLIED = re.compile(r"\b([A-Z][A-Za-z0-9]+)/([a-z0-9.:-]+)(?:/([a-z0-9.:-]+))? (?:dry-run failed|apply failed)")


def apply_code(said: str) -> str:
    """The rule that a message falls under; empty where none knows it."""
    return next((code for pattern, code in _SAYINGS if re.search(pattern, said)), "")


def is_final(said: str) -> bool:
    """Whether a message is of a mistake in the files themselves: no second try takes them, only another commit.

    What is fetched from elsewhere may come at the next try, and what a webhook would have filled in as well.
    """
    return "://" not in said and bool(_FINAL.search(said))


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
