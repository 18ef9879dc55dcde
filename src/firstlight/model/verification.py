"""What ``firstlight verify`` found: checks with verdicts."""

import dataclasses

from firstlight.model.verdict import Verdict, lets_on


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    detail: tuple[str, ...] = ()
    """Lines below it: the warnings, the writes."""
    seconds: float = 0.0
    is_simulated: bool = False
    """Whether what it found is the lab's word, and not the world's."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """All checks of a cluster."""

    cluster: str
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """What was not looked at, and why."""

    @property
    def is_fine(self) -> bool:
        """Whether nothing failed, and nothing is still waited for."""
        return all(lets_on(each.verdict) for each in self.checks)
