"""A Kubernetes object with the place that it comes from."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.repo import lines


@dataclasses.dataclass(frozen=True)
class Manifest:
    """One object, perhaps changed by a kustomization on its way."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    """Shared with others: never changed in place. It may hold secrets, so it is never shown."""
    place: Place
    """Where it is written first."""
    document: Document | None = dataclasses.field(default=None, repr=False, compare=False)
    """The document that it is written in; objects that were made, such as by a configMapGenerator, have none."""
    steps: tuple[str | int, ...] = ()
    """The way to it in the document, for the items of a List."""

    @property
    def id(self) -> ObjectId:
        """What it is called."""
        # Asked for all the time: kept by hand, since cached_property takes a lock each time.
        found: ObjectId | None = self.__dict__.get("_id")
        if found is None:
            found = self.__dict__["_id"] = ObjectId.of(self.value)
        return found

    @property
    def way(self) -> tuple[int, tuple[str | int, ...]] | None:
        """The number of its document in the file, and the way to it there; None for one that something made."""
        # What stands inside of another document's text has lines of its own, and cannot be edited by itself.
        is_plain = type(self.document) is Document
        return (self.document.index, self.steps) if is_plain and self.document else None

    def at(self, *steps: str | int) -> Place:
        """Where a value of it is written, or the nearest parent that is; a patch may have put it elsewhere."""
        if self.document is None:
            return self.place
        # What stands inside of another document's text has lines of its own, which it knows itself.
        is_plain = type(self.document) is Document
        found = lines.find(self.document.text, self.document.line, (*self.steps, *steps)) if is_plain else None
        if found is None:
            return self.document.place(*self.steps, *steps)
        return Place(self.document.path, *found)
