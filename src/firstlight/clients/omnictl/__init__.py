"""Omni, by way of omnictl: ``await Omnictl(path).diff(template, directory=directory)``.

A method takes arguments, makes a command line of them, runs it, and gives back values of ``model``. Failures are
exceptions by their meaning, drawn in ``errors``.
"""

from firstlight.clients.omnictl.errors import (
    Forbidden,
    NotFound,
    NotSignedIn,
    OmniError,
    Rejected,
    TimedOut,
    Unreachable,
    Unreadable,
    Unsupported,
    Untrusted,
)
from firstlight.clients.omnictl.omnictl import Omnictl

__all__ = [
    "Forbidden",
    "NotFound",
    "NotSignedIn",
    "OmniError",
    "Omnictl",
    "Rejected",
    "TimedOut",
    "Unreachable",
    "Unreadable",
    "Unsupported",
    "Untrusted",
]
