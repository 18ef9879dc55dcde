"""What changes objects on their way: kustomization files, and objects of engines that have the same fields."""

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import within, yaml_editor
from firstlight.model.component import ObjectId, Origin, SourceForm
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.place import Place
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.field_edits import field_steps
from firstlight.repo.field_edits.edit_candidates import EditCandidate, EditRank, FoundEdits, Steps, WantedField
from firstlight.repo.kustomize.kustomization_file import Kustomization
from firstlight.repo.work_tree import WorkTree, join

MakeEdits = Callable[[Steps, Any, int, str], FoundEdits]
"""The edits that set a field: its steps, its value, how good that is, and what it is called."""


@dataclasses.dataclass(frozen=True)
class PatchHolder:
    """Fields of a kustomization, wherever they stand."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    make: MakeEdits = dataclasses.field(repr=False)
    directory: str = ""
    """Where the files are that it names; empty where it names none."""
    says: str = ""
    rank: int = EditRank.PATCH
    """Of a patch that is added to it."""
    has_images: bool = True
    """Whether it takes images as kustomizations do."""

    def entries(self, field: str) -> list[Any]:
        """A field that is a list."""
        return list(within.sequence(self.value, field))


def holder_of_file(found: Kustomization) -> PatchHolder | None:
    """A kustomization file; None for one that Flux makes up."""
    document = found.document
    if document is None or not found.file:
        return None

    def make(steps: Steps, value: Any, rank: int, says: str) -> FoundEdits:
        verb = EditVerb.REMOVE if value is ABSENT else EditVerb.SET
        edit = FileEdit(
            path=found.file, verb=verb, steps=steps, document=document.index, value=None if value is ABSENT else value
        )
        place = document.place(*steps)
        yield EditCandidate(rank=rank, place=Place(place.path, place.line), says=says, edits=(edit,))

    return PatchHolder(found.value, make, found.directory, found.file)


def holder_of_object(
    definition: Mapping[str, Any],
    steps: Steps,
    search: Callable[[WantedField], FoundEdits],
    *,
    rank: int = EditRank.ENGINE_PATCH,
) -> PatchHolder:
    """The fields of an object that an engine reads.

    Args:
        definition: The object.
        steps: The way to the fields.
        search: The edits that bring about that the object has a field.
        rank: How good a new patch there is.
    """
    id = ObjectId.of(definition)

    def make(more: Steps, value: Any, rank: int, says: str) -> FoundEdits:
        whole, value = _lifted(definition, (*steps, *more), value)
        wish = WantedField(
            object=id,
            steps=whole,
            before=field_steps.value_at(definition, whole),
            after=value,
            path=field_steps.steps_text(whole, definition),
        )
        for each in search(wish):
            if isinstance(each, EditCandidate):
                where = each.rank if each.rank >= EditRank.PATCH else rank
                each = dataclasses.replace(each, rank=max(rank, where), says=says)
            yield each

    return PatchHolder(within.mapping(definition, *steps), make, "", f"{id.kind} {id.name}", rank)


def _lifted(definition: Mapping[str, Any], steps: Steps, value: Any) -> tuple[Steps, Any]:
    """The first part of a way that is not there, with what is to be in it: patches add nothing to what is missing."""
    for length in range(1, len(steps)):
        if value is not ABSENT and field_steps.value_at(definition, steps[:length]) is ABSENT:
            return steps[:length], field_steps.with_value(ABSENT, steps[length:], value)
    return steps, value


def holder_of_engine(origin: Origin, search: Callable[[WantedField], FoundEdits]) -> PatchHolder | None:
    """What the Kustomization or Application adds to what it applies."""
    if origin.form is SourceForm.KUSTOMIZATION and within.mapping(origin.definition, "spec"):
        return holder_of_object(origin.definition, ("spec",), search)
    # Of several sources nothing tells which one brings the object.
    if (
        origin.form is SourceForm.APPLICATION
        and within.mapping(origin.definition, "spec", "source")
        and not origin.maker
    ):
        found = holder_of_object(origin.definition, ("spec", "source", "kustomize"), search)
        return dataclasses.replace(found, has_images=False)
    return None


# Edits of ``images`` and ``replicas``, where a kustomization sets a field with them.


_IMAGE = re.compile(r"^(?P<name>[^@]*?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?$")


def transformer_candidates(holder: PatchHolder, wish: WantedField, *, names: Collection[str]) -> FoundEdits:
    """Edits of what a kustomization has of both.

    Args:
        holder: The kustomization.
        wish: The field.
        names: What the object is called, and was called before.
    """
    if wish.steps[-1:] == ("image",) and isinstance(wish.before, str) and isinstance(wish.after, str):
        for number, entry in enumerate(holder.entries("images")):
            for steps, value in _image(entry, wish.before, wish.after):
                yield from holder.make(("images", number, *steps), value, EditRank.WRITTEN, f"images in {holder.says}")
    if wish.steps[-1:] == ("replicas",):
        for number, entry in enumerate(holder.entries("replicas")):
            if within.text(entry, "name") in names:
                yield from holder.make(
                    ("replicas", number, "count"), wish.after, EditRank.WRITTEN, f"replicas in {holder.says}"
                )


def _image(entry: Any, before: str, after: str) -> Iterator[tuple[Steps, Any]]:
    """What of an entry makes another image; one field, or none where it takes more."""
    old, new = parsed_image(before), parsed_image(after)
    if isinstance(entry, str):
        # As Argo CD has them: name=other:tag.
        if entry == before or entry.endswith(f"={before}"):
            yield (), f"{entry.removesuffix(before)}{after}"
        return
    name = within.text(entry, "newName") or within.text(entry, "name")
    if name != old["name"]:
        return
    differing = [each for each in ("name", "tag", "digest") if old[each] != new[each]]
    if len(differing) != 1:
        return
    field = {"name": "newName", "tag": "newTag", "digest": "digest"}[differing[0]]
    value = new[differing[0]]
    if value:
        yield (field,), value
    elif within.at(entry, field) is not None:
        yield (field,), ABSENT


def image_entry(wish: WantedField) -> dict[str, str] | None:
    """A new entry of ``images`` that brings a wish about; None where it is no tag or digest that differs."""
    if wish.steps[-1:] != ("image",) or not isinstance(wish.before, str) or not isinstance(wish.after, str):
        return None
    old, new = parsed_image(wish.before), parsed_image(wish.after)
    if old["name"] != new["name"] or (old["digest"] and not new["digest"]):
        return None
    changed = {"tag": "newTag", "digest": "digest"}
    fields = {changed[each]: new[each] for each in changed if new[each] and old[each] != new[each]}
    return {"name": old["name"], **fields} if fields else None


def parsed_image(image: str) -> dict[str, str]:
    """The name, tag and digest of an image; empty where it has none."""
    found = _IMAGE.match(image)
    return {name: (found[name] if found else "") or "" for name in ("name", "tag", "digest")}


# Edits of what a configMapGenerator makes a ConfigMap from: its literals and its files.


_FIELD = "configMapGenerator"


def generator_candidates(tree: WorkTree, holder: PatchHolder, wish: WantedField) -> FoundEdits:
    """Edits for a key of a ConfigMap that a generator makes."""
    if (wish.object.group, wish.object.kind) != ("", "ConfigMap") or wish.steps[:1] != ("data",):
        return
    if len(wish.steps) != 2 or not isinstance(wish.after, str):
        return
    key = str(wish.steps[1])
    for number, entry in enumerate(holder.entries(_FIELD)):
        if not is_generated(wish.object, within.text(entry, "name")):
            continue
        for at, literal in enumerate(within.sequence(entry, "literals")):
            if isinstance(literal, str) and literal.partition("=")[0] == key:
                steps: Steps = (_FIELD, number, "literals", at)
                yield from holder.make(steps, f"{key}={wish.after}", EditRank.WRITTEN, f"a literal in {holder.says}")
        path = generator_file(tree, holder, entry, key)
        if path:
            yield EditCandidate(
                rank=EditRank.WRITTEN, place=Place(path, 1), says=f"the file of {wish.object}", files={path: wish.after}
            )


def value_in_file(
    tree: WorkTree, holder: PatchHolder, id: ObjectId, key: str, path: Steps, value: Any
) -> EditCandidate | None:
    """The edit of a value in a YAML file that a generator puts into a ConfigMap as a whole."""
    for entry in holder.entries(_FIELD):
        file = generator_file(tree, holder, entry, key) if is_generated(id, within.text(entry, "name")) else ""
        data = tree.bytes(file) if file else None
        if data is None:
            continue
        try:
            text = data.decode()
            made = (
                yaml_editor.remove(text, path)
                if value is ABSENT
                else yaml_editor.set_value(text, path, value, path=file)
            )
        except (errors.ConfigError, UnicodeDecodeError):
            continue
        documents = tree.documents(file)
        line = documents[0].place(*path).line if documents else 1
        return EditCandidate(rank=EditRank.WRITTEN, place=Place(file, line), says="a values file", files={file: made})
    return None


def generator_file(tree: WorkTree, holder: PatchHolder, entry: Any, key: str) -> str:
    """The file that becomes a key of a ConfigMap; empty if none does."""
    for written in within.sequence(entry, "files"):
        if not isinstance(written, str):
            continue
        name, _, path = written.rpartition("=")
        if (name or path.rpartition("/")[2]) == key and holder.directory:
            found = join(holder.directory, path)
            if found and tree.is_file(found):
                return tree.real(found)
    return ""


def is_generated(id: ObjectId, name: str) -> bool:
    """Whether a ConfigMap may be the one that a generator calls so: its name may end with a hash."""
    return bool(name) and (id.name == name or id.name.rpartition("-")[0] == name or id.name.endswith(name))
