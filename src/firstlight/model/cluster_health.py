"""What ``talosctl health`` finds, check by check."""

import dataclasses
from typing import Literal

State = Literal["passed", "skipped", "waiting", "failing"]


@dataclasses.dataclass(frozen=True)
class Check:
    """One check in its last state."""

    name: str
    state: State
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class ClusterHealth:
    """All checks that were made; the first that does not pass ends them."""

    is_healthy: bool
    checks: tuple[Check, ...]
    reason: str = ""
    """Why it ended if it is not healthy."""
    lines: tuple[str, ...] = ()

    @property
    def pending(self) -> tuple[Check, ...]:
        """Those that did not pass."""
        return tuple(check for check in self.checks if check.state in {"waiting", "failing"})
