"""Safe edits of objects where they are written, and the object that declares an origin."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.component import ObjectId, Origin, Stated
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

# No edit where something made the object, or a patch says it elsewhere.


def set_edit(stated: Stated | None, *steps: str | int, value: Any) -> tuple[FileEdit, ...]:
    """Set a value of an object."""
    return _edit(stated, EditVerb.SET, steps, value)


def append_edit(stated: Stated | None, *steps: str | int, value: Any) -> tuple[FileEdit, ...]:
    """One more item at the end of a list of an object."""
    return _edit(stated, EditVerb.APPEND, steps, value)


def remove_edit(stated: Stated | None, *steps: str | int) -> tuple[FileEdit, ...]:
    """Take a value of an object away."""
    return _edit(stated, EditVerb.REMOVE, steps, None)


def _edit(stated: Stated | None, verb: EditVerb, steps: tuple[str | int, ...], value: Any) -> tuple[FileEdit, ...]:
    if stated is None or stated.way is None:
        return ()
    document, above = stated.way
    return (FileEdit(path=stated.place.path, verb=verb, steps=(*above, *steps), value=value, document=document),)


# The object that declares an origin, with the way to its lines: also where nothing of the repo applies it.


@dataclasses.dataclass(frozen=True)
class _Written:
    """An object as it stands in a file."""

    document: YamlDocument = dataclasses.field(repr=False)

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


def declaring_object(scene: PlatformView, origin: Origin) -> Stated | None:
    """The object that declares an origin; a root is applied by nobody, and found in its file."""
    stated = scene.declaring(origin)
    if stated is not None or not scene.files.is_file(origin.place.path):
        return stated
    for document in scene.files.documents(origin.place.path):
        # An item of a list has its own line, and is not found: then there is no way to it.
        if isinstance(document.value, Mapping) and document.line == origin.place.line:
            return _Written(document)
    return None
