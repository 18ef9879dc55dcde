"""Whether two states of a repo describe the same platform, told by the files that differ: then it is read once."""

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.document.within import mapping
from firstlight.model.component import ObjectId
from firstlight.repo.kustomize import kustomization
from firstlight.repo.work_tree import YAML, WorkTree

_GROUPS = {"apps", "batch", "autoscaling", "policy", "networking.k8s.io", "gateway.networking.k8s.io"}
"""Of objects that are deployed, and from whose fields nobody reads where else something is deployed."""
_PROSE = (".md",)
_MOST = 500
"""Files that are looked at; with more the base is read anyway."""


def is_same(before: WorkTree, after: WorkTree, paths: Iterable[str]) -> bool:
    """Whether nothing differs but fields of workloads and the like; if in doubt it is not so."""
    listed = list(paths)
    return len(listed) <= _MOST and all(_is_plain(before, after, each) for each in listed)


def _is_plain(before: WorkTree, after: WorkTree, path: str) -> bool:
    if path.endswith(_PROSE):
        return True
    if not path.endswith(YAML) or posixpath.basename(path) in kustomization.NAMES:
        return False
    if not all(each.is_file(path) and path not in each.links for each in (before, after)):
        return False
    # A patch can take an object away by a field of its own.
    if any(b"$patch" in (each.bytes(path) or b"$patch") for each in (before, after)):
        return False
    both = before.contents(path), after.contents(path)
    if any(each.remarks or not each.documents for each in both):
        return False
    first, then = (each.documents for each in both)
    return len(first) == len(then) and all(map(_is_alike, first, then))


def _is_alike(one: Document, other: Document) -> bool:
    values: list[Any] = [one.value, other.value]
    if not all(isinstance(each, Mapping) for each in values):
        return False
    name, *others = (ObjectId.of(each) for each in values)
    # Annotations can leave an object out, or say when it comes.
    first, then = (mapping(each, "metadata") for each in values)
    return name.group in _GROUPS and others == [name] and first == then
