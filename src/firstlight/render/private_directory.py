"""A directory that is ours alone and gone when it is done; what a run that was killed left behind goes at the next."""

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory made there has a name that nobody can guess, and is ours
_OURS = "firstlight-"
_PURPOSES = ("render", "decide", "etcd", "backup")


@contextlib.contextmanager
def made(purpose: str, *, memory: Path = _MEMORY) -> Iterator[Path]:
    """A directory on no disk if possible, since there may be Secrets in it.

    Args:
        purpose: What it is for, in its name.
        memory: Where it is made, if that can be written.
    """
    place = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    _swept_once(place)
    while True:
        with tempfile.TemporaryDirectory(prefix=f"{_OURS}{purpose}-", dir=place) as found:
            root = Path(found).resolve()
            with _locked(root) as is_ours:
                if is_ours:
                    yield root
                    return


@functools.cache
def _swept_once(place: Path) -> None:
    swept(place)


def swept(place: Path) -> None:
    """Take away directories of runs that are no more: while one lives it holds a lock, whatever ends it frees it."""
    with contextlib.suppress(OSError):
        for purpose in _PURPOSES:
            for each in place.glob(f"{_OURS}{purpose}-*"):
                with contextlib.suppress(OSError):
                    if each.is_symlink() or each.stat().st_uid != os.getuid():
                        continue
                    with _locked(each) as is_ours:
                        if is_ours:
                            shutil.rmtree(each, ignore_errors=True)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[bool]:
    """Whether nobody else has the directory; as long as it is held nobody takes it away."""
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield directory.exists()  # somebody may have swept it before it was locked
    finally:
        os.close(handle)
