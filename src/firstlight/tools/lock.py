"""One at a time across processes: an flock on a file of the cache, with the name of its holder in it.

The kernel gives the lock up when its holder dies, however it dies, so there are no stale locks.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

_POLL = 0.1
"""Seconds between two tries. A blocking flock needs a thread, and Ctrl-C does not reach a thread."""


@contextlib.asynccontextmanager
async def hold(path: Path, what: str, *, on_wait: Callable[[str], None]) -> AsyncIterator[None]:
    """Hold a lock.

    Args:
        path: The file that stands for it.
        what: What it is held for, told to those who wait.
        on_wait: Called with a new holder as long as it is somebody else.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        told = ""
        while not _try_lock(fd):
            holder = os.pread(fd, 200, 0).decode(errors="replace").strip() or "another process"
            if holder != told:
                on_wait(holder)
                told = holder
            await asyncio.sleep(_POLL)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()}, {what}\n".encode(), 0)
        yield
    finally:
        # The file stays: removing it would let two processes lock two different files of the same name.
        os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
