"""Kustomizations, by way of kustomize: ``await Kustomize(path).build(directory, within=repository)``.

A repository may be a stranger's: what a build would fetch, run or read outside of it is found before and refused.
Failures are exceptions by their meaning, drawn in ``errors``.
"""

from firstlight.clients.kustomize.build_scan import BuildRules, sources
from firstlight.clients.kustomize.kustomize import Kustomize
from firstlight.clients.kustomize.kustomize_errors import (
    BadYaml,
    KustomizeCycle,
    KustomizeDuplicate,
    KustomizeError,
    KustomizeForbidden,
    KustomizeLimitExceeded,
    KustomizeTimedOut,
    KustomizeTooLarge,
    KustomizeUnmatched,
    MissingFile,
)

__all__ = [
    "BadYaml",
    "BuildRules",
    "Kustomize",
    "KustomizeCycle",
    "KustomizeDuplicate",
    "KustomizeError",
    "KustomizeForbidden",
    "KustomizeLimitExceeded",
    "KustomizeTimedOut",
    "KustomizeTooLarge",
    "KustomizeUnmatched",
    "MissingFile",
    "sources",
]
