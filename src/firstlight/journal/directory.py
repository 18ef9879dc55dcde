"""The directory of what firstlight keeps beside a repo: for its owner alone, and never committed."""

import contextlib
import os
from pathlib import Path

from firstlight import errors

NAME = ".firstlight"


def make(state: Path) -> Path:
    """Make the state directory and its runs, where they are missing; the directory of the runs.

    Raises:
        errors.Refused: Somebody put a link there.
        errors.FirstlightError: It cannot be made.
    """
    runs = state / "runs"
    for path in (state, runs):
        if path.is_symlink():
            raise errors.Refused(f"{path} is a link, which may lead anywhere", hint="Remove it.")
        try:
            path.mkdir(mode=0o700, parents=path == state, exist_ok=True)
        except OSError as error:
            raise _unwritable(path, error) from error
    try:
        _ignore(state / ".gitignore")
        if runs.stat().st_mode & 0o077:
            runs.chmod(0o700)
    except OSError as error:
        raise _unwritable(state, error) from error
    return runs


def _ignore(path: Path) -> None:
    """Nothing in the directory is for Git; what somebody wrote there stays."""
    with contextlib.suppress(FileExistsError):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, b"*\n")
        finally:
            os.close(fd)


def _unwritable(path: Path, error: OSError) -> errors.FirstlightError:
    return errors.FirstlightError(
        f"{path} cannot be written: {error.strerror or error}",
        hint="The journal of a run is kept there; make room or give write permission, and run again.",
    )
