"""Removing a tree whose directories may be locked against their own owner, as Argo CD does with its checkouts."""

import os
import shutil
from pathlib import Path


def remove(path: Path) -> None:
    """Remove a tree; one that is not there is removed already.

    Raises:
        OSError: Something of it stays.
    """
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        unlock(path)
        shutil.rmtree(path)


def unlock(path: Path) -> None:
    """Let the owner into all directories of a tree."""
    path.chmod(0o700)
    for folder, names, _ in os.walk(path):  # it looks into a directory after this has seen its parent
        for each in (Path(folder, name) for name in names):
            if not each.is_symlink():
                each.chmod(0o700)
