"""A part of the lab: a process, what it needs, and how one sees that it is ready."""

import dataclasses
import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from firstlight.clients import interpreter
from firstlight.lab import lab_directory, loopback_network, procfs
from firstlight.lab.standins import op, standin_vaults

Reality = Literal["real", "simulated"]
POLL, SLOW_POLL = 0.05, 0.15


@dataclasses.dataclass(frozen=True)
class ReadinessProbe:
    """A question whose 200 means ready: a URL, over TCP or a unix socket, or a file that names the process.

    Of programs that need not be asked, since everybody could ask, the kernel says it: they listen, or are connected to
    the server that they work for.
    """

    url: str = ""
    socket: Path | None = None
    mark: Path | None = None
    what: str = ""
    """What the mark stands for, in words."""
    listening: procfs.SocketAddress | None = None
    connected: procfs.SocketAddress | None = None

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
    probe: ReadinessProbe
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


# The sources of a lab as one of its parts: Git, OCI and Helm repositories for those who live in it.


SOURCES = "sources"


def sources_part(home: lab_directory.LabDirectory, net: loopback_network.LoopbackNetwork) -> Part:
    """How they are started; what they hold is kept, as etcd's data is."""
    ready = home.run / "sources.ready"
    return Part(
        name=SOURCES,
        what=f"Git, OCI and Helm repositories, ports {net.git}, {net.registry} and {net.charts}",
        reality="simulated",
        argv=interpreter.module(
            "firstlight.lab.sources",
            f"--home={home.sources}",
            f"--address={net.loopback}",
            f"--git-port={net.git}",
            f"--oci-port={net.registry}",
            f"--charts-port={net.charts}",
            f"--control={home.sources_control}",
            f"--ready={ready}",
        ),
        probe=ReadinessProbe(mark=ready, what="its servers to listen"),
        stale=(ready,),
    )


# The stand-ins of a lab: ``LAB/bin/op``, a directory for the vaults, and a part that serves what Connect would.


STANDINS = "standins"
EMPTY_VAULTS = b"# docs/lab.md, 'Stand-ins for 1Password', says what this file looks like\nvaults: []\n"


def write_op(home: lab_directory.LabDirectory) -> Path:
    """Write ``op`` into the lab, and a file without vaults if there is none; where ``op`` is."""
    kept = home.standins
    kept.mkdir(mode=0o700, exist_ok=True)
    if not (kept / standin_vaults.VAULT_FILE).exists():
        lab_directory.write_whole(kept / standin_vaults.VAULT_FILE, EMPTY_VAULTS)
    program = home.path / "bin" / "op"
    program.parent.mkdir(mode=0o700, exist_ok=True)
    # A shell in between: the path of an interpreter may be longer than a first line can be.
    command = f"{op.HOME}={shlex.quote(str(kept))} exec {shlex.join(interpreter.module('firstlight.lab.standins.op'))}"
    lab_directory.write_whole(program, f'#!/bin/sh\n# {op.SAID}\n{command} "$@"\n'.encode(), mode=0o700)
    return program


def standins_part(home: lab_directory.LabDirectory, net: loopback_network.LoopbackNetwork) -> Part:
    """How the server is started; it reads the vaults anew at every request."""
    ready = home.run / "standins.ready"
    return Part(
        name=STANDINS,
        what=f"stand-ins: 1Password Connect, port {net.connect}, and bin/op",
        reality="simulated",
        argv=interpreter.module(
            "firstlight.lab.standins",
            f"--home={home.standins}",
            f"--address={net.loopback}",
            f"--port={net.connect}",
            f"--ready={ready}",
        ),
        probe=ReadinessProbe(mark=ready, what="it to listen"),
        stale=(ready,),
    )
