"""The directory of what firstlight keeps beside a repo: for its owner alone, and never committed.

It lies in a repo, and a repo may be anybody's: what is there is ours by the rules of ``trust``, and all who read or
write it come by here.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.journal import trust

NAME = ".firstlight"
LARGEST = 256 << 20
"""Bytes of the largest file that is read."""


def of(root: Path) -> Path:
    """The state directory of a repo, which need not exist; what is in it is ours.

    Raises:
        trust.Untrusted: Something in it may be somebody else's work.
    """
    state = root / NAME
    trust.tree(state)
    return state


def make(state: Path) -> Path:
    """Make the state directory and its runs, where they are missing; the directory of the runs.

    Raises:
        errors.Refused: Somebody put a link there.
        errors.FirstlightError: It cannot be made.
    """
    runs = state / "runs"
    if state.name == NAME:
        check(runs)
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
    """Refuse a file of the state that is not ours, or on the way to which something is not; it may be missing.

    Raises:
        errors.Refused: The way leads out of the state directory.
        trust.Untrusted: Something may be somebody else's work.
    """
    if ".." in path.parts:
        raise errors.Refused(f"{path} leads out of the directory of what firstlight keeps")
    if not is_kept(path) and path.name != NAME:
        # A rehearsal's, which lies in no repo.
        for each in (path, *path.parents[:2]):
            trust.unlinked(each)
        return
    state = _state_of(path)
    way = [each for each in (*reversed(path.parents), path) if each == state or state in each.parents]
    for each in way:
        trust.unlinked(each)
    for each in way:
        if trust.entry(each, state=state) is None:
            break
    if state.is_dir():
        trust.untracked(state)


def is_file(path: Path) -> bool:
    """Whether the state has such a file, and it is ours.

    Raises:
        trust.Untrusted: It may be somebody else's work.
    """
    check(path)
    return path.is_file()


def read(path: Path) -> bytes:
    """A file of the state.

    Raises:
        trust.Untrusted: It may be somebody else's work.
        OSError: It does not exist, or cannot be read.
    """
    check(path)
    # A pipe in its place would hang whoever opens it.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read(LARGEST)


def listed(folder: Path, pattern: str) -> list[Path]:
    """The files of a directory of the state by a pattern, sorted by name; none where it does not exist.

    Raises:
        trust.Untrusted: Something may be somebody else's work.
    """
    check(folder)
    found = sorted(folder.glob(pattern)) if folder.is_dir() else []
    for each in found if is_kept(folder) else ():
        trust.entry(each, state=_state_of(each))
    return [each for each in found if not each.is_symlink()]


def is_kept(path: Path) -> bool:
    """Whether a path is below the state directory of a repo."""
    return any(each.name == NAME for each in path.parents)


def _state_of(path: Path) -> Path:
    """The state directory of a file: a rehearsal's has another name, and the file is in a directory of it."""
    return next((each for each in (path, *path.parents) if each.name == NAME), path.parent.parent)


def _make(state: Path, directories: Sequence[Path]) -> None:
    for path in directories:
        if state.name == NAME:
            trust.entry(path, state=state)
        trust.unlinked(path)
        try:
            path.mkdir(mode=0o700, parents=path == state, exist_ok=True)
            mode = stat.S_IMODE(path.stat().st_mode)
            # init leaves the state directory itself readable: the schema in it is for editors.
            closed = mode & (0o022 if path == state else 0o077)
            if closed and (path != state or state.name == NAME):
                path.chmod(mode & ~closed)
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
