"""What changes objects on their way: kustomization files, and objects of engines that have the same fields."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.model.component import Form, ObjectId, Origin
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.place import Place
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning import ways
from firstlight.repo.aligning.wish import Candidate, Obstacle, Rank, Steps, Wish
from firstlight.repo.kustomize.kustomization import Kustomization

Found = Iterator[Candidate | Obstacle]
Make = Callable[[Steps, Any, int, str], Found]
"""The edits that set a field: its steps, its value, how good that is, and what it is called."""


@dataclasses.dataclass(frozen=True)
class Holder:
    """Fields of a kustomization, wherever they stand."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    make: Make = dataclasses.field(repr=False)
    directory: str = ""
    """Where the files are that it names; empty where it names none."""
    says: str = ""
    rank: int = Rank.PATCH
    """Of a patch that is added to it."""
    has_images: bool = True
    """Whether it takes images as kustomizations do."""

    def entries(self, field: str) -> list[Any]:
        """A field that is a list."""
        return list(within.sequence(self.value, field))


def of_file(found: Kustomization) -> Holder | None:
    """A kustomization file; None for one that Flux makes up."""
    document = found.document
    if document is None or not found.file:
        return None

    def make(steps: Steps, value: Any, rank: int, says: str) -> Found:
        verb = EditVerb.REMOVE if value is ABSENT else EditVerb.SET
        edit = Edit(
            path=found.file, verb=verb, steps=steps, document=document.index, value=None if value is ABSENT else value
        )
        place = document.place(*steps)
        yield Candidate(rank=rank, place=Place(place.path, place.line), says=says, edits=(edit,))

    return Holder(found.value, make, found.directory, found.file)


def of_object(
    definition: Mapping[str, Any], steps: Steps, search: Callable[[Wish], Found], *, rank: int = Rank.ENGINE_PATCH
) -> Holder:
    """The fields of an object that an engine reads.

    Args:
        definition: The object.
        steps: The way to the fields.
        search: The edits that bring about that the object has a field.
        rank: How good a new patch there is.
    """
    id = ObjectId.of(definition)

    def make(more: Steps, value: Any, rank: int, says: str) -> Found:
        whole, value = _lifted(definition, (*steps, *more), value)
        wish = Wish(
            object=id, steps=whole, before=ways.at(definition, whole), after=value, path=ways.text(whole, definition)
        )
        for each in search(wish):
            if isinstance(each, Candidate):
                where = each.rank if each.rank >= Rank.PATCH else rank
                each = dataclasses.replace(each, rank=max(rank, where), says=says)
            yield each

    return Holder(within.mapping(definition, *steps), make, "", f"{id.kind} {id.name}", rank)


def _lifted(definition: Mapping[str, Any], steps: Steps, value: Any) -> tuple[Steps, Any]:
    """The first part of a way that is not there, with what is to be in it: patches add nothing to what is missing."""
    for length in range(1, len(steps)):
        if value is not ABSENT and ways.at(definition, steps[:length]) is ABSENT:
            return steps[:length], ways.put(ABSENT, steps[length:], value)
    return steps, value


def of_engine(origin: Origin, search: Callable[[Wish], Found]) -> Holder | None:
    """What the Kustomization or Application adds to what it applies."""
    if origin.form is Form.KUSTOMIZATION and within.mapping(origin.definition, "spec"):
        return of_object(origin.definition, ("spec",), search)
    # Of several sources nothing tells which one brings the object.
    if origin.form is Form.APPLICATION and within.mapping(origin.definition, "spec", "source") and not origin.maker:
        found = of_object(origin.definition, ("spec", "source", "kustomize"), search)
        return dataclasses.replace(found, has_images=False)
    return None
