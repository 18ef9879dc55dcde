"""Whether what lies in the state directory of a repo was put there by us.

A repo may be anybody's, and a kubeconfig, an identity or a record that came with it would be believed. So nothing below
the state directory is used unless Git does not track it, it belongs to the user who runs firstlight, no link is on the
way, and its directories are closed to everybody else, as firstlight makes them.
"""

import asyncio
import concurrent.futures
import functools
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.clients.git import Git, repository
from firstlight.clients.git import errors as git_errors

FOR_ALL = ("schema.json", ".gitignore")
"""What of it is for editors and Git: nothing is done by it, and it may be committed."""
_SHOWN = 3


class Untrusted(errors.Refused):
    """What is in the state directory may be somebody else's work."""


def entry(path: Path, *, state: Path) -> os.stat_result | None:
    """See that one file or directory, the state directory among them, is ours; None where it does not exist.

    Raises:
        Untrusted: It is a link, it belongs to somebody else, or others may write there.
    """
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Untrusted(f"{path} cannot be read: {error.strerror or error}", hint="Give read permission.") from error
    unlinked(path)
    if found.st_uid not in _owners(os.environ):
        raise Untrusted(
            f"{path} belongs to another user (uid {found.st_uid}), and firstlight runs as uid {os.geteuid()}",
            hint=f"Run firstlight as that user. If the files are yours: chown -R {os.geteuid()} {state}",
        )
    # Nobody passes a closed directory, so that modes below it matter no more; the schema is read past the top one.
    is_directory = stat.S_ISDIR(found.st_mode)
    open_to = 0o077 if is_directory and path != state else 0o022
    if found.st_mode & open_to and not (is_directory and _is_bare(path, state)):
        what = "others may write to" if found.st_mode & 0o022 else "others may read"
        raise Untrusted(
            f"{what} {path} (mode {stat.S_IMODE(found.st_mode):04o}), as firstlight leaves nothing that it keeps",
            hint=f"See whether everything in {state} is yours; if it is: chmod -R go-rwx {state}",
        )
    return found


def unlinked(path: Path) -> None:
    """See that something is not a link.

    Raises:
        Untrusted: It is one.
    """
    if path.is_symlink():
        raise Untrusted(f"{path} is a link, which may lead anywhere", hint="Remove it.")


def tree(state: Path) -> None:
    """See that everything in a state directory is ours.

    Raises:
        Untrusted: Something is not.
    """
    if entry(state, state=state) is None:
        return
    untracked(state)
    for path, is_directory in _below(state):
        if is_directory or path.is_symlink() or path.lstat().st_uid not in _owners(os.environ):
            entry(path, state=state)


def untracked(state: Path) -> None:
    """See that Git tracks nothing in a state directory but what is for all.

    Raises:
        Untrusted: It tracks something, or cannot be asked.
    """
    try:
        found = repository.locate(state.parent)
        index = (found.git_dir / "index").stat()
    except git_errors.PointsElsewhere as error:
        raise Untrusted(f"whether Git tracks {state} is not known: {error.detail}", hint=error.hint) from error
    except (git_errors.NotARepository, OSError):
        return  # nobody has put anything under Git here
    if found.work_tree is None:
        return
    named = _tracked(state, (index.st_ino, index.st_mtime_ns, index.st_size))
    if named:
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        raise Untrusted(
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
        raise Untrusted(f"whether Git tracks {state} is not known: git is not installed", hint="Install git.")
    try:
        # Asked from plain functions, perhaps where an event loop runs: Git is awaited in a thread of its own.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            names = pool.submit(asyncio.run, Git(Path(program)).tracked(state.parent)).result()
    except errors.FirstlightError as error:
        raise Untrusted(f"whether Git tracks {state} is not known: {error.message}", hint=error.hint) from error
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
            raise Untrusted(f"{at} cannot be read: {error.strerror or error}", hint="Give read permission.") from error
        yield from inside
        waiting += [path for path, is_directory in inside if is_directory]
