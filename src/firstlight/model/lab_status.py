"""What a lab says of its parts: the shape that goes over its socket and into ``lab status``."""

from typing import Literal

import msgspec

State = Literal["waiting", "starting", "ready", "unready", "stopped", "slowed", "failed", "resting"]


class PartStatus(msgspec.Struct, frozen=True):
    """One part, now."""

    name: str
    what: str
    reality: Literal["real", "simulated"]
    state: State
    detail: str = ""
    """What it waits for, or why it failed."""
    pid: int = 0
    restarts: int = 0
    since: float = 0
    """When it entered this state, in seconds since the epoch."""
    memory: int = 0


class LabStatus(msgspec.Struct, frozen=True):
    """The control plane of a lab, now."""

    name: str
    directory: str
    loopback: str
    declared: str
    parts: tuple[PartStatus, ...]

    @property
    def is_ready(self) -> bool:
        """Whether every part is."""
        return bool(self.parts) and all(part.state in {"ready", "slowed"} for part in self.parts)
