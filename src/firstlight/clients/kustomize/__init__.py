"""Kustomizations, by way of kustomize: ``await Kustomize(path).build(directory, within=repository)``.

A repository may be a stranger's: what a build would fetch, run or read outside of it is found before and refused.
Failures are exceptions by their meaning, drawn in ``errors``.
"""

from firstlight.clients.kustomize.errors import (
    BadYaml,
    Cycle,
    Duplicate,
    Forbidden,
    KustomizeError,
    LimitExceeded,
    MissingFile,
    TimedOut,
    TooLarge,
    Unmatched,
)
from firstlight.clients.kustomize.kustomize import Kustomize
from firstlight.clients.kustomize.scan import Rules, sources

__all__ = [
    "BadYaml",
    "Cycle",
    "Duplicate",
    "Forbidden",
    "Kustomize",
    "KustomizeError",
    "LimitExceeded",
    "MissingFile",
    "Rules",
    "TimedOut",
    "TooLarge",
    "Unmatched",
    "sources",
]
