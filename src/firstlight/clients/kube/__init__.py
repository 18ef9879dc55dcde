"""The Kubernetes API, thin and asynchronous: ``async with kube.Client(kube.load()) as client``.

``Client`` is imported when it is first used, because aiohttp costs a few hundred milliseconds that
``--help`` and everything offline should not pay.
"""

import importlib
from typing import TYPE_CHECKING, Any

from firstlight.clients.kube.client_config import ClientConfig, in_cluster, load
from firstlight.clients.kube.kube_errors import (
    AlreadyExists,
    AmbiguousWrite,
    ApiError,
    BadRequest,
    CertificateProblem,
    Conflict,
    DryRunRefused,
    Forbidden,
    Gone,
    Invalid,
    KubeUntrusted,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    UnknownKind,
)
from firstlight.clients.kube.retry import Repeat, RetryPolicy
from firstlight.clients.kube.watch_tracker import Added, Deleted, Modified, Synced, WatchEvent

if TYPE_CHECKING:
    from firstlight.clients.kube.client import Client
    from firstlight.clients.kube.connection import ServerReadiness
    from firstlight.clients.kube.reading import ObjectListing

__all__ = [
    "Added",
    "AlreadyExists",
    "AmbiguousWrite",
    "ApiError",
    "BadRequest",
    "CertificateProblem",
    "Client",
    "ClientConfig",
    "Conflict",
    "Deleted",
    "DryRunRefused",
    "Forbidden",
    "Gone",
    "Invalid",
    "KubeUntrusted",
    "Modified",
    "NotFound",
    "ObjectListing",
    "Repeat",
    "RetryPolicy",
    "ServerError",
    "ServerReadiness",
    "Synced",
    "TooManyRequests",
    "Unauthorized",
    "UnknownKind",
    "WatchEvent",
    "in_cluster",
    "load",
]

_LAZY = {"Client": "client", "ObjectListing": "reading", "ServerReadiness": "connection"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"firstlight.clients.kube.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
