"""The directory of what firstlight keeps beside a repo: for its owner alone, and never committed.

It lies in a repo, and a repo may be anybody's: what is there is ours by the rules of ``trust``, and all who read or
write it come by here.
"""

import asyncio
import concurrent.futures
import contextlib
import errno
import functools
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.clients.git import Git, git_errors, repository

NAME = ".firstlight"
LARGEST = 256 << 20
"""Bytes of the largest file that is read."""


def directory_of(root: Path) -> Path:
    """The state directory of a repo, which need not exist; what is in it is ours.

    Raises:
        trust.Untrusted: Something in it may be somebody else's work.
    """
    state = root / NAME
    check_tree(state)
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
            check_unlinked(each)
        return
    state = _state_of(path)
    way = [each for each in (*reversed(path.parents), path) if each == state or state in each.parents]
    for each in way:
        check_unlinked(each)
    for each in way:
        if check_entry(each, state=state) is None:
            break
    if state.is_dir():
        check_untracked(state)


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
        check_entry(each, state=_state_of(each))
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
            check_entry(path, state=state)
        check_unlinked(path)
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


# Whether what lies in the state directory of a repo was put there by us.
#
# A repo may be anybody's, and a kubeconfig, an identity or a record that came with it would be believed. So nothing
# below the state directory is used unless Git does not track it, it belongs to the user who runs firstlight, no link
# is on the way, and its directories are closed to everybody else, as firstlight makes them.


FOR_ALL = ("schema.json", ".gitignore")
"""What of it is for editors and Git: nothing is done by it, and it may be committed."""
_SHOWN = 3


class StateUntrusted(errors.Refused):
    """What is in the state directory may be somebody else's work."""


def check_entry(path: Path, *, state: Path) -> os.stat_result | None:
    """See that one file or directory, the state directory among them, is ours; None where it does not exist.

    Raises:
        Untrusted: It is a link, it belongs to somebody else, or others may write there.
    """
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StateUntrusted(
            f"{path} cannot be read: {error.strerror or error}", hint="Give read permission."
        ) from error
    check_unlinked(path)
    if found.st_uid not in _owners(os.environ):
        raise StateUntrusted(
            f"{path} belongs to another user (uid {found.st_uid}), and firstlight runs as uid {os.geteuid()}",
            hint=f"Run firstlight as that user. If the files are yours: chown -R {os.geteuid()} {state}",
        )
    # Nobody passes a closed directory, so that modes below it matter no more; the schema is read past the top one.
    is_directory = stat.S_ISDIR(found.st_mode)
    open_to = 0o077 if is_directory and path != state else 0o022
    if found.st_mode & open_to and not (is_directory and _is_bare(path, state)):
        what = "others may write to" if found.st_mode & 0o022 else "others may read"
        raise StateUntrusted(
            f"{what} {path} (mode {stat.S_IMODE(found.st_mode):04o}), as firstlight leaves nothing that it keeps",
            hint=f"See whether everything in {state} is yours; if it is: chmod -R go-rwx {state}",
        )
    return found


def check_unlinked(path: Path) -> None:
    """See that something is not a link.

    Raises:
        Untrusted: It is one.
    """
    if path.is_symlink():
        raise StateUntrusted(f"{path} is a link, which may lead anywhere", hint="Remove it.")


def check_tree(state: Path) -> None:
    """See that everything in a state directory is ours.

    Raises:
        Untrusted: Something is not.
    """
    if check_entry(state, state=state) is None:
        return
    check_untracked(state)
    for path, is_directory in _below(state):
        if is_directory or path.is_symlink() or path.lstat().st_uid not in _owners(os.environ):
            check_entry(path, state=state)


def check_untracked(state: Path) -> None:
    """See that Git tracks nothing in a state directory but what is for all.

    Raises:
        Untrusted: It tracks something, or cannot be asked.
    """
    try:
        found = repository.locate(state.parent)
        index = (found.git_dir / "index").stat()
    except git_errors.GitPointsElsewhere as error:
        raise StateUntrusted(f"whether Git tracks {state} is not known: {error.detail}", hint=error.hint) from error
    except (git_errors.NotARepository, OSError):
        return  # nobody has put anything under Git here
    if found.work_tree is None:
        return
    named = _tracked(state, (index.st_ino, index.st_mtime_ns, index.st_size))
    if named:
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        raise StateUntrusted(
            f"Git tracks {', '.join(named[:_SHOWN])}{more}: that came with the repo, and only what firstlight itself "
            f"has written on this computer is believed",
            hint=f"If you do not know it: git rm -r {state.name}. If it is yours: git rm -r --cached {state.name} and "
            f"chmod -R go-rwx {state.name}. Then commit.",
        )


@functools.lru_cache(maxsize=64)
def _tracked(state: Path, index: tuple[int, int, int]) -> tuple[str, ...]:
    """What Git tracks in a state directory, as long as its index is the same."""
    program = program_path.find("git")
    if program is None:
        raise StateUntrusted(f"whether Git tracks {state} is not known: git is not installed", hint="Install git.")
    try:
        # Asked from plain functions, perhaps where an event loop runs: Git is awaited in a thread of its own.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            names = pool.submit(asyncio.run, Git(Path(program)).tracked(state.parent)).result()
    except errors.FirstlightError as error:
        raise StateUntrusted(f"whether Git tracks {state} is not known: {error.message}", hint=error.hint) from error
    tops = {name.partition("/")[0] for name in names}
    same = {top for top in tops if top == state.name or _is_same(top, state)}
    return tuple(
        sorted(
            name
            for name in names
            if name.partition("/")[0] in same and name.partition("/")[2] not in FOR_ALL
        )
    )  # fmt: skip


def _is_same(name: str, state: Path) -> bool:
    """Whether a file system that folds names has a tracked one in the place of the state directory."""
    if _folded(name) != _folded(state.name):
        return False
    try:
        return (state.parent / name).samefile(state)
    except OSError:
        return False


def _folded(name: str) -> str:
    plain = "".join(each for each in unicodedata.normalize("NFKD", name) if unicodedata.category(each) != "Cf")
    return plain.casefold()


def _owners(environ: Mapping[str, str]) -> frozenset[int]:
    """Who we are: also whoever has called us by sudo."""
    user, caller = os.geteuid(), environ.get("SUDO_UID", "")
    return frozenset({user, int(caller)}) if user == 0 and caller.isdecimal() else frozenset({user})


def _is_bare(path: Path, state: Path) -> bool:
    """Whether a directory has nothing that anybody would believe: it is closed before something is written to it."""
    allowed = FOR_ALL if path == state else ()
    try:
        with os.scandir(path) as found:
            return all(each.name in allowed for each in found)
    except OSError:
        return False


def _below(state: Path) -> Iterator[tuple[Path, bool]]:
    waiting = [state]
    while waiting:
        at = waiting.pop()
        try:
            with os.scandir(at) as found:
                inside = [(Path(each.path), each.is_dir(follow_symlinks=False)) for each in found]
        except OSError as error:
            raise StateUntrusted(
                f"{at} cannot be read: {error.strerror or error}", hint="Give read permission."
            ) from error
        yield from inside
        waiting += [path for path, is_directory in inside if is_directory]
