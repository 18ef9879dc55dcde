"""Git repositories, by way of git: ``await Git(path).head(work_tree)``.

A method takes a path and arguments, makes a command line of them, runs it, and gives back values of ``model``.
Failures are exceptions by their meaning, drawn in ``errors``. A repository may be a stranger's: what it configures is
not obeyed, what it contains is not run, and what leads out of it is refused.
"""

from firstlight.clients.git.errors import (
    Busy,
    GitError,
    NotARepository,
    NotFound,
    PointsElsewhere,
    Rejected,
    TimedOut,
    TooLarge,
    Unauthorised,
    Unreachable,
    Unreadable,
    Untrusted,
)
from firstlight.clients.git.git import Git

__all__ = [
    "Busy",
    "Git",
    "GitError",
    "NotARepository",
    "NotFound",
    "PointsElsewhere",
    "Rejected",
    "TimedOut",
    "TooLarge",
    "Unauthorised",
    "Unreachable",
    "Unreadable",
    "Untrusted",
]
