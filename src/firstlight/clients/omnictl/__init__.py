"""Omni, by way of omnictl: ``await Omnictl(path).diff(template, directory=directory)``.

A method takes arguments, makes a command line of them, runs it, and gives back values of ``model``. Failures are
exceptions by their meaning, drawn in ``errors``.
"""

from firstlight.clients.omnictl.omni_errors import (
    OmniError,
    OmniForbidden,
    OmniNotFound,
    OmniNotSignedIn,
    OmniRejected,
    OmniTimedOut,
    OmniUnreachable,
    OmniUnreadable,
    OmniUnsupported,
    OmniUntrusted,
)
from firstlight.clients.omnictl.omnictl import Omnictl

__all__ = [
    "OmniError",
    "OmniForbidden",
    "OmniNotFound",
    "OmniNotSignedIn",
    "OmniRejected",
    "OmniTimedOut",
    "OmniUnreachable",
    "OmniUnreadable",
    "OmniUnsupported",
    "OmniUntrusted",
    "Omnictl",
]
