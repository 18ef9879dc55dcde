"""Copies of what a lab keeps on disk, made while nothing writes there: kept under names, and put back."""

import shutil
import stat
from pathlib import Path

from firstlight import errors


def _passing(folder: str, names: list[str]) -> set[str]:
    """Sockets and pipes, and what is true of a running process only."""
    return {name for name in names if name == "ready" or not _is_kept(Path(folder) / name)}


def _is_kept(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def save(source: Path, saved: Path, name: str) -> None:
    """Keep a copy of a directory under a name; an older one of that name goes when the new one is whole."""
    temporary, target = saved / f".{name}.new", saved / name
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        shutil.copytree(source, temporary, ignore=_passing, symlinks=True)
    except (OSError, shutil.Error):
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    shutil.rmtree(target, ignore_errors=True)
    temporary.rename(target)


def restore(target: Path, saved: Path, name: str) -> None:
    """Put a copy in place of a directory."""
    incoming, outgoing = saved / ".incoming", saved / ".outgoing"
    for path in (incoming, outgoing):
        shutil.rmtree(path, ignore_errors=True)
    # The old data goes when the new is whole: a full disk or a kill costs nothing.
    shutil.copytree(saved / name, incoming, symlinks=True)
    target.rename(outgoing)
    incoming.rename(target)
    shutil.rmtree(outgoing, ignore_errors=True)


def check(saved: Path, name: str, *, lab: str) -> None:
    """Refuse a name that nothing was saved under."""
    if not (saved / name).is_dir():
        raise errors.UsageError(f"lab {lab} has no saved state {name!r}")
