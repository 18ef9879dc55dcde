"""Edits where an object is written: its manifest, the patches and transformers of kustomizations, its variables.

An object that came as a whole gets a new file beside its component; one that went is taken out of its file.
"""

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader, yaml_writer
from firstlight.engines import adapters
from firstlight.model.component import ObjectId, Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource
from firstlight.ownership.field_values import ABSENT, is_same
from firstlight.repo.field_edits import component_sites, derived_values, field_steps, kustomization_edits, patch_edits
from firstlight.repo.field_edits.component_sites import ClusterRepo
from firstlight.repo.field_edits.edit_candidates import EditCandidate, EditRank, FoundEdits, Steps, WantedField
from firstlight.repo.field_edits.kustomization_edits import PatchHolder
from firstlight.repo.flux.post_build import is_encrypted
from firstlight.repo.kustomize.kustomization_file import Kustomization
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree, join

_DEEPEST = 3
"""A Kustomization that is patched by the one that applies it, which is patched …"""


def manifest_candidates(repo: ClusterRepo, wish: WantedField, *, depth: int = 0) -> FoundEdits:
    """What may be edited so that an object that is written in manifests has a field, the best first.

    Args:
        repo: The repo and the cluster.
        wish: The field; ``before`` is what the object has there as it is applied.
        depth: How many objects that declare others have led here.
    """
    known = repo.stating(wish.object)
    if known is not None:
        origin, value = known
        yield from of_origin(repo, wish, origin, value=value, depth=depth)
        return
    # Nothing of the repo applies a root: it is as it stands in its file.
    for origin in repo.origins():
        if ObjectId.of(origin.definition) != wish.object:
            continue
        if manifest := repo.declaring(origin):
            yield from _in_manifest(repo, manifest, wish, origin=None, value=manifest.value, depth=depth)
        elif origin.maker and depth < _DEEPEST:
            yield from _in_template(repo, wish, origin, depth=depth)
        return


def _in_template(repo: ClusterRepo, wish: WantedField, origin: Origin, *, depth: int) -> FoundEdits:
    """The template of the ApplicationSet that makes an Application; whatever else it makes must stay as it is."""
    id, steps = ObjectId.of(origin.maker), ("spec", "template", *wish.steps)
    before = field_steps.value_at(origin.maker, steps)
    more = WantedField(
        object=id, steps=steps, before=before, after=wish.after, path=field_steps.steps_text(steps, origin.maker)
    )
    yield from manifest_candidates(repo, more, depth=depth + 1)
    way = "give its generator a value for it, or make the Application by itself"
    message = f"{wish.object} is made by {id}, and written nowhere: {way}"
    yield Diagnostic.warning("edit-object-generated", message, at=origin.place)


def of_origin(repo: ClusterRepo, wish: WantedField, origin: Origin, *, value: Any, depth: int = 0) -> FoundEdits:
    """The same, where it is known who applies the object.

    Args:
        repo: The repo and the cluster.
        wish: The field.
        origin: Who applies it.
        value: The object as it is applied.
        depth: How many objects that declare others have led here.
    """
    here = component_sites.sites_of(origin, repo.tree)
    mine = nearest([each for each in here.manifests if component_sites.is_alike(each, wish.object)], wish.object)
    names = {each.id.name for each in mine} | {wish.object.name}
    if locked := [each for each in mine if is_encrypted(each)]:
        # A patch would not do either: sops would find that the object is not what was encrypted.
        path = locked[0].place.path
        message = f"{path} is encrypted and not edited: set {wish.path} with sops {path}"
        yield Diagnostic.warning("edit-file-encrypted", message, at=locked[0].place)
        return
    found: list[EditCandidate | Diagnostic] = []
    for manifest in mine:
        found += _in_manifest(repo, manifest, wish, origin=origin, value=value, depth=depth)
    files = [holder for each in here.kustomizations if (holder := kustomization_edits.holder_of_file(each))]
    for holder in [*files, *_engine(repo, origin, depth)]:
        found += patch_edits.patch_candidates(repo.tree, holder, wish, value=value, names=names)
        found += kustomization_edits.transformer_candidates(holder, wish, names=names)
        found += kustomization_edits.generator_candidates(repo.tree, holder, wish)
    name = mine[0].id.name if mine else wish.object.name
    own = [each for each in reversed(files) if each.directory not in repo.shared]
    for holder in [*own, *_engine(repo, origin, depth)]:
        found += patch_edits.new_patch_candidates(holder, wish, value=value, name=name)
    yield from sorted(found, key=lambda each: each.rank if isinstance(each, EditCandidate) else -1)


def _engine(repo: ClusterRepo, origin: Origin, depth: int) -> Iterator[PatchHolder]:
    if depth < _DEEPEST:
        found = kustomization_edits.holder_of_engine(
            origin, functools.partial(manifest_candidates, repo, depth=depth + 1)
        )
        if found is not None:
            yield found


def nearest(found: list[Manifest], id: ObjectId) -> list[Manifest]:
    """Those of exactly this name where there are any: others only have a part of it."""
    same = [each for each in found if each.id.name == id.name]
    exact = [each for each in same if each.id.namespace in ("", id.namespace)]
    return exact or same or found


def _in_manifest(
    repo: ClusterRepo, manifest: Manifest, wish: WantedField, *, origin: Origin | None, value: Any, depth: int
) -> FoundEdits:
    if manifest.way is None:
        return
    there, lacking = field_steps.found_in(manifest.value, wish.steps, of=value)
    if lacking:
        if wish.after is not ABSENT:
            yield _edit(manifest, (*there, *lacking), wish.after, EditRank.ADDED, f"the manifest of {wish.object}")
        return
    now = field_steps.value_at(manifest.value, there)
    if isinstance(now, str) and derived_values.has_variables(now) and origin is not None:
        yield from _with_variable(repo, manifest, wish, there, now=now, origin=origin, depth=depth)
    else:
        yield _edit(manifest, there, wish.after, EditRank.WRITTEN, f"the manifest of {wish.object}")


def _with_variable(
    repo: ClusterRepo, manifest: Manifest, wish: WantedField, there: Steps, *, now: str, origin: Origin, depth: int
) -> FoundEdits:
    for text in derived_values.literal_parts(now, wish.before, wish.after):
        yield _edit(manifest, there, text, EditRank.WRITTEN, f"the manifest of {wish.object}")
    if depth < _DEEPEST:
        for more in derived_values.wanted_variables(repo, origin, now, wish):
            for each in manifest_candidates(repo, more, depth=depth + 1):
                yield derived_values.as_variable(each, more)
    says = f"the manifest of {wish.object}, in place of {now}"
    yield derived_values.as_literal(_edit(manifest, there, wish.after, EditRank.LITERAL, says))


def _edit(manifest: Manifest, steps: Steps, value: Any, rank: EditRank, says: str) -> EditCandidate:
    assert manifest.way is not None
    document, above = manifest.way
    verb = EditVerb.REMOVE if value is ABSENT else EditVerb.SET
    new = None if value is ABSENT else value
    edit = FileEdit(path=manifest.place.path, verb=verb, steps=(*above, *steps), document=document, value=new)
    found = manifest.at(*steps)
    return EditCandidate(rank=rank, place=Place(found.path, found.line), says=says, edits=(edit,))


# Objects that came or went as wholes: a new file beside its component, or a document less.


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
    mine = nearest([each for each in here.manifests if component_sites.is_alike(each, wish.object)], wish.object)
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
