"""Charts and releases, by way of helm: ``await Helm(path).template(chart, release="cilium", namespace="kube-system")``.

A method takes arguments, makes a command line of them, runs it, and gives back values of ``model``. Failures are
exceptions by their meaning, drawn in ``errors``. A chart may be a stranger's: its links must not lead out of it, and
no plugin, helper or lookup of it is run.
"""

from firstlight.clients.helm.errors import (
    AlreadyExists,
    BadChart,
    BadValues,
    Busy,
    ChartNotFound,
    Conflict,
    HelmError,
    LimitExceeded,
    NotOwned,
    Overtaken,
    Place,
    Problem,
    Rejected,
    ReleaseNotFound,
    SchemaViolation,
    TemplateError,
    TimedOut,
    TooLarge,
    Unauthorised,
    Unreachable,
    Unreadable,
    Untrusted,
    VersionNotFound,
)
from firstlight.clients.helm.helm import Helm

__all__ = [
    "AlreadyExists",
    "BadChart",
    "BadValues",
    "Busy",
    "ChartNotFound",
    "Conflict",
    "Helm",
    "HelmError",
    "LimitExceeded",
    "NotOwned",
    "Overtaken",
    "Place",
    "Problem",
    "Rejected",
    "ReleaseNotFound",
    "SchemaViolation",
    "TemplateError",
    "TimedOut",
    "TooLarge",
    "Unauthorised",
    "Unreachable",
    "Unreadable",
    "Untrusted",
    "VersionNotFound",
]
