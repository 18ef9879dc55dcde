"""Objects that came or went as wholes: a new file beside its component, or a document less."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import reading, writing
from firstlight.model.component import Form, Origin
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.place import Place
from firstlight.model.source import Directory
from firstlight.ownership.field_values import is_same
from firstlight.repo.aligning import holders, new_patches, sites, written
from firstlight.repo.aligning.holders import Found
from firstlight.repo.aligning.sites import Repo
from firstlight.repo.aligning.wish import Candidate, Obstacle, Rank, Wish
from firstlight.repo.flux.variables import is_encrypted
from firstlight.repo.kustomize.kustomization import Kustomization
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree, join

_SEPARATOR = re.compile(r"^---(?:[ \t].*)?\r?\n?", re.MULTILINE)
_FORMS = (Form.KUSTOMIZATION, Form.APPLICATION)


def new(repo: Repo, wish: Wish, *, component: str = "") -> Found:
    """A file for an object that Git does not have, beside what has objects of its namespace.

    Args:
        repo: The repo and the cluster.
        wish: The object.
        component: The one that it belongs to, where that is known.
    """
    for name, origin, directory in _homes(repo, wish):
        if component and name != component:
            continue
        here = sites.of(origin, repo.tree)
        top = next((each for each in here.kustomizations if each.directory == repo.tree.real(directory.path)), None)
        path = _free(repo.tree, directory.path, wish)
        text = writing.dump(_ordered(wish.after))
        edits: tuple[Edit, ...] = ()
        line = Place(directory.path)
        if top is not None and top.document is not None:
            steps = ("resources", len(top.entries("resources")))
            value = posixpath.basename(path)
            edits = (Edit(path=top.file, verb=EditVerb.SET, steps=steps, value=value, document=top.document.index),)
            line = Place(top.file, top.document.place("resources").line)
        says = f"a new file of {name}, {path}"
        yield Candidate(rank=Rank.ADDED, place=line, says=says, edits=edits, files={path: text}, means=name)


def _homes(repo: Repo, wish: Wish) -> Iterator[tuple[str, Origin, Directory]]:
    """Components with a directory of their own that have objects of the same namespace."""
    for component in repo.platform.components_of(repo.cluster):
        for origin in component.origins:
            if origin.form not in _FORMS or not isinstance(origin.source, Directory) or not origin.stated:
                continue
            namespaces = {each.id.namespace for each in origin.stated} | {
                each.id.name for each in origin.stated if each.id.kind == "Namespace"
            }
            if wish.object.namespace in namespaces and repo.tree.is_dir(origin.source.path):
                yield component.name, origin, origin.source


def _free(tree: WorkTree, directory: str, wish: Wish) -> str:
    """A name for a file that is not there."""
    kind = wish.object.kind.lower()
    clean = re.sub(r"[^a-z0-9.-]", "-", wish.object.name.lower())
    names = (f"{kind}.yaml", f"{clean}-{kind}.yaml", f"{clean}-{kind}-1.yaml")
    return next((path for each in names if (path := join(directory, each)) and not tree.is_file(path)), "")


def _ordered(value: Mapping[str, Any]) -> dict[str, Any]:
    first = [name for name in ("apiVersion", "kind", "metadata") if name in value]
    return {name: value[name] for name in (*first, *(each for each in value if each not in first))}


def gone(repo: Repo, wish: Wish, origin: Origin, *, value: Any) -> Found:
    """The repo without an object that is written in manifests.

    Args:
        repo: The repo and the cluster.
        wish: The object.
        origin: Who applies it.
        value: The object as it is applied.
    """
    here = sites.of(origin, repo.tree)
    mine = written.nearest([each for each in here.manifests if sites.is_alike(each, wish.object)], wish.object)
    for manifest in mine:
        yield from _without(repo.tree, manifest, here.kustomizations, wish)
    name = mine[0].id.name if mine else wish.object.name
    for each in reversed(here.kustomizations):
        if each.directory not in repo.shared and (holder := holders.of_file(each)):
            yield from new_patches.candidates(holder, wish, value=value, name=name)


def _without(
    tree: WorkTree, manifest: Manifest, kustomizations: tuple[Kustomization, ...], wish: Wish
) -> Iterator[Candidate | Obstacle]:
    path = manifest.place.path
    if manifest.way is None or manifest.document is None or manifest.steps:
        return
    if is_encrypted(manifest):
        yield Obstacle(manifest.place, f"{path} is encrypted and not edited: remove {wish.object} from it by hand")
        return
    place = Place(path, manifest.place.line)
    rest = [each for each in tree.documents(path) if each.index != manifest.document.index]
    if not rest:
        edits = tuple(_unnamed(tree, path, kustomizations))
        yield Candidate(
            rank=Rank.WRITTEN, place=place, says=f"the file of {wish.object}", edits=edits, files={path: None}
        )
        return
    text = without_document(manifest.document.text, manifest.document.index)
    if text is not None:
        yield Candidate(rank=Rank.WRITTEN, place=place, says=f"the manifest of {wish.object}", files={path: text})


def _unnamed(tree: WorkTree, path: str, kustomizations: tuple[Kustomization, ...]) -> Iterator[Edit]:
    """Every mention of a file in ``resources`` taken away."""
    for each in kustomizations:
        if each.document is None:
            continue
        for number, entry in enumerate(each.entries("resources")):
            named = join(each.directory, entry) if isinstance(entry, str) else None
            if named is not None and tree.is_file(named) and tree.real(named) == path:
                steps = ("resources", number)
                yield Edit(path=each.file, verb=EditVerb.REMOVE, steps=steps, document=each.document.index)


def without_document(text: str, index: int) -> str | None:
    """A file without one of its documents; None where that cannot be done without touching another."""
    before = [each.value for each in reading.read_text(text, "").documents if each.index != index]
    starts = [0, *(each.start() for each in _SEPARATOR.finditer(text) if each.start())]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    for number in range(len(pieces)):
        left = pieces[:number] + pieces[number + 1 :]
        made = "".join(left)
        if number == 0 and not text.startswith("---"):
            made = _SEPARATOR.sub("", made, count=1)
        after = [each.value for each in reading.read_text(made, "").documents]
        if is_same(before, after) and len(reading.read_text(pieces[number], "").documents) == 1:
            return made
    return None
