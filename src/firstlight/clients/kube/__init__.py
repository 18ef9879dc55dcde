"""The Kubernetes API, thin and asynchronous: ``async with kube.Client(kube.load()) as client``.

``Client`` is imported when it is first used, because aiohttp costs a few hundred milliseconds that
``--help`` and everything offline should not pay.
"""

from typing import TYPE_CHECKING, Any

from firstlight.clients.kube.config import Config, in_cluster, load
from firstlight.clients.kube.errors import (
    AlreadyExists,
    Ambiguous,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    UnknownKind,
    Untrusted,
)
from firstlight.clients.kube.retry import Policy, Repeat
from firstlight.clients.kube.tracking import Added, Deleted, Event, Modified, Synced

if TYPE_CHECKING:
    from firstlight.clients.kube.client import Client, Listing, Readiness

__all__ = [
    "Added",
    "AlreadyExists",
    "Ambiguous",
    "ApiError",
    "BadRequest",
    "Client",
    "Config",
    "Conflict",
    "Deleted",
    "Event",
    "Forbidden",
    "Gone",
    "Invalid",
    "Listing",
    "Modified",
    "NotFound",
    "Policy",
    "Readiness",
    "Repeat",
    "ServerError",
    "Synced",
    "TooManyRequests",
    "Unauthorized",
    "UnknownKind",
    "Untrusted",
    "in_cluster",
    "load",
]

_LAZY = frozenset({"Client", "Listing", "Readiness"})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from firstlight.clients.kube import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
