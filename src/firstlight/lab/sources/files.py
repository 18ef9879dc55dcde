"""Files on their way into a commit or an artifact."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from firstlight import errors
from firstlight.lab.sources import names

LIMIT = 256 << 20
"""Bytes of all files together that are taken in one piece."""


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file; the content of a link is where it points."""

    content: bytes
    mode: Literal["100644", "100755", "120000"] = "100644"


def read(folder: Path) -> dict[str, File]:
    """Every file below a folder, by its path there; Git's own directory is left out.

    Raises:
        errors.UsageError: It is no folder, or there is something in it that is neither file, folder nor link.
    """
    if not folder.is_dir():
        raise errors.UsageError(f"{folder} is no directory")
    found: dict[str, File] = {}
    size = 0
    for parent, below, here in os.walk(folder):
        below[:] = sorted(name for name in below if name != ".git" and not (Path(parent) / name).is_symlink())
        links = [entry.name for entry in os.scandir(parent) if entry.is_dir() and entry.is_symlink()]
        for name in sorted([*here, *links]):
            path = Path(parent) / name
            if name == ".git":
                continue
            file = _read(path)
            size += len(file.content)
            if size > LIMIT:
                raise errors.UsageError(f"{folder} has more than {LIMIT >> 20} MiB")
            found[names.file(path.relative_to(folder).as_posix())] = file
    return found


def _read(path: Path) -> File:
    if path.is_symlink():
        return File(os.readlink(path).encode(), "120000")
    if not path.is_file():
        raise errors.UsageError(f"{path} is neither a file nor a folder nor a link")
    return File(path.read_bytes(), "100755" if os.access(path, os.X_OK) else "100644")
