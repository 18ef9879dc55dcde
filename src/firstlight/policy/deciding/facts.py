"""What is known besides the repo: how the cluster stands, and what Git has of the change already."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was looked up or asked; None and empty where nobody knows."""

    operational: bool | None = None
    """Whether the cluster's API answers and its nodes are ready."""
    engine_works: bool | None = None
    says: str = ""
    """How that is known, or what does not work."""
    asked: tuple[str, ...] = ()
    """How ``firstlight decide`` is asked for the same again: ``--diff``, ``main...HEAD``."""
    is_committed: bool = False
    topic: str = ""
    """The branch that the change is on."""
    revert: str = ""
    """What ``git revert`` takes it back with: commits, or a range of them; empty where merges are in between."""
    since: str = ""
    """The revision before the change."""
