"""The objects of a file, as kustomize takes them: Lists are taken apart, and what is no object is refused."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from firstlight.document.reading import Dialect, Document
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.repo.kustomize.resource import Resource
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

DIALECT = Dialect.TALOS
"""kustomize reads objects by the rules of yaml.v3, to which ``yes`` and ``on`` are texts; Talos's are the same."""

_DEEPEST = 5
"""Lists in Lists."""


@dataclasses.dataclass(frozen=True)
class Objects:
    """What a file holds."""

    resources: tuple[Resource, ...] = dataclasses.field(default=(), repr=False)
    remarks: tuple[Remark, ...] = ()


def read(tree: WorkTree, path: str) -> Objects:
    """The objects of a file; what is wrong with it is said."""
    resources: list[Resource] = []
    remarks: list[Remark] = []
    for document in tree.documents(path, dialect=DIALECT):
        for steps, value in _flattened(document.value, (), 0):
            if problem := _problem(value):
                message = f"{problem}, so kustomize refuses the whole file"
                remarks.append(Remark(document.place(*steps), Grade.ERROR, message))
            else:
                resources.append(Resource(value, _manifest(document, steps, value)))
    return Objects(tuple(resources), tuple(remarks))


def objects_of(tree: WorkTree, path: str) -> tuple[Manifest, ...]:
    """The objects of a file by themselves; what is none is passed over."""
    return tuple(each.source for each in read(tree, path).resources)


def _manifest(document: Document, steps: tuple[str | int, ...], value: dict[str, Any]) -> Manifest:
    place = document.place(*steps) if steps else Place(document.path, document.line)
    return Manifest(value, place, document, steps)


def _flattened(value: Any, steps: tuple[str | int, ...], depth: int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in value or depth > _DEEPEST:
        yield steps, value
        return
    items = value["items"]
    for number, item in enumerate(items if isinstance(items, list) else ()):
        yield from _flattened(item, (*steps, "items", number), depth + 1)


def _problem(value: Any) -> str:
    if not isinstance(value, dict):
        return "this is no object"
    if not value.get("kind"):
        return "the object has no kind"
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return "the object has no metadata.name"
    return ""
