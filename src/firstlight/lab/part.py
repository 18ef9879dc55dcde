"""A part of the lab: a process, what it needs, and how one sees that it is ready."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Reality = Literal["real", "simulated"]


@dataclasses.dataclass(frozen=True)
class Probe:
    """A question whose 200 means ready: a URL, over TCP or a unix socket, or a file that names the process."""

    url: str = ""
    socket: Path | None = None
    mark: Path | None = None

    def __str__(self) -> str:
        return "its simulations to start" if self.mark else self.url


@dataclasses.dataclass(frozen=True)
class Part:
    """One process of the lab."""

    name: str
    what: str
    reality: Reality
    argv: tuple[str, ...]
    probe: Probe
    needs: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    grace: float = 5
    """Seconds between asking it to stop and killing it."""
