"""The object that declares an origin, with the way to its lines: also where nothing of the repo applies it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.model.component import ObjectId, Origin, Stated
from firstlight.model.place import Place
from firstlight.policy.auditing.scene import Scene


@dataclasses.dataclass(frozen=True)
class _Written:
    """An object as it stands in a file."""

    document: Document = dataclasses.field(repr=False)

    @property
    def value(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.document.value
        return found

    @property
    def place(self) -> Place:
        return Place(self.document.path, self.document.line)

    @property
    def id(self) -> ObjectId:
        return ObjectId.of(self.value)

    @property
    def way(self) -> tuple[int, tuple[str | int, ...]] | None:
        return self.document.index, ()

    def at(self, *steps: str | int) -> Place:
        return self.document.place(*steps)


def of(scene: Scene, origin: Origin) -> Stated | None:
    """The object that declares an origin; a root is applied by nobody, and found in its file."""
    stated = scene.declaring(origin)
    if stated is not None or not scene.files.is_file(origin.place.path):
        return stated
    for document in scene.files.documents(origin.place.path):
        # An item of a list has its own line, and is not found: then there is no way to it.
        if isinstance(document.value, Mapping) and document.line == origin.place.line:
            return _Written(document)
    return None
