"""helm as one class: a method for each command, sorted into files by what they are about."""

from firstlight.clients.helm.helm_errors import (
    BadChart,
    BadValues,
    ChartNotFound,
    HelmAlreadyExists,
    HelmBusy,
    HelmConflict,
    HelmError,
    HelmLimitExceeded,
    HelmNotOwned,
    HelmOvertaken,
    HelmRejected,
    HelmTemplateError,
    HelmTimedOut,
    HelmTooLarge,
    HelmUnauthorised,
    HelmUnreachable,
    HelmUnreadable,
    HelmUntrusted,
    ReleaseNotFound,
    SchemaProblem,
    SchemaViolation,
    TemplatePlace,
    VersionNotFound,
)
from firstlight.clients.helm.releases import HelmReleases

__all__ = [
    "BadChart",
    "BadValues",
    "ChartNotFound",
    "Helm",
    "HelmAlreadyExists",
    "HelmBusy",
    "HelmConflict",
    "HelmError",
    "HelmLimitExceeded",
    "HelmNotOwned",
    "HelmOvertaken",
    "HelmRejected",
    "HelmTemplateError",
    "HelmTimedOut",
    "HelmTooLarge",
    "HelmUnauthorised",
    "HelmUnreachable",
    "HelmUnreadable",
    "HelmUntrusted",
    "ReleaseNotFound",
    "SchemaProblem",
    "SchemaViolation",
    "TemplatePlace",
    "VersionNotFound",
]


class Helm(HelmReleases):
    """helm at a path: charts without a cluster, releases with a kubeconfig."""
