"""Talos machines, by way of talosctl: ``await Talosctl(path, talosconfig=secret).members(Target.of("10.5.0.2"))``.

A method takes arguments, makes a command line of them, runs it, and gives back values of ``model``. Failures are
exceptions by their meaning, drawn in ``errors``. Questions may go to several machines at once, and then all must
answer; whoever wants the answers of those that do asks one by one. What changes something is for one machine.
"""

from firstlight.clients.talosctl.errors import (
    AlreadyDone,
    NotFound,
    NotReadyYet,
    Problem,
    Rejected,
    TalosError,
    TimedOut,
    Unauthorised,
    Unreachable,
    Unreadable,
    Unsupported,
    Untrusted,
)
from firstlight.clients.talosctl.talosctl import Talosctl
from firstlight.clients.talosctl.target import Target

__all__ = [
    "AlreadyDone",
    "NotFound",
    "NotReadyYet",
    "Problem",
    "Rejected",
    "TalosError",
    "Talosctl",
    "Target",
    "TimedOut",
    "Unauthorised",
    "Unreachable",
    "Unreadable",
    "Unsupported",
    "Untrusted",
]
