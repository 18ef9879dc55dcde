"""Which files of a repo are helmfiles."""

import posixpath
import re
from collections.abc import Iterable

from firstlight.repo.work_tree import WorkTree

_SUFFIX = re.compile(r"\.ya?ml(?:\.gotmpl)?$")
_NAME = re.compile(r"helmfile(?:[-_.][\w-]+)*\.ya?ml(?:\.gotmpl)?$", re.I)
_DIRECTORY = "helmfile.d"
_LIKELY = {"helmfile", "helmfiles"}
"""Directories whose files are helmfiles if they say so themselves."""
_TOP = re.compile(r"^(?:releases|helmfiles|bases):", re.MULTILINE)


def is_helmfile(tree: WorkTree, path: str) -> bool:
    """Whether a file is a helmfile by its name or place; those that only lie in a likely directory are looked into."""
    directory, name = posixpath.split(path)
    if not _SUFFIX.search(name):
        return False
    parent = posixpath.basename(directory)
    if _NAME.match(name) or parent == _DIRECTORY:
        return True
    return parent in _LIKELY and _TOP.search(tree.text(path) or "") is not None


def find(tree: WorkTree, also: Iterable[str]) -> list[str]:
    """Helmfiles in the order in which helmfile reads those of one directory.

    Args:
        tree: The repo.
        also: Files and directories that commands name.
    """
    found = {path for path in tree.files if is_helmfile(tree, path)}
    for path in also:
        found.update([path] if tree.is_file(path) else files_of(tree, path))
    return sorted(found)


def files_of(tree: WorkTree, directory: str) -> list[str]:
    """The helmfiles that helmfile reads when it is given a directory."""
    names = [name for name in tree.listing(directory) if _SUFFIX.search(name)]
    return sorted(posixpath.normpath(f"{directory}/{name}") for name in names)
