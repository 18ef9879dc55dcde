"""Starting programs inside limits, by way of the launcher."""

import asyncio
import atexit
import collections
import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from firstlight import errors
from firstlight.clients.sandbox.program_limits import KINDS, RENDERER, RENDERER_WITH_CHARTS, ProgramLimits

_LAUNCHER = Path(__file__).with_name("launcher.py")
_STREAM_LIMIT = 1 << 16
_GONE = "the process that starts programs was killed"


@dataclasses.dataclass(frozen=True)
class ChildEnded:
    """How a program ended."""

    code: int
    """Negative for the signal that killed it."""
    cpu: float
    """Seconds of processor time."""


class NotStarted(OSError):
    """The program does not run; ``what`` says what failed: ``exec``, ``cwd``, ``limits`` or ``fork``."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(number, os.strerror(number))
        self.what = what


class Child:
    """A program that runs inside limits."""

    def __init__(self, pid: int, missing: Mapping[str, str], pipes: "_Pipes") -> None:
        self.pid = pid
        self.missing = missing
        """Reasons by what could not be limited."""
        self.stdin = pipes.stdin
        self.stdout = pipes.stdout
        self.stderr = pipes.stderr
        self._pipes = pipes
        self._ended: ChildEnded | None = None

    async def wait(self) -> ChildEnded:
        """Wait until it has ended.

        Raises:
            errors.ClientError: The launcher is gone, and the program with it.
        """
        if self._ended is None:
            told = await _told(self._pipes.status)
            if "ended" not in told:
                raise errors.ClientError(_GONE, target="launcher")
            self._ended = ChildEnded(told["ended"], told["cpu"])
        return self._ended

    def close(self) -> None:
        """Let go of its pipes."""
        self._pipes.close()


async def start(
    argv: Sequence[str],
    limits: ProgramLimits,
    *,
    env: Mapping[str, str],
    cwd: Path | None,
    has_stdin: bool,
    inherited: Sequence[int] = (),
    dies_with_parent: bool = False,
) -> Child:
    """Start a program.

    Args:
        argv: The program and its arguments.
        limits: What it may use.
        env: The whole environment.
        cwd: Where it runs; here if it is not given.
        has_stdin: Whether it is fed something.
        inherited: Descriptors that it has under the same numbers.
        dies_with_parent: The kernel kills it when this process ends, however it ends.

    Raises:
        NotStarted: It does not run.
        errors.ClientError: The launcher is gone.
    """
    order = {
        "argv": list(argv),
        "env": [*([("GOMEMLIMIT", str(limits.data // 4 * 3))] if limits.is_go else []), *env.items()],
        "cwd": str(cwd) if cwd is not None else os.getcwd(),
        "inherited": list(inherited),
        "dies": dies_with_parent,
        "data": limits.data,
        "cpu": limits.cpu,
        "file": limits.file,
        "processes": limits.processes,
    }
    with contextlib.ExitStack() as theirs:
        pipes = await _Pipes.made(theirs, has_stdin=has_stdin)
        try:
            written = os.memfd_create("order", os.MFD_CLOEXEC)
            theirs.callback(os.close, written)
            with os.fdopen(os.dup(written), "wb") as file:
                file.write(json.dumps(order).encode())
            _send([written, *pipes.theirs, *inherited], network=limits.network)
            theirs.close()
            told = await _first(pipes.status)
        except BaseException:
            pipes.close()
            raise
    return Child(told["started"], told["missing"], pipes)


class _Pipes:
    """What connects a program with us: our ends are streams, its ends descriptors."""

    def __init__(self) -> None:
        self.stdin: asyncio.StreamWriter | None = None
        self.status, self.stdout, self.stderr = (asyncio.StreamReader(limit=_STREAM_LIMIT) for _ in range(3))
        self.theirs: list[int] = []
        """The status, then standard input, output and error."""
        self._transports: list[asyncio.BaseTransport] = []

    @classmethod
    async def made(cls, theirs: contextlib.ExitStack, *, has_stdin: bool) -> Self:
        """New ones; ``theirs`` closes the ends that are not ours."""
        pipes = cls()
        try:
            for reader in (pipes.status, pipes.stdout, pipes.stderr):
                read, write = os.pipe2(os.O_CLOEXEC)
                theirs.callback(os.close, write)
                pipes.theirs.append(write)
                await pipes._listen(read, reader)
            pipes.theirs.insert(1, await pipes._given(theirs) if has_stdin else _nothing(theirs))
        except BaseException:
            pipes.close()
            raise
        return pipes

    async def _listen(self, descriptor: int, reader: asyncio.StreamReader) -> None:
        file = os.fdopen(descriptor, "rb", buffering=0)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        self._transports.append(transport)

    async def _given(self, theirs: contextlib.ExitStack) -> int:
        read, write = os.pipe2(os.O_CLOEXEC)
        theirs.callback(os.close, read)
        loop, protocol = asyncio.get_running_loop(), asyncio.streams.FlowControlMixin()
        transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(write, "wb", buffering=0))
        self._transports.append(transport)
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        return read

    def close(self) -> None:
        """Let go of our ends."""
        for each in self._transports:
            each.close()


def _nothing(theirs: contextlib.ExitStack) -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    theirs.callback(os.close, descriptor)
    return descriptor


async def _first(status: asyncio.StreamReader) -> dict[str, Any]:
    """What the launcher tells first; whoever stops waiting for it must not leave a program that nobody knows of."""
    telling = asyncio.ensure_future(_told(status))
    try:
        told = await asyncio.shield(telling)
    except asyncio.CancelledError:
        told = await telling  # some milliseconds
        with contextlib.suppress(ProcessLookupError):
            if "started" in told:
                os.killpg(told["started"], signal.SIGKILL)
        raise
    if "failed" in told:
        raise NotStarted(told["failed"], told["what"])
    if "started" not in told:
        raise errors.ClientError(_GONE, target="launcher")
    return told


async def _told(status: asyncio.StreamReader) -> dict[str, Any]:
    line = await status.readline()
    return json.loads(line) if line.endswith(b"\n") else {}


@dataclasses.dataclass(frozen=True)
class _Launcher:
    owner: int
    """This process: one that was forked from it must not share its launcher."""
    process: subprocess.Popen[bytes]
    orders: socket.socket

    def end(self) -> None:
        self.orders.close()
        if self.owner == os.getpid():
            self.process.wait()


_launchers: dict[bool, _Launcher] = {}
"""By whether their programs have the network."""


def _send(descriptors: Sequence[int], *, network: bool) -> None:
    for attempt in (1, 2):
        launcher = _launchers.get(network)
        if launcher is None or launcher.owner != os.getpid():
            launcher = _launchers[network] = _launched(network)
        try:
            socket.send_fds(launcher.orders, [b"+"], list(descriptors))
        except (BrokenPipeError, ConnectionError) as error:
            _launchers.pop(network).end()
            if attempt == 2:
                raise errors.ClientError(_GONE, target="launcher") from error
        else:
            return


def _launched(network: bool) -> _Launcher:
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        # Isolated: neither the directory that firstlight is called in nor the environment has a say in what it runs.
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LAUNCHER), "network" if network else "none"],
            stdin=its.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
            start_new_session=True,
        )  # fmt: skip
    return _Launcher(os.getpid(), process, mine)


@atexit.register
def close() -> None:
    """End the launchers; the next program starts new ones."""
    for launcher in list(_launchers.values()):
        launcher.end()
    _launchers.clear()


# What the kernel of this computer did not grant: which programs ran with less isolation than they should have.


_SHOWN = {
    "memory": "a memory limit",
    "cpu": "a limit on processor time",
    "file": "a limit on file sizes",
    "processes": "a limit on the number of processes",
    "network": "network isolation",
    "core": "a limit on core dumps",
}


@dataclasses.dataclass(frozen=True, order=True)
class MissingLimit:
    """One thing that could not be limited, for one kind of program."""

    what: str
    """``memory``, ``cpu``, ``file``, ``processes`` or ``network``."""
    kind: str
    """The name of the limits."""
    reason: str
    """The kernel's own words."""

    @property
    def is_of_renderers(self) -> bool:
        """Whether programs that read strangers' files lack it."""
        return self.kind in (RENDERER.name, RENDERER_WITH_CHARTS.name)

    def __str__(self) -> str:
        return f"{_SHOWN.get(self.what, self.what)} ({self.kind}): {self.reason}"


_seen: collections.Counter[MissingLimit] = collections.Counter()


def note_missing(limits: ProgramLimits, missing: Mapping[str, str]) -> tuple[MissingLimit, ...]:
    """Remember what a program ran without."""
    found = tuple(MissingLimit(what, limits.name, reason) for what, reason in sorted(missing.items()))
    _seen.update(found)
    return found


def missing_limits() -> Mapping[MissingLimit, int]:
    """What programs of this process ran without so far, and how many of them."""
    return dict(_seen)


async def try_limits() -> tuple[MissingLimit, ...]:
    """What the kernel does not grant to programs of each kind, found by starting one that does nothing."""
    found: list[MissingLimit] = []
    for limits in KINDS:
        if limits.is_free:
            continue
        child = await start([sys.executable, "-I", "-S", "-c", ""], limits, env=os.environ, cwd=None, has_stdin=False)
        try:
            found += note_missing(limits, child.missing)
            await child.wait()
        finally:
            child.close()
    return tuple(sorted(found))
