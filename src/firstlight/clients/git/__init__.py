"""git as one class: a method for each thing that is asked of it, sorted into files by what they are about."""

from firstlight.clients.git.git_errors import (
    GitBusy,
    GitError,
    GitNotFound,
    GitPointsElsewhere,
    GitRejected,
    GitTimedOut,
    GitTooLarge,
    GitUnauthorised,
    GitUnreachable,
    GitUnreadable,
    GitUntrusted,
    NotARepository,
)
from firstlight.clients.git.remotes import GitLanding

__all__ = [
    "Git",
    "GitBusy",
    "GitError",
    "GitNotFound",
    "GitPointsElsewhere",
    "GitRejected",
    "GitTimedOut",
    "GitTooLarge",
    "GitUnauthorised",
    "GitUnreachable",
    "GitUnreadable",
    "GitUntrusted",
    "NotARepository",
]


class Git(GitLanding):
    """git at a path. Each of its parts builds on the one before: history, trees, states, writing, remotes."""
