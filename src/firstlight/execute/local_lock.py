"""One run for a cluster on this computer, before there is an API that could hold a lease. The kernel ends it."""

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from firstlight import errors
from firstlight.journal import directory


@contextlib.contextmanager
def held(path: Path, *, who: str) -> Iterator[None]:
    """Hold a lock file while a run goes on.

    Args:
        path: The file; its directory is made.
        who: Written into it, for those who find it locked.

    Raises:
        errors.Refused: Another run holds it, or it is a link to some other file.
    """
    directory.enter(path)
    fd = _opened(path)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(fd) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{who}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def check(path: Path) -> None:
    """See that nobody holds it now, before a person is asked anything; to hold it is for later.

    Raises:
        errors.Refused: Another run holds it, or it is a link to some other file.
    """
    directory.check(path)
    if not path.exists():
        return
    fd = _opened(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _taken(fd) from None
    finally:
        os.close(fd)


def _taken(fd: int) -> errors.Refused:
    holder = os.pread(fd, 4096, 0).decode(errors="replace").strip() or "another process"
    return errors.Refused(
        f"another run works on this cluster: {holder}",
        hint="Watch it: firstlight status --watch; or wait until it has ended.",
    )


def _opened(path: Path) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise errors.Refused(f"{path} cannot be opened: {error.strerror or error}", hint="Remove it.") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise errors.Refused(f"{path} is no file", hint="Remove it.")
    return fd
