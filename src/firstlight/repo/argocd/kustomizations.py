"""Kustomizations that bring Applications and that no Application reads: somebody applies them."""

import posixpath
from collections.abc import Mapping

from firstlight.repo import work_tree
from firstlight.repo.argocd.contents import KUSTOMIZATIONS
from firstlight.repo.argocd.definition import items, mapping, text
from firstlight.repo.work_tree import WorkTree

_FIELDS = ("resources", "bases", "components")


def users(tree: WorkTree) -> Mapping[str, frozenset[str]]:
    """Which directories of kustomizations name a file or directory."""
    found: dict[str, set[str]] = {}
    for file in tree.files:
        directory, name = posixpath.split(file)
        if name not in KUSTOMIZATIONS:
            continue
        for document in tree.documents(file)[:1]:
            for field in _FIELDS:
                for each in items(mapping(document.value).get(field)):
                    target = work_tree.join(directory or ".", text(each)) if text(each) else None
                    if target:
                        found.setdefault(target, set()).add(directory or ".")
    return {target: frozenset(directories) for target, directories in found.items()}


def tops(file: str, used: Mapping[str, frozenset[str]]) -> list[str]:
    """The directories from which kustomize comes to a file, and to which no other kustomization leads."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [file]
    while waiting:
        here = waiting.pop()
        above = used.get(here, frozenset())
        if not above and here != file:
            found.add(here)
        waiting += above - seen
        seen |= above
    return sorted(found)
