"""Edits of patches that set a field: strategic merges and JSON patches, in files and in kustomizations themselves."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import reading, splicing, within
from firstlight.document.reading import Document
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.place import Place
from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning import ways
from firstlight.repo.aligning.holders import Found, Holder
from firstlight.repo.aligning.wish import Candidate, Rank, Steps, Wish
from firstlight.repo.kustomize import objects
from firstlight.repo.work_tree import WorkTree, join

_FIELDS = ("patches", "patchesStrategicMerge", "patchesJson6902")


def candidates(tree: WorkTree, holder: Holder, wish: Wish, *, value: Any, names: Collection[str]) -> Found:
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
    holder: Holder, steps: Steps, text: str, wish: Wish, *, value: Any, names: Collection[str], target: Any
) -> Found:
    for document in reading.read_text(text, "", dialect=objects.DIALECT).documents:
        for at, new, is_there in _spots(document, wish, value=value, names=names, target=target):
            try:
                made = (
                    splicing.remove(text, at, document=document.index)
                    if new is ABSENT
                    else splicing.set_value(text, at, new, document=document.index)
                )
            except errors.ConfigError:
                continue
            rank = Rank.WRITTEN if is_there else Rank.PATCH
            yield from holder.make(steps, made, rank, f"the patch of {wish.object} in {holder.says}")


def _in_file(tree: WorkTree, path: str, wish: Wish, *, value: Any, names: Collection[str], target: Any) -> Found:
    for document in tree.documents(path, dialect=objects.DIALECT):
        for at, new, is_there in _spots(document, wish, value=value, names=names, target=target):
            verb = EditVerb.REMOVE if new is ABSENT else EditVerb.SET
            edit = Edit(path=path, verb=verb, steps=at, document=document.index, value=None if new is ABSENT else new)
            place = document.place(*at)
            rank = Rank.WRITTEN if is_there else Rank.PATCH
            yield Candidate(
                rank=rank, place=Place(path, place.line), says=f"the patch of {wish.object}", edits=(edit,)
            )  # fmt: skip


def _spots(
    document: Document, wish: Wish, *, value: Any, names: Collection[str], target: Any
) -> Iterator[tuple[Steps, Any, bool]]:
    """Where in a patch a field is set: the way, what is to stand there, and whether something does already."""
    patch = document.value
    if isinstance(patch, list):
        if _is_selected(target, wish, names):
            yield from _operations(patch, wish, value=value)
        return
    if not isinstance(patch, Mapping) or not (_is_for(patch, wish, names) or _is_selected(target, wish, names)):
        return
    there, lacking = ways.found_in(patch, wish.steps, of=value)
    if not lacking:
        yield there, wish.after, True
    elif wish.after is not ABSENT and not any(isinstance(each, int) for each in lacking) and not _is_deleting(patch):
        yield (*there, *lacking), wish.after, False


def _is_deleting(patch: Mapping[str, Any]) -> bool:
    return patch.get("$patch") in ("delete", "replace")


def _operations(patch: list[Any], wish: Wish, *, value: Any) -> Iterator[tuple[Steps, Any, bool]]:
    pointer = "".join(f"/{str(each).replace('~', '~0').replace('/', '~1')}" for each in wish.steps)
    for number, operation in enumerate(patch):
        path = within.text(operation, "path")
        if within.text(operation, "op") not in ("add", "replace") or wish.after is ABSENT or not path:
            continue
        if path == pointer:
            yield (number, "value"), wish.after, True
        elif pointer.startswith(f"{path}/"):
            rest = wish.steps[path.count("/") :]
            there, lacking = ways.found_in(
                within.at(operation, "value"), rest, of=ways.at(value, wish.steps[: -len(rest)])
            )
            if not lacking:
                yield (number, "value", *there), wish.after, True


def _is_for(patch: Mapping[str, Any], wish: Wish, names: Collection[str]) -> bool:
    return patch.get("kind") == wish.object.kind and within.text(patch, "metadata", "name") in names


def _is_selected(target: Any, wish: Wish, names: Collection[str]) -> bool:
    if not isinstance(target, Mapping):
        return False
    kind, name = within.text(target, "kind"), within.text(target, "name")
    return _fits(kind, [wish.object.kind]) and _fits(name, names)


def _fits(pattern: str, texts: Collection[str]) -> bool:
    try:
        return not pattern or any(re.fullmatch(pattern, each) for each in texts)
    except re.error:
        return False
