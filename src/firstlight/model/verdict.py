"""What a gate says about the world: passed, waiting, failed or skipped, each with a reason."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Passed:
    """It is as it must be."""

    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """It is not yet as it must be, and may become so by itself."""

    reason: str
    """On what: a sentence without a full stop."""


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
