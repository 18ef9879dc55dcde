"""Which files and directories kustomizations take in, so that a change in a base belongs to all who build on it."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

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
                found.setdefault(directory, {}).update(dict.fromkeys(_taken((after, before), tree, file)))
    return {directory: tuple(entries) for directory, entries in found.items() if entries}


def _taken(trees: Sequence[WorkTree], tree: WorkTree, file: str) -> Iterator[str]:
    """What a kustomization names, if it is there in any of the trees: that it is gone in one is part of the change."""
    documents = tree.documents(file)
    value = documents[0].value if documents else None
    for each in kustomization.named_files(value):
        path = join(posixpath.dirname(file) or ".", each.path) if "://" not in each.path else None
        if path is not None and any(one.is_file(path) or one.is_dir(path) for one in trees):
            yield path
