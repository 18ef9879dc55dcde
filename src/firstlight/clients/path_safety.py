"""Directories that strangers filled, checked before a program reads them.

Programs follow symbolic links, and one that leads out of the tree would carry a file of this computer into what is
rendered. Here such a tree is refused, as is one with more in it than anybody writes by hand.
"""

import contextlib
import dataclasses
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from firstlight import errors


@dataclasses.dataclass(frozen=True)
class TreeLimits:
    """How much a tree may hold."""

    files: int = 20_000
    size: int = 256 << 20
    """Bytes in all."""
    depth: int = 40


TREE_LIMITS = TreeLimits()


@dataclasses.dataclass(frozen=True)
class TreeExtent:
    """How much a tree holds."""

    files: int
    size: int


def check_tree(
    path: Path, *, within: Path | None = None, limits: TreeLimits = TREE_LIMITS, skip: Collection[str] = ()
) -> TreeExtent:
    """Look through a directory, without following links out of where it may lead.

    Args:
        path: The directory.
        within: The tree that no link may leave; the directory itself if it is not given.
        limits: How much it may hold, what its links lead to included.
        skip: Names at its top that are not looked at.

    Raises:
        errors.Refused: A link leads out of the tree, something is neither a file nor a directory, or there is too much.
    """
    root = (within or path).resolve()
    real = path.resolve()
    if not real.is_relative_to(root):
        raise errors.Refused(f"{path} leads out of {root}")
    files, size = 0, 0
    top = real.stat()
    seen = {(top.st_dev, top.st_ino)}
    waiting = [(real, 0)]
    while waiting:
        directory, depth = waiting.pop()
        if depth > limits.depth:
            raise errors.Refused(f"{path} is deeper than {limits.depth} directories", hint=f"see {directory}")
        with os.scandir(directory) as listed:
            entries = list(itertools.islice(listed, limits.files + len(skip) + 1))
        if len(entries) > limits.files + len(skip):
            raise errors.Refused(f"{path} has more than {limits.files} files")
        for entry in entries:
            if depth == 0 and entry.name in skip:
                continue
            place = Path(entry.path)
            if entry.is_symlink():
                place = _followed(place, root)
                if not place.exists():
                    continue  # leads nowhere, so nobody can read anything there
            found = place.stat()
            if stat.S_ISDIR(found.st_mode):
                # A directory may be reached in several ways, by links even in circles; once is enough.
                if (found.st_dev, found.st_ino) not in seen:
                    seen.add((found.st_dev, found.st_ino))
                    waiting.append((place, depth + 1))
            elif stat.S_ISREG(found.st_mode):
                files, size = files + 1, size + found.st_size
            else:
                raise errors.Refused(f"{place} is neither a file nor a directory")
            if files > limits.files:
                raise errors.Refused(f"{path} has more than {limits.files} files")
            if size > limits.size:
                raise errors.Refused(f"{path} has more than {limits.size >> 20} MiB in it")
    return TreeExtent(files, size)


def inside(path: Path, root: Path) -> Path:
    """A path with its links followed, which must not lead out of ``root``.

    Raises:
        errors.Refused: They do, or lead in a circle.
    """
    return _followed(path, root.resolve())


def cleaned(path: Path) -> Path:
    """A path without ``.`` and ``..``, by its letters alone, as Go's ``filepath.Clean`` does it."""
    return Path(os.path.normpath(path))


@contextlib.contextmanager
def landing(into: Path) -> Iterator[Path]:
    """A path to make a directory at, which becomes ``into`` when all went well, and is gone when not.

    Raises:
        errors.UsageError: ``into`` exists, or has no directory to be in.
    """
    if into.exists() or into.is_symlink():
        raise errors.UsageError(f"{into} is there already")
    if not into.parent.is_dir():
        raise errors.UsageError(f"{into.parent} is not a directory")
    made = into.parent / f".{into.name}.{secrets.token_hex(4)}"
    try:
        yield made
        os.rename(made, into)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _followed(path: Path, root: Path) -> Path:
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:
        raise errors.Refused(f"{path} is a link that leads in a circle") from error
    if not real.is_relative_to(root):
        raise errors.Refused(
            f"{path} leads out of {root}", hint="a link in a repository may only point into the repository"
        )
    return real


# Where a file may be put in its place by renaming: that replaces whatever is there, also a device.


def check_replaceable(path: Path) -> None:
    """See that a path names a file, or nothing so far.

    Root that writes to ``/dev/null`` by renaming takes it away from everybody.

    Raises:
        errors.UsageError: It is a directory, a device, a pipe, or a link to one.
    """
    if not path.name:
        raise errors.UsageError(f"{path} is a directory", hint="Name a file.")
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return  # that it cannot be reached, writing will say
    if not stat.S_ISREG(mode):
        raise errors.UsageError(f"{path} is not a file", hint="Name a file, or leave the option out to print it.")


# Files of the user's configuration that firstlight trusts: only their owner may write them.


def read(path: Path, *, what: str, most: int = -1) -> bytes | None:
    """Return the content of a file that nobody else can have written; None if it does not exist.

    Args:
        path: The file.
        what: What others could have put there, for the message: "the signers in it".
        most: Bytes that are read at most; all of them by default.

    Raises:
        errors.ConfigError: It cannot be read, belongs to somebody else, or others can write it.
    """
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
                raise errors.ConfigError(
                    f"others can write it, so {what} may not be yours", path=str(path),
                    hint=f"Look at it, then: chmod 600 {path}",
                )  # fmt: skip
            return file.read(most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror}", path=str(path)) from error
