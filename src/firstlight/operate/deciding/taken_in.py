"""Which files and directories kustomizations take in, so that a change in a base belongs to all who build on it."""

import posixpath
from collections.abc import Iterable, Iterator

from firstlight.repo.kustomize import kustomization
from firstlight.repo.work_tree import WorkTree, join


def taken_in(after: WorkTree, before: WorkTree, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What each directory's kustomization takes in, in either tree.

    Args:
        after: A tree, of which all kustomizations are read.
        before: Another one, of which only those are read that differ.
        paths: The files that differ.
    """
    found: dict[str, dict[str, None]] = {}
    differing = [each for each in paths if posixpath.basename(each) in kustomization.NAMES]
    for tree, files in ((after, after.files), (before, differing)):
        for file in files:
            if posixpath.basename(file) in kustomization.NAMES and tree.is_file(file):
                directory = posixpath.dirname(file) or "."
                found.setdefault(directory, {}).update(dict.fromkeys(_taken(tree, file, directory)))
    return {directory: tuple(entries) for directory, entries in found.items() if entries}


def _taken(tree: WorkTree, file: str, directory: str) -> Iterator[str]:
    documents = tree.documents(file)
    value = documents[0].value if documents else None
    for each in kustomization.named_files(value):
        path = join(directory, each.path) if "://" not in each.path else None
        if path is not None and (tree.is_file(path) or tree.is_dir(path)):
            yield path
