"""The directory of what firstlight keeps beside a repo: for its owner alone, and never committed.

It lies in a repo, and a repo may be anybody's: a link below it would make a run write wherever the link leads.
"""

import contextlib
import os
import stat
from collections.abc import Sequence
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
    _make(state, (state, runs))
    return runs


def enter(path: Path) -> None:
    """Make the directories of a file of the state, where they are missing; the file itself may be written then.

    Raises:
        errors.Refused: A link is on the way, or is the file, or the way leads out of the state directory.
        errors.FirstlightError: They cannot be made.
    """
    check(path)
    state = _state_of(path)
    _make(state, [state, *reversed([each for each in path.parents if state in each.parents])])


def check(path: Path) -> None:
    """Refuse a file of the state that is a link, or that a link leads to; nothing is made, and it may be missing.

    Raises:
        errors.Refused: A link is there, or the way leads out of the state directory.
    """
    if ".." in path.parts:
        raise errors.Refused(f"{path} leads out of the directory of what firstlight keeps")
    state = _state_of(path)
    for each in (path, *path.parents):
        if each.is_symlink():
            raise errors.Refused(f"{each} is a link, which may lead anywhere", hint="Remove it.")
        if each == state:
            return


def is_kept(path: Path) -> bool:
    """Whether a path is below the state directory of a repo."""
    return any(each.name == NAME for each in path.parents)


def _state_of(path: Path) -> Path:
    """The state directory of a file: a rehearsal's has another name, and the file is in a directory of it."""
    return next((each for each in path.parents if each.name == NAME), path.parent.parent)


def _make(state: Path, directories: Sequence[Path]) -> None:
    for path in directories:
        if path.is_symlink():
            raise errors.Refused(f"{path} is a link, which may lead anywhere", hint="Remove it.")
        try:
            path.mkdir(mode=0o700, parents=path == state, exist_ok=True)
            # init leaves the state directory itself readable: the schema in it is for editors.
            if path != state and stat.S_IMODE(path.stat().st_mode) & 0o077:
                path.chmod(0o700)
        except OSError as error:
            raise _unwritable(path, error) from error
    try:
        _ignore(state / ".gitignore")
    except OSError as error:
        raise _unwritable(state, error) from error


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
