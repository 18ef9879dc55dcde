"""Reads journals: whole ones, those of killed runs, and one that is being written."""

import asyncio
import dataclasses
import fcntl
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from firstlight import errors
from firstlight.journal import event_lines, run_identity, state_files
from firstlight.model import run_state
from firstlight.model.event import Event, RunEnded, RunStarted
from firstlight.model.run_state import RunBrief, RunState

SUFFIX = ".jsonl"
_LARGEST = 256 << 20
"""Bytes of a journal that are read; a run of days has a few million."""
_TAIL = 64 << 10
"""Bytes at the end in which the last line is looked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class JournalContents:
    """What a journal holds, and what could not be understood of it."""

    events: tuple[Event, ...]
    diagnostics: tuple[str, ...] = ()
    is_torn: bool = False
    """The last line is not whole: its writer was killed, or writes it now."""


def read(path: Path) -> tuple[Event, ...]:
    """The events of a journal, without what is not understood."""
    return contents(path).events


def contents(path: Path) -> JournalContents:
    """The events of a journal, and what is wrong with it.

    Raises:
        errors.FirstlightError: There is no such file, or it cannot be read.
    """
    return _parsed(_bytes(path))


def state(path: Path) -> RunState:
    """How a run stands, and whether its process lives."""
    events = read(path)
    return run_state.fold(events, is_alive=is_alive(path, _who(events)))


def is_alive(path: Path, who: str) -> bool | None:
    """Whether the process that writes a journal lives; None where this host cannot tell.

    A process id would be reused some day; the lock on the file is the process's own.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(fd)
    return False if run_identity.ran_here(who) else None


def paths(state: Path) -> list[Path]:
    """The journals of all runs, newest first: ids begin with the time.

    Raises:
        errors.Refused: One may be somebody else's work.
    """
    return state_files.listed(state / "runs", f"*{SUFFIX}")[::-1]


def runs(state: Path) -> list[RunBrief]:
    """All runs, newest first; a file that is no journal is passed over."""
    return [each for path in paths(state) if (each := brief(path)) is not None]


def brief(path: Path) -> RunBrief | None:
    """A run in a few words; of one that passed only the first line and the last are read."""
    try:
        first, last = _ends(path)
    except OSError:
        return None
    if not isinstance(first, RunStarted):
        return None
    try:
        # One that was stopped did not count its writes; its steps did.
        is_whole = isinstance(last, RunEnded) and last.verdict == "passed"
        events = (first, last) if last is not None and is_whole else read(path)
    except errors.FirstlightError:
        return None
    found = run_state.fold(events, is_alive=is_alive(path, first.who))
    return RunBrief(
        run=path.name.removesuffix(SUFFIX), cluster=first.cluster, started=first.at, last=max(first.at, found.last),
        outcome=found.outcome, reason=found.ended.reason if found.ended else "", writes=found.writes,
        steps=len(first.steps), who=first.who, is_rehearsal=first.is_rehearsal, is_dry_run=first.is_dry_run,
    )  # fmt: skip


class JournalTail:
    """A journal that may still be written: each call gives what came since the last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def more(self) -> tuple[Event, ...]:
        """New events; a line that is not whole yet waits for its rest."""
        new = _bytes(self._path, self._offset)
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        return _parsed(whole).events


async def follow(path: Path, *, interval: float = 0.2) -> AsyncIterator[Event]:
    """All events of a run, and those to come until it ends or its process is gone.

    A look at the size of a file several times a second costs nothing, and works on every file system.
    """
    tail, who = JournalTail(path), ""
    while True:
        # Asked before reading: what a process wrote before it died is read in any case.
        alive = is_alive(path, who)
        for event in tail.more():
            yield event
            if isinstance(event, RunEnded):
                return
            if isinstance(event, RunStarted):
                who = event.who
        if alive is False:
            return
        await asyncio.sleep(interval)


def _who(events: tuple[Event, ...]) -> str:
    return next((each.who for each in events if isinstance(each, RunStarted)), "")


def _parsed(content: bytes) -> JournalContents:
    lines = content.split(b"\n")
    is_torn = bool(lines.pop())
    events: list[Event] = []
    wrong: dict[str, list[int]] = {}
    for number, text in enumerate(lines, 1):
        try:
            events.append(event_lines.parse_event(text))
        except event_lines.EventUnreadable as problem:
            wrong.setdefault(str(problem), []).append(number)
    return JournalContents(tuple(events), tuple(_diagnostics(wrong)), is_torn)


def _diagnostics(wrong: dict[str, list[int]]) -> Iterator[str]:
    for problem, numbers in wrong.items():
        which = f"line {numbers[0]} is" if len(numbers) == 1 else f"{len(numbers)} lines, from {numbers[0]} on, are"
        update = "; update firstlight to see all of it" if "newer" in problem or "known here" in problem else ""
        yield f"{which} passed over: {problem}{update}"


def _bytes(path: Path, offset: int = 0) -> bytes:
    try:
        # A pipe in place of a journal would otherwise hang whoever opens it.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise errors.FirstlightError(f"{path} is no journal")
            file.seek(offset)
            return file.read(_LARGEST)
    except OSError as error:
        raise errors.FirstlightError(f"{path} cannot be read: {error.strerror or error}") from error


def _ends(path: Path) -> tuple[Event | None, Event | None]:
    """The first event and the last whole one; None for what is none, or is too far from the end."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        size = os.fstat(fd).st_size
        first = file.readline(_LARGEST)
        file.seek(max(0, size - _TAIL))
        whole, _, _ = file.read(_TAIL).rpartition(b"\n")
    return _event(first), _event(whole.rpartition(b"\n")[2] or first)


def _event(line: bytes) -> Event | None:
    try:
        return event_lines.parse_event(line)
    except event_lines.EventUnreadable:
        return None
