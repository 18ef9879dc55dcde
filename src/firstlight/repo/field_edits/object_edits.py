"""Objects that came or went as wholes: a new file beside its component, or a document less."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader, yaml_writer
from firstlight.engines import adapters
from firstlight.model.component import Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource
from firstlight.ownership.field_values import is_same
from firstlight.repo.field_edits import component_sites, kustomization_edits, manifest_edits, patch_edits
from firstlight.repo.field_edits.component_sites import ClusterRepo
from firstlight.repo.field_edits.edit_candidates import EditCandidate, EditRank, FoundEdits, WantedField
from firstlight.repo.flux.post_build import is_encrypted
from firstlight.repo.kustomize.kustomization_file import Kustomization
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree, join

_SEPARATOR = re.compile(r"^---(?:[ \t].*)?\r?\n?", re.MULTILINE)
_FORMS = tuple(SourceForm(each) for each in adapters.SPLITTABLE)


def new_object(repo: ClusterRepo, wish: WantedField, *, component: str = "") -> FoundEdits:
    """A file for an object that Git does not have, beside what has objects of its namespace.

    Args:
        repo: The repo and the cluster.
        wish: The object.
        component: The one that it belongs to, where that is known.
    """
    for name, origin, directory in _homes(repo, wish):
        if component and name != component:
            continue
        here = component_sites.sites_of(origin, repo.tree)
        top = next((each for each in here.kustomizations if each.directory == repo.tree.real(directory.path)), None)
        path = _free(repo.tree, directory.path, wish)
        text = yaml_writer.dump(_ordered(wish.after))
        edits: tuple[FileEdit, ...] = ()
        line = Place(directory.path)
        if top is not None and top.document is not None:
            steps = ("resources", len(top.entries("resources")))
            value = posixpath.basename(path)
            edits = (FileEdit(path=top.file, verb=EditVerb.SET, steps=steps, value=value, document=top.document.index),)
            line = Place(top.file, top.document.place("resources").line)
        says = f"a new file of {name}, {path}"
        yield EditCandidate(rank=EditRank.ADDED, place=line, says=says, edits=edits, files={path: text}, means=name)


def _homes(repo: ClusterRepo, wish: WantedField) -> Iterator[tuple[str, Origin, DirectorySource]]:
    """Components with a directory of their own that have objects of the same namespace."""
    for component in repo.platform.components_of(repo.cluster):
        for origin in component.origins:
            if origin.form not in _FORMS or not isinstance(origin.source, DirectorySource) or not origin.stated:
                continue
            namespaces = {each.id.namespace for each in origin.stated} | {
                each.id.name for each in origin.stated if each.id.kind == "Namespace"
            }
            if wish.object.namespace in namespaces and repo.tree.is_dir(origin.source.path):
                yield component.name, origin, origin.source


def _free(tree: WorkTree, directory: str, wish: WantedField) -> str:
    """A name for a file that is not there."""
    kind = wish.object.kind.lower()
    clean = re.sub(r"[^a-z0-9.-]", "-", wish.object.name.lower())
    names = (f"{kind}.yaml", f"{clean}-{kind}.yaml", f"{clean}-{kind}-1.yaml")
    return next((path for each in names if (path := join(directory, each)) and not tree.is_file(path)), "")


def _ordered(value: Mapping[str, Any]) -> dict[str, Any]:
    first = [name for name in ("apiVersion", "kind", "metadata") if name in value]
    return {name: value[name] for name in (*first, *(each for each in value if each not in first))}


def gone_object(repo: ClusterRepo, wish: WantedField, origin: Origin, *, value: Any) -> FoundEdits:
    """The repo without an object that is written in manifests.

    Args:
        repo: The repo and the cluster.
        wish: The object.
        origin: Who applies it.
        value: The object as it is applied.
    """
    here = component_sites.sites_of(origin, repo.tree)
    mine = manifest_edits.nearest(
        [each for each in here.manifests if component_sites.is_alike(each, wish.object)], wish.object
    )
    for manifest in mine:
        yield from _without(repo.tree, manifest, here.kustomizations, wish)
    name = mine[0].id.name if mine else wish.object.name
    for each in reversed(here.kustomizations):
        if each.directory not in repo.shared and (holder := kustomization_edits.holder_of_file(each)):
            yield from patch_edits.new_patch_candidates(holder, wish, value=value, name=name)


def _without(
    tree: WorkTree, manifest: Manifest, kustomizations: tuple[Kustomization, ...], wish: WantedField
) -> FoundEdits:
    path = manifest.place.path
    if manifest.way is None or manifest.document is None or manifest.steps:
        return
    if is_encrypted(manifest):
        message = f"{path} is encrypted and not edited: remove {wish.object} from it by hand"
        yield Diagnostic.warning("edit-file-encrypted", message, at=manifest.place)
        return
    place = Place(path, manifest.place.line)
    rest = [each for each in tree.documents(path) if each.index != manifest.document.index]
    if not rest:
        edits = tuple(_unnamed(tree, path, kustomizations))
        yield EditCandidate(
            rank=EditRank.WRITTEN, place=place, says=f"the file of {wish.object}", edits=edits, files={path: None}
        )
        return
    text = without_document(manifest.document.text, manifest.document.index)
    if text is not None:
        yield EditCandidate(
            rank=EditRank.WRITTEN, place=place, says=f"the manifest of {wish.object}", files={path: text}
        )


def _unnamed(tree: WorkTree, path: str, kustomizations: tuple[Kustomization, ...]) -> Iterator[FileEdit]:
    """Every mention of a file in ``resources`` taken away."""
    for each in kustomizations:
        if each.document is None:
            continue
        for number, entry in enumerate(each.entries("resources")):
            named = join(each.directory, entry) if isinstance(entry, str) else None
            if named is not None and tree.is_file(named) and tree.real(named) == path:
                steps = ("resources", number)
                yield FileEdit(path=each.file, verb=EditVerb.REMOVE, steps=steps, document=each.document.index)


def without_document(text: str, index: int) -> str | None:
    """A file without one of its documents; None where that cannot be done without touching another."""
    before = [each.value for each in yaml_reader.read_text(text, "").documents if each.index != index]
    starts = [0, *(each.start() for each in _SEPARATOR.finditer(text) if each.start())]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    for number in range(len(pieces)):
        left = pieces[:number] + pieces[number + 1 :]
        made = "".join(left)
        if number == 0 and not text.startswith("---"):
            made = _SEPARATOR.sub("", made, count=1)
        after = [each.value for each in yaml_reader.read_text(made, "").documents]
        if is_same(before, after) and len(yaml_reader.read_text(pieces[number], "").documents) == 1:
            return made
    return None
