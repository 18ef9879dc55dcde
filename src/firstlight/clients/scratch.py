"""Directories that are ours alone and gone when they are done; what a run that was killed left goes at the next.

While a directory is in use its maker holds a lock on it, and whatever ends the maker frees it. So the next run that
needs one looks for those that nobody holds. Only names that are made here are looked at, and only the user's own.
"""

import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - a directory made there has a name that nobody can guess, and is ours
_OURS = "firstlight-"
_HELD = "held-"
"""In the names of those that were not locked by versions before, and may be in use by one."""
LONG_KNOWN = ("render", "decide", "etcd", "backup")


@contextlib.contextmanager
def directory(purpose: str, *, place: Path | None = None) -> Iterator[Path]:
    """A new directory.

    Args:
        purpose: What it is for, in its name.
        place: Where it is made; where temporary files are if it is not given.
    """
    where = Path(tempfile.gettempdir()) if place is None else place
    _swept_once(where)
    prefix = f"{_OURS}{'' if purpose in LONG_KNOWN else _HELD}{purpose}-"
    while True:
        with tempfile.TemporaryDirectory(prefix=prefix, dir=where) as found:
            root = Path(found).resolve()
            with _locked(root) as is_ours:
                if is_ours:
                    yield root
                    return


@functools.cache
def _swept_once(place: Path) -> None:
    swept(place)


def swept(place: Path) -> None:
    """Take away directories of runs that are no more."""
    prefixes = tuple(f"{_OURS}{each}-" for each in (_HELD.removesuffix("-"), *LONG_KNOWN))
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for each in entries:
            with contextlib.suppress(OSError):
                if not each.name.startswith(prefixes) or not each.is_dir(follow_symlinks=False):
                    continue
                if each.stat(follow_symlinks=False).st_uid != os.getuid():
                    continue
                with _locked(Path(each.path)) as is_ours:
                    if is_ours:
                        shutil.rmtree(each.path, ignore_errors=True)


@contextlib.contextmanager
def _locked(found: Path) -> Iterator[bool]:
    """Whether nobody else has the directory; as long as it is held nobody takes it away."""
    try:
        handle = os.open(found, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield found.exists()  # somebody may have swept it before it was locked
    finally:
        os.close(handle)
