"""Replace a file as a whole: whoever reads it sees the old content or the new content, never a part of either.

The new content is written beside the file and renamed over it. Nothing is left behind where that fails. All files that
are replaced go through here; a test looks for other ways.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

PRIVATE = 0o600
"""The mode of a file that is only for its owner."""


def replace(path: Path, content: bytes, *, mode: int | None = PRIVATE, durable: bool = True) -> None:
    """Replace a file, or create it.

    Args:
        path: Its place; the directory must exist. A symbolic link there is replaced, not followed.
        content: The whole content.
        mode: The exact mode, or None for that of any new file, by the umask.
        durable: Make it survive a power loss; a cache can do without.

    Raises:
        OSError: It cannot be written; the old file is as it was.
    """
    with staged(path, content, mode=mode, durable=durable) as made:
        put(made, path, durable=durable)


@contextlib.contextmanager
def staged(path: Path, content: bytes, *, mode: int | None = PRIVATE, durable: bool = True) -> Iterator[Path]:
    """Write the new content of a file beside it, for a caller who looks once more before ``put``.

    Args:
        path: The file that it is for.
        content: The whole content.
        mode: The exact mode, or None for that of any new file, by the umask.
        durable: Make the content survive a power loss.

    Raises:
        OSError: It cannot be written.
    """
    with beside(path) as made:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(made, flags, 0o666 if mode is None else PRIVATE)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None:
                os.fchmod(fd, mode)
            if durable:
                os.fsync(fd)
        yield made


@contextlib.contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Give an unused hidden name in the directory of a file; what still has that name in the end is removed."""
    made = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield made
    finally:
        with contextlib.suppress(OSError):
            made.unlink(missing_ok=True)


def put(made: Path, path: Path, *, durable: bool = True) -> None:
    """Rename a whole file over another one.

    Args:
        made: The new file, on the same file system.
        path: The place that it takes.
        durable: Make the new name survive a power loss.

    Raises:
        OSError: It cannot be renamed.
    """
    os.replace(made, path)
    if durable:
        sync_directory(path.parent)


def put_new(made: Path, path: Path) -> None:
    """Give a whole file its place for good, but never that of another file.

    Raises:
        FileExistsError: There is a file already, perhaps since a moment.
        OSError: It cannot be linked.
    """
    os.link(made, path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power loss; some file systems do not offer that."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
