"""Every file of a repo with its content and mode, as an allowance covers it.

Those are the files that Git tracks, and those that it neither tracks nor ignores. A commit cannot change a file that is
ignored. Where Git cannot be asked, all files count. Links are followed: one that leads out of what is covered counts
with the content that is there.
"""

import asyncio
import concurrent.futures
import dataclasses
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.clients.git import Git, repository
from firstlight.clients.git import errors as git_errors

LARGEST = 1 << 30
"""Bytes that count for one command: a repo with its charts and pictures, not with disk images."""
MOST = 50_000
"""Files of a repo; more is a home directory."""
_LEFT_OUT = {".git", ".firstlight"}
"""What is nobody's script where there is no Git to ask; a ``.firstlight`` that Git tracks counts."""
_SETTLED = 2.0
"""Seconds after which a file whose times did not change has the content that it had: clocks of disks are coarse."""

_hashes: dict[tuple[int, ...], str] = {}
"""Of contents, by what changes with them: a gate that is a command asks every few seconds."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One path of a repo, and what counts of it."""

    path: str
    content: str
    """``file`` or ``program`` with a hash; ``link`` with where it leads and, outside, what is there."""


def names(root: Path) -> frozenset[str]:
    """The paths of a repo that count.

    Raises:
        errors.Refused: There are too many.
    """
    found = frozenset(_listed(os.path.realpath(root)))
    if len(found) > MOST:
        raise _too_much(root)
    return found


def entries(root: Path, also: Iterable[str] = (), *, known: frozenset[str] | None = None) -> tuple[Entry, ...]:
    """Every file of a repo, sorted by path.

    Args:
        root: The top of the repo.
        also: Paths that count even if Git ignores them, since a command names them.
        known: The paths that count, where they were listed before; all that are there now if it is not given.

    Raises:
        errors.Refused: There is more than counts can be told of, or a link whose target cannot be covered.
    """
    top = os.path.realpath(root)
    covered = (names(root) if known is None else known) | {each for named in also for each in _below(top, named)}
    if len(covered) > MOST:
        raise _too_much(root)
    left = LARGEST
    found = []
    for name in sorted(covered):
        try:
            content, size = _content(top, name, covered)
        except FileNotFoundError:
            continue  # tracked and deleted
        except OSError as error:
            raise errors.Refused(f"{name} counts for what a command reads, and cannot be read: {error}") from error
        left -= size
        if left < 0:
            raise _too_much(root)
        found.append(Entry(name, content))
    return tuple(found)


def _too_much(root: Path) -> errors.Refused:
    return errors.Refused(
        f"{root} has more than {MOST:,} files or {LARGEST >> 20:,} MiB, too much to allow a command by content",
        hint="Let Git ignore what is not part of the repo.",
    )


def _listed(top: str) -> Iterator[str]:
    asked = _asked(top)
    if asked is None:
        yield from _below(top, ".")
        return
    for name in asked:
        path = name.rstrip("/")
        # Of a submodule, and of another repository in the tree, Git names the directory alone.
        if name.endswith("/") or (os.path.isdir(f"{top}/{path}") and not os.path.islink(f"{top}/{path}")):
            yield from _below(top, path)
        else:
            yield path


def _asked(top: str) -> tuple[str, ...] | None:
    """What Git names; None where it cannot be asked."""
    program = program_path.find("git")
    try:
        work_tree = repository.locate(Path(top)).work_tree
        if program is None or work_tree is None:
            return None
        with concurrent.futures.ThreadPoolExecutor(1) as pool:  # perhaps an event loop runs in this thread
            found = pool.submit(asyncio.run, Git(Path(program)).ls_files(Path(top))).result()
    except (git_errors.NotARepository, errors.ClientError, errors.ToolError):
        return None
    # A directory that the repository around it ignores stands alone.
    return found if found or str(work_tree) == top else None


def _below(top: str, name: str) -> Iterator[str]:
    """A file, or all files below a directory; links are named, and not followed."""
    start = os.path.join(top, name)
    if not os.path.isdir(start) or os.path.islink(start):
        if os.path.lexists(start):
            yield os.path.relpath(start, top)
        return
    count = 0
    for directory, inner, files in os.walk(start, onerror=_refuse):
        links = [each for each in inner if os.path.islink(os.path.join(directory, each))]
        inner[:] = [each for each in inner if each not in _LEFT_OUT and each not in links]
        for each in (*files, *links):
            if each not in _LEFT_OUT:
                count += 1
                yield os.path.relpath(os.path.join(directory, each), top)
        if count > MOST:
            raise _too_much(Path(top))


def _refuse(error: OSError) -> None:
    raise errors.Refused(f"{error.filename} counts for what a command reads, and cannot be read: {error.strerror}")


def _content(top: str, name: str, covered: frozenset[str]) -> tuple[str, int]:
    """What counts of a path, and how many bytes were looked at."""
    path = os.path.join(top, name)
    found = os.lstat(path)
    if stat.S_ISREG(found.st_mode):
        kind = "program" if found.st_mode & 0o111 else "file"
        return f"{kind} {_hash(path, found)}", found.st_size
    if not stat.S_ISLNK(found.st_mode):
        return f"special {stat.S_IFMT(found.st_mode):o}", 0
    leads = f"link to {os.readlink(path)}"
    real = os.path.realpath(path)
    if not os.path.exists(real):
        return f"{leads}, nowhere", 0
    inside = os.path.relpath(real, top)
    if inside in covered or (os.path.isdir(real) and not inside.startswith("..") and _is_covered(inside, covered)):
        return leads, 0
    target = os.stat(real)
    if not stat.S_ISREG(target.st_mode):
        raise errors.Refused(
            f"the link {name} leads to {real}, whose content an allowance cannot cover",
            hint="Remove the link, or let Git ignore it; a link to a file of the repo is covered.",
        )
    return f"{leads}, mode {target.st_mode:o}, {_hash(real, target)}", target.st_size


def _is_covered(directory: str, covered: frozenset[str]) -> bool:
    """Whether a directory of the repo has files that count; a directory that Git ignores has none."""
    return directory == "." or any(each.startswith(f"{directory}/") for each in covered)


def _hash(path: str, found: os.stat_result) -> str:
    key = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    known = _hashes.get(key)
    if known is not None:
        return known
    with open(path, "rb") as file:
        value = hashlib.file_digest(file, "sha256").hexdigest()
    if found.st_ctime < time.time() - _SETTLED:
        _hashes[key] = value
    return value
