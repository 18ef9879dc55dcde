"""A move that was practised in the lab, and what came of it."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class RehearsedMove:
    """A move of one cluster, carried out in its lab."""

    what: str
    """``whoami --to bootstrap``."""
    cluster: str
    lab: str
    """Its name."""
    brought_up: float
    """Seconds in which the cluster came to its handover, as the repo has it now."""
    moved: float = 0.0
    """Seconds from there until it was proven, or failed."""
    passed: tuple[tuple[str, int], ...] = ()
    """Who has the objects in the end, and how many of them; by the certificate."""
    is_passing: bool = False
    """Whether objects get another owner; else only the next cold start is another."""
    certificate: str = ""
    """The digest of a complete one; empty where there is none."""
    pods: int = 0
    """How many there were before, those of Jobs aside."""
    replaced: tuple[str, ...] = ()
    """Pods that are not there any more."""
    deleted: tuple[str, ...] = ()
    """What anybody has deleted meanwhile, by the audit log."""
    second_run: str = ""
    """What a second run of ``up`` came to; empty where there was none."""
    written: tuple[str, ...] = ()
    """What the second run wrote or would have written, and what else did not hold of it."""
    failure: str = ""
    """What went wrong on the way; empty where nothing did."""
    hint: str = ""
    simulated: tuple[str, ...] = ()
    """What the lab only pretends."""
    untried: tuple[str, ...] = ()
    """What could not be tried in it."""
    is_kept: bool = False
    """Whether the lab is still there."""

    @property
    def is_fine(self) -> bool:
        """Whether it may be done to the cluster itself."""
        is_proven = bool(self.certificate) and bool(self.second_run)
        return is_proven and not (self.failure or self.replaced or self.deleted or self.written)
