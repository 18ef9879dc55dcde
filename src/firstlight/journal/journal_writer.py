"""Writes the journal of one run: a line an event, only ever appended.

What must be known after a power loss is on disk before ``write`` returns. While the journal is open its file is locked,
so that anybody can see whether the run still goes on; the kernel lets go when the process dies, however it dies.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from firstlight import errors
from firstlight.journal import event_lines, run_identity, state_files
from firstlight.model.event import Event, RunEnded, RunStarted, StepEnded, Writing

_LASTING = (RunStarted, Writing, StepEnded, RunEnded)


class Journal:
    """The journal of a run that goes on."""

    def __init__(self, path: Path, fd: int, started: RunStarted) -> None:
        self.path = path
        self.started = started
        """The first event, already written."""
        self._fd = fd
        self._size = 0

    @classmethod
    def start(cls, state: Path, event: RunStarted) -> Self:
        """Begin the journal of a run in ``<state>/runs/<run id>.jsonl``.

        Raises:
            errors.FirstlightError: It cannot be written; nothing is left behind.
        """
        if not run_identity.is_run_id(event.run):
            raise errors.UsageError(f"{event.run!r:.60} is no id of a run")
        path = state_files.make(state) / f"{event.run}.jsonl"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise _unwritten(path, error) from error
        journal = cls(path, fd, event)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            journal.write(event)
            _sync_directory(path.parent)
        except BaseException:
            path.unlink(missing_ok=True)
            journal.close()
            raise
        return journal

    def write(self, event: Event) -> None:
        """Append an event; what must survive a power loss is on disk afterwards.

        Raises:
            errors.FirstlightError: The disk is full or gone; the file ends with the last whole line.
        """
        line = event_lines.event_line(event)
        try:
            done = 0
            while done < len(line):
                done += os.write(self._fd, line[done:])
            self._size += len(line)
            if isinstance(event, _LASTING):
                os.fdatasync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise _unwritten(self.path, error) from error

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _sync_directory(path: Path) -> None:
    """A new file is found after a power loss only if its directory was written too."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot
            os.fsync(fd)
    finally:
        os.close(fd)


def _unwritten(path: Path, error: OSError) -> errors.FirstlightError:
    return errors.FirstlightError(
        f"the journal {path} cannot be written: {error.strerror or error}",
        hint="Make room or give write permission, and run again: it goes on where the cluster is.",
    )
