"""Files of the user's cache: written whole or not at all by any number of processes, for the user's eyes alone."""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.clients import atomic_file

UNUSED_AFTER = 30 * 86400
"""Seconds after which what nobody used goes."""

_DAY = 86400


def write_kept(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Put a file in its place; whoever reads it at the same time sees the old one or the new one.

    Args:
        path: Where it goes.
        content: All of it.
        durable: Whether it must survive a power cut, too.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    atomic_file.replace(path, content, durable=durable)


def read_kept(path: Path) -> bytes | None:
    """A file's content, and a note that it is in use; None if it is not there."""
    try:
        with path.open("rb") as file:
            content = file.read()
            # Once a day is enough: a read must not become a write each time.
            if time.time() - os.fstat(file.fileno()).st_mtime > _DAY:
                with contextlib.suppress(OSError):
                    os.utime(path)
            return content
    except OSError:
        return None


def remove_kept(path: Path) -> None:
    """Take a file away, if it is there."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def forget_unused(directory: Path, *, older_than: float = UNUSED_AFTER) -> int:
    """Take away what was not used for long, below a directory; how many files that were."""
    gone = 0
    for path in _files(directory):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > older_than:
                path.unlink()
                gone += 1
    return gone


def _files(directory: Path) -> Iterator[Path]:
    for base, _, names in os.walk(directory):
        for name in names:
            yield Path(base, name)


# Hashes by which content is known again.


_ENCODER = msgspec.json.Encoder(order="deterministic", enc_hook=lambda value: _plain(value))


def bytes_digest(data: bytes) -> str:
    """The SHA-256 of a content."""
    return hashlib.sha256(data).hexdigest()


def value_digest(value: Any) -> str:
    """The SHA-256 of plain data, whatever the order of its keys."""
    return bytes_digest(_ENCODER.encode(value))


def files_digest(files: Mapping[str, bytes]) -> str:
    """The SHA-256 of files with their names; each has its length before it, so that no two sets look the same."""
    made = hashlib.sha256()
    for path, content in sorted(files.items()):
        name = path.encode(errors="surrogateescape")
        made.update(b"%d %d\n" % (len(name), len(content)))
        made.update(name)
        made.update(content)
    return made.hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be hashed")
