"""A new patch, where a field cannot be edited for one cluster alone, or nothing of the repo sets it."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import go_regex, within, yaml_editor, yaml_reader, yaml_writer
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.place import Place
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.field_edits import field_steps, kustomization_edits
from firstlight.repo.field_edits.edit_candidates import EditCandidate, EditRank, FoundEdits, Steps, WantedField
from firstlight.repo.field_edits.kustomization_edits import PatchHolder
from firstlight.repo.kustomize import object_loader
from firstlight.repo.work_tree import WorkTree, join

_MERGED = {
    "containers": "name", "initContainers": "name", "ephemeralContainers": "name", "env": "name", "volumes": "name",
    "volumeMounts": "mountPath", "imagePullSecrets": "name",
}  # fmt: skip
"""Lists of built-in kinds whose items a strategic merge tells apart by one key."""
_BUILT_IN = ("", "apps", "batch", "autoscaling", "policy", "networking.k8s.io", "rbac.authorization.k8s.io")


def new_patch_candidates(holder: PatchHolder, wish: WantedField, *, value: Any, name: str) -> FoundEdits:
    """One more entry of ``patches``.

    Args:
        holder: The kustomization.
        wish: The field.
        value: The object as it is applied.
        name: What the object is called before anything is added to its name.
    """
    if holder.has_images and (image := kustomization_edits.image_entry(wish)):
        at: Steps = ("images", len(holder.entries("images")))
        yield from holder.make(at, image, holder.rank, f"images in {holder.says}")
    steps: Steps = ("patches", len(holder.entries("patches")))
    for text in patch_texts(wish, value=value, name=name):
        target = {"kind": wish.object.kind, "name": name}
        if wish.object.group not in _BUILT_IN:
            target = {"group": wish.object.group, **target}
        yield from holder.make(steps, {"target": target, "patch": text}, holder.rank, f"a patch in {holder.says}")


def patch_texts(wish: WantedField, *, value: Any, name: str) -> Iterator[str]:
    """Patches that may bring a wish about: a strategic merge, which kustomize may put lists in another order for."""
    if wish.is_gone:
        yield _merge_text(wish, value, {"$patch": "delete"}, name)
        return
    merged = _merged(wish.steps, wish.after, value, is_built_in=wish.object.group in _BUILT_IN)
    if merged is not None:
        yield _merge_text(wish, value, merged, name)
    if merged is None or any(isinstance(each, int) for each in wish.steps):
        yield yaml_writer.dump([_operation(wish)])


def _merge_text(wish: WantedField, value: Any, merged: Mapping[str, Any], name: str) -> str:
    metadata = {"name": name, **merged.get("metadata", {})}
    version = value.get("apiVersion") if isinstance(value, Mapping) else ""
    rest = {key: each for key, each in merged.items() if key not in ("metadata", "apiVersion", "kind")}
    return yaml_writer.dump({"apiVersion": version, "kind": wish.object.kind, "metadata": metadata, **rest})


def _merged(steps: Steps, new: Any, value: Any, *, is_built_in: bool) -> Any:
    """A strategic merge with one field; None where only a JSON patch can say it."""
    if not steps:
        return None if new is ABSENT else new
    step, rest = steps[0], steps[1:]
    inner = field_steps.value_at(value, (step,))
    if isinstance(step, int):
        return None
    following = rest[0] if rest else None
    if isinstance(following, int):
        key = _MERGED.get(step) if is_built_in else None
        item = field_steps.value_at(inner, (following,))
        item = new if item is ABSENT and len(rest) == 1 else item
        if key is None or not isinstance(item, Mapping) or key not in item or (len(rest) == 1 and new is ABSENT):
            return None
        below = _merged(rest[1:], new, item, is_built_in=is_built_in)
        return None if not isinstance(below, Mapping) else {step: [{key: item[key], **below}]}
    if not rest:
        return {step: None if new is ABSENT else new} if not isinstance(new, list) or inner is ABSENT else None
    below = _merged(rest, new, inner, is_built_in=is_built_in)
    return None if below is None else {step: below}


def _operation(wish: WantedField) -> dict[str, Any]:
    pointer = "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in wish.steps)
    if wish.after is ABSENT:
        return {"op": "remove", "path": pointer}
    is_new_item = wish.before is ABSENT and isinstance(wish.steps[-1], int)
    if is_new_item:
        pointer = f"{pointer.rpartition('/')[0]}/-"
    return {"op": "add" if wish.before is ABSENT else "replace", "path": pointer, "value": wish.after}


# Edits of patches that set a field: strategic merges and JSON patches, in files and in kustomizations themselves.


_FIELDS = ("patches", "patchesStrategicMerge", "patchesJson6902")


def patch_candidates(
    tree: WorkTree, holder: PatchHolder, wish: WantedField, *, value: Any, names: Collection[str]
) -> FoundEdits:
    """Edits of the patches that a kustomization has.

    Args:
        tree: The repo.
        holder: The kustomization.
        wish: The field.
        value: The object as it is applied.
        names: What it is called, and was called before.
    """
    for field in _FIELDS:
        for number, entry in enumerate(holder.entries(field)):
            target = within.at(entry, "target")
            inline = entry if isinstance(entry, str) and "\n" in entry else within.at(entry, "patch")
            if isinstance(inline, str) and inline.strip():
                steps: Steps = (field, number) if inline is entry else (field, number, "patch")
                yield from _inline(holder, steps, inline, wish, value=value, names=names, target=target)
                continue
            named = entry if isinstance(entry, str) else within.text(entry, "path")
            path = join(holder.directory, named) if named and holder.directory else None
            if path is not None and tree.is_file(path):
                yield from _in_file(tree, tree.real(path), wish, value=value, names=names, target=target)


def _inline(
    holder: PatchHolder, steps: Steps, text: str, wish: WantedField, *, value: Any, names: Collection[str], target: Any
) -> FoundEdits:
    for document in yaml_reader.read_text(text, "", dialect=object_loader.DIALECT).documents:
        for at, new, is_there in _spots(document, wish, value=value, names=names, target=target):
            try:
                made = (
                    yaml_editor.remove(text, at, document=document.index)
                    if new is ABSENT
                    else yaml_editor.set_value(text, at, new, document=document.index)
                )
            except errors.ConfigError:
                continue
            rank = EditRank.WRITTEN if is_there else EditRank.PATCH
            yield from holder.make(steps, made, rank, f"the patch of {wish.object} in {holder.says}")


def _in_file(
    tree: WorkTree, path: str, wish: WantedField, *, value: Any, names: Collection[str], target: Any
) -> FoundEdits:
    for document in tree.documents(path, dialect=object_loader.DIALECT):
        for at, new, is_there in _spots(document, wish, value=value, names=names, target=target):
            verb = EditVerb.REMOVE if new is ABSENT else EditVerb.SET
            edit = FileEdit(
                path=path, verb=verb, steps=at, document=document.index, value=None if new is ABSENT else new
            )
            place = document.place(*at)
            rank = EditRank.WRITTEN if is_there else EditRank.PATCH
            yield EditCandidate(
                rank=rank, place=Place(path, place.line), says=f"the patch of {wish.object}", edits=(edit,)
            )  # fmt: skip


def _spots(
    document: YamlDocument, wish: WantedField, *, value: Any, names: Collection[str], target: Any
) -> Iterator[tuple[Steps, Any, bool]]:
    """Where in a patch a field is set: the way, what is to stand there, and whether something does already."""
    patch = document.value
    if isinstance(patch, list):
        if _is_selected(target, wish, names):
            yield from _operations(patch, wish, value=value)
        return
    if not isinstance(patch, Mapping) or not (_is_for(patch, wish, names) or _is_selected(target, wish, names)):
        return
    there, lacking = field_steps.found_in(patch, wish.steps, of=value)
    if not lacking:
        yield there, wish.after, True
    elif wish.after is not ABSENT and not any(isinstance(each, int) for each in lacking) and not _is_deleting(patch):
        yield (*there, *lacking), wish.after, False


def _is_deleting(patch: Mapping[str, Any]) -> bool:
    return patch.get("$patch") in ("delete", "replace")


def _operations(patch: list[Any], wish: WantedField, *, value: Any) -> Iterator[tuple[Steps, Any, bool]]:
    pointer = "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in wish.steps)
    for number, operation in enumerate(patch):
        path = within.text(operation, "path")
        if within.text(operation, "op") not in ("add", "replace") or wish.after is ABSENT or not path:
            continue
        if path == pointer:
            yield (number, "value"), wish.after, True
        elif pointer.startswith(f"{path}/"):
            rest = wish.steps[path.count("/") :]
            there, lacking = field_steps.found_in(
                within.at(operation, "value"), rest, of=field_steps.value_at(value, wish.steps[: -len(rest)])
            )
            if not lacking:
                yield (number, "value", *there), wish.after, True


def _is_for(patch: Mapping[str, Any], wish: WantedField, names: Collection[str]) -> bool:
    return patch.get("kind") == wish.object.kind and within.text(patch, "metadata", "name") in names


def _is_selected(target: Any, wish: WantedField, names: Collection[str]) -> bool:
    if not isinstance(target, Mapping):
        return False
    kind, name = within.text(target, "kind"), within.text(target, "name")
    return _fits(kind, [wish.object.kind]) and _fits(name, names)


def _fits(pattern: str, texts: Collection[str]) -> bool:
    try:
        return not pattern or any(go_regex.fullmatch(pattern, each) for each in texts)
    except ValueError:
        return False
