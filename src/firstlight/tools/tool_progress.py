"""What happens while tools are acquired, as plain data: the CLI draws it, tests read it."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import assert_never

from firstlight.tools import catalogue


@dataclasses.dataclass(frozen=True)
class WaitingForLock:
    """Another process is at it; ``holder`` says which."""

    name: str
    holder: str


@dataclasses.dataclass(frozen=True)
class CandidateSkipped:
    """Something was found or tried, and does not do."""

    name: str
    what: str
    why: str


@dataclasses.dataclass(frozen=True)
class Downloading:
    """Bytes of a release are coming; ``size`` is 0 while it is not known."""

    name: str
    url: str
    received: int
    size: int


@dataclasses.dataclass(frozen=True)
class PreparingGo:
    """A Go toolchain is being installed, because there is none that will do."""

    name: str
    version: str


@dataclasses.dataclass(frozen=True)
class FetchingModules:
    """Go fetches the sources of modules; nobody knows before how many."""

    name: str
    modules: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Compiling:
    """Packages compiled of those that have to be, and an estimate of what is left."""

    name: str
    done: int
    total: int
    seconds: float
    seconds_left: float


@dataclasses.dataclass(frozen=True)
class ToolReady:
    """The tool or content is there; ``how`` says where it was found, or how it was acquired."""

    name: str
    version: str
    path: Path
    how: str
    seconds: float


ToolEvent = WaitingForLock | CandidateSkipped | Downloading | PreparingGo | FetchingModules | Compiling | ToolReady
Report = Callable[[ToolEvent], None]


def ignore(event: ToolEvent) -> None:
    """For callers that do not want to know."""


# A state that is reported while something long runs, so that nobody takes it for a hang.


_EVERY = 1.0
"""Seconds between two reports while nothing new happens."""


@contextlib.asynccontextmanager
async def heartbeat(report: Report, state: Callable[[], ToolEvent]) -> AsyncIterator[None]:
    """Report a state now, every second, and at the end."""

    async def repeat() -> None:
        while True:
            report(state())
            await asyncio.sleep(_EVERY)

    task = asyncio.create_task(repeat())
    try:
        yield
        report(state())
    finally:
        task.cancel()


# Events in words: one line each, for a terminal's live line and for the log of a CI job alike.


def event_text(event: ToolEvent) -> str:
    """What happens, without the name of the tool."""
    match event:
        case WaitingForLock(holder=holder):
            return f"waiting for {holder}"
        case CandidateSkipped(what=what, why=why):
            return f"not {what}: {why}"
        case Downloading(received=received, size=size):
            return f"downloading {_megabytes(received)}" + (f" of {_megabytes(size)}" if size else "")
        case PreparingGo(version=version):
            return f"installing Go {version} into the cache, because there is none that will do"
        case FetchingModules(modules=0):
            return "reading modules"
        case FetchingModules(modules=modules):
            return f"fetching modules, {modules} so far"
        case Compiling(done=done, total=total, seconds=seconds, seconds_left=left):
            if done >= total:
                return f"linking, {duration_text(seconds)} so far"
            estimate = f", about {duration_text(left)} left" if left >= 1 else ""
            return f"compiling {done} of {total} packages{estimate}"
        case ToolReady(version=version, how=how, seconds=seconds):
            # "source" is no version that means something to a reader.
            return " ".join(part for part in (version.removeprefix(catalogue.SOURCE), _how(how, seconds)) if part)
        case _:
            assert_never(event)


def duration_text(seconds: float) -> str:
    """Seconds as people say them: 48 s, 3 min."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _how(how: str, seconds: float) -> str:
    done = {
        "build": "built",
        "download": "downloaded",
        "modules": "taken from Go modules",
        "cache": "in the cache",
        "path": "on PATH",
        "assets": "in KUBEBUILDER_ASSETS",
    }
    word = done.get(how, how)
    return f"{word} in {duration_text(seconds)}" if how in {"build", "download", "modules"} else word


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"
