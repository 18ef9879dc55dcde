"""git as one class: a method for each thing that is asked of it, sorted into files by what they are about."""

from firstlight.clients.git.landing import Landing


class Git(Landing):
    """git at a path. Each of its parts builds on the one before: history, trees, states, writing, remotes, landing."""
