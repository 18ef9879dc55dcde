"""Why a repository cannot be read, told from what Git, Helm or a registry answered, through Flux or Argo CD."""

import re

from firstlight.policy.diagnosing import found, logs

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
WORDS = {
    "git-host-key": "the host key of the Git server is not the one that is known",
    "git-reference": "the branch, tag or commit does not exist",
    "git-unreachable": "the Git server is not reached",
    "git-authentication": "the Git server does not accept the credentials, or there are none",
    "chart-authentication": "the registry does not accept the credentials, or there are none",
    "chart-missing": "there is no such chart or version",
    "chart-unreachable": "the chart's repository is not reached",
}


def of_git(said: str) -> str:
    """The rule that the answer of a Git server falls under; empty where none knows it."""
    return next((rule for pattern, rule in _GIT if re.search(pattern, said)), "")


def of_charts(said: str) -> str:
    """The rule that the answer of a registry or Helm repository falls under; empty where none knows it."""
    return next((rule for pattern, rule in _CHART if re.search(pattern, said)), "")


def needs(said: str) -> frozenset[str]:
    """What would explain it: names that are not found, or a network that does not carry."""
    reach = (found.NETWORK,) if re.search(r"no such host|timeout|no route|unreachable|refused", said) else ()
    return found.names(logs.needs(said, ""), reach)
