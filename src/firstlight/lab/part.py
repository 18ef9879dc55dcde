"""A part of the lab: a process, what it needs, and how one sees that it is ready."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from firstlight.lab import sockets

Reality = Literal["real", "simulated"]
POLL, SLOW_POLL = 0.05, 0.15


@dataclasses.dataclass(frozen=True)
class Probe:
    """A question whose 200 means ready: a URL, over TCP or a unix socket, or a file that names the process.

    Of programs that need not be asked, since everybody could ask, the kernel says it: they listen, or are connected to
    the server that they work for.
    """

    url: str = ""
    socket: Path | None = None
    mark: Path | None = None
    what: str = ""
    """What the mark stands for, in words."""
    listening: sockets.Address | None = None
    connected: sockets.Address | None = None

    @property
    def pause(self) -> float:
        """Seconds between two questions to a part that is not ready yet; the kernel takes milliseconds to answer."""
        return POLL if self.listening is None and self.connected is None else SLOW_POLL

    def __str__(self) -> str:
        if self.connected is not None:
            return f"its connection to {self.connected}"
        if self.listening is not None:
            return f"{self.listening} to be open"
        return self.what if self.mark else self.url


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
    switch: Path | None = None
    """Of a machine: the file whose presence says that it is off. A part that has one may reboot and power off."""
    stale: tuple[Path, ...] = ()
    """Files that are true of a running process only; they are removed before it starts."""
    reads: tuple[Path, ...] = ()
    """Files that it reads at its start, besides those that its arguments name."""
    workload: str = ""
    """Of an actor: the workload whose program it is. The lab is ready without it, as a cluster is."""

    def stamp(self, folder: Path) -> str:
        """Changes whenever the part must be started anew: with its arguments, or the content of what it reads.

        Args:
            folder: Where it runs; files may be named relative to it.
        """
        digest = hashlib.sha256(repr((self.argv, sorted(self.env.items()))).encode())
        named = [folder / argument.partition("=")[2] for argument in self.argv]
        for path in (*named, *self.reads):
            if path.is_file() and path.suffix != ".log":
                digest.update(path.read_bytes())
        return digest.hexdigest()
