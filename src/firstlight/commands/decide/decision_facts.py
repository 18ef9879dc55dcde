"""What is known besides the repo: how the cluster stands, and what Git has of the change already."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFacts:
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
    looked: tuple[str, ...] = ()
    """The options by which a cluster was looked at: ``--cluster``, ``home``."""
    rules: tuple[str, ...] = ()
    """The options by which more rules were given: ``--rules``, ``strict.yaml``."""
    is_staged: bool = False
    """Whether it is what ``git commit`` would commit."""
    unaddable: frozenset[str] = frozenset()
    """Files that ``git add`` does not know: gone from the disk and from the index."""
    besides: tuple[str, ...] = ()
    """Files that belong to the change, though nothing that is told of differs in them: a kustomization that lists a
    moved file by its new name."""
    branches: frozenset[str] = frozenset()
    """All that Git knows, those of remotes as ``origin/main``."""
    holding: frozenset[str] = frozenset()
    """Those of them that have the change already."""
    mentions: tuple[str, ...] = ()
    """Where the repo still speaks of an address range that the change takes away: ``values.yaml:12``."""
