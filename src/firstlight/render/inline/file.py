"""The file that is edited: read as it is, written whole or not at all."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from firstlight import errors
from firstlight.document import reading


def locate(root: Path, given: str) -> str:
    """A file that somebody typed, relative to the repo; counted from here, or else from the repo.

    Raises:
        errors.UsageError: It is outside of the repo, or a directory.
    """
    top = root.resolve()
    here = Path(given)
    typed = here if here.is_absolute() or here.exists() else top / given
    resolved = typed.resolve()
    if not resolved.is_relative_to(top) or resolved == top:
        raise errors.UsageError(f"{given} is outside of the repo {top}", hint="Give a file of the repo.")
    if resolved.is_dir():
        raise errors.UsageError(f"{given} is a directory", hint="Give a Talos config or patch, or an Omni template.")
    return resolved.relative_to(top).as_posix()


def read(root: Path, path: str) -> bytes | None:
    """The bytes of the file; None if it is not there yet.

    Raises:
        errors.ConfigError: It cannot be edited: it is no ordinary file, or too large.
    """
    file = root / path
    try:
        found = file.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.ConfigError(f"it cannot be read: {error.strerror or error}", path=path) from error
    if not stat.S_ISREG(found.st_mode):
        raise errors.ConfigError("this is no ordinary file", path=path)
    if found.st_size > reading.SIZE_LIMIT:
        raise errors.ConfigError(f"the file is larger than {reading.SIZE_LIMIT >> 20} MiB", path=path)
    return file.read_bytes()


def text(data: bytes, path: str) -> str:
    """The text of the file; a byte-order mark stays.

    Raises:
        errors.ConfigError: It is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise errors.ConfigError("the file is not UTF-8", path=path, hint="Save it as UTF-8.") from error


def write(root: Path, path: str, new: str, *, old: bytes | None) -> None:
    """Put the new text in the file's place, with its mode.

    Raises:
        errors.Refused: Somebody changed the file in the meantime.
        OSError: It cannot be written.
    """
    file = root / path
    if old is None:
        file.parent.mkdir(parents=True, exist_ok=True)
    staged = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        mode = stat.S_IMODE(file.stat().st_mode) if old is not None else 0o666 & ~_mask()
        fd = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as opened:
            opened.write(new.encode())
            opened.flush()
            os.fchmod(fd, mode)
            os.fsync(fd)
        if read(root, path) != old:
            raise errors.Refused(f"{path} was changed by somebody else in the meantime", hint="Run it again.")
        os.replace(staged, file)
    finally:
        with contextlib.suppress(OSError):
            staged.unlink(missing_ok=True)


def _mask() -> int:
    """The mask of new files, which can only be asked for by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
