"""Plain scripts: which files they are, and each as one task."""

import posixpath

from firstlight.model.place import Place
from firstlight.repo.scripts.mise import DIRECTORIES
from firstlight.repo.scripts.task import Dialect, Task, script
from firstlight.repo.work_tree import WorkTree

_SUFFIXES = (".sh", ".bash", ".zsh")
_HOMES = {"scripts", "script", "bin", "hack", "bootstrap", "tools", "ci"}
"""Directories in which a file without a suffix may be a script."""


def may_be_script(path: str) -> bool:
    """Whether a file looks like a script from outside."""
    directory, name = posixpath.split(path)
    if name.endswith(_SUFFIXES):
        return True
    if "." in name.lstrip("."):
        return False
    is_task = any(f"/{each}/" in f"/{directory}/" for each in DIRECTORIES)
    return is_task or posixpath.basename(directory) in _HOMES or name.startswith("bootstrap")


def read(tree: WorkTree, path: str) -> Task | None:
    """A script as a task; None if it is none."""
    text = tree.text(path)
    if text is None:
        return None
    first = text.split("\n", 1)[0]
    is_shell = first.startswith("#!") and any(each in first for each in ("sh", "bats"))
    if not is_shell and not (path.endswith(_SUFFIXES) and not first.startswith("#!")):
        return None
    return Task(
        name=path,
        local=posixpath.basename(path),
        dialect=Dialect.SHELL,
        place=Place(path, 1),
        directory=".",
        body=(script(text, 1),),
    )
