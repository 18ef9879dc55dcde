"""What stops a generator or a template."""


class Failed(ValueError):
    """One that Argo CD would refuse; the message says why."""


class NotKnown(Failed):
    """One that may be right, and that only a run, or another repository, can tell."""
