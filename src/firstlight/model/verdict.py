"""What a gate says about the world: passed, waiting, failed or skipped, each with a reason."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Passed:
    """It is as it must be."""

    reason: str = ""
    count: str = dataclasses.field(default="", compare=False)
    """How many pods of a workload are up: ``3/3``; the reason has it, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """It is not yet as it must be, and may become so by itself."""

    reason: str
    """On what: a sentence without a full stop."""
    has_cause: bool = dataclasses.field(default=False, compare=False)
    """Whether the reason ends with what usually causes it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Failed:
    """It will not become as it must be by waiting."""

    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Skipped:
    """There is nothing to ask."""

    reason: str = ""


Verdict = Passed | Waiting | Failed | Skipped


def lets_on(verdict: Verdict | None) -> bool:
    """Whether what needs it may begin."""
    return isinstance(verdict, Passed | Skipped)


# What ``firstlight verify`` found: checks with verdicts.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class VerificationCheck:
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
    checks: tuple[VerificationCheck, ...]
    notes: tuple[str, ...] = ()
    """What was not looked at, and why."""

    @property
    def is_fine(self) -> bool:
        """Whether nothing failed, and nothing is still waited for."""
        return all(lets_on(each.verdict) for each in self.checks)
