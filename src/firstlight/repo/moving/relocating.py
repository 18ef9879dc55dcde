"""Objects passed from one Kustomization of Flux to another: an entry of a kustomization less, and one more."""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import mistakes
from firstlight.document.within import sequence
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.finding import Edit, EditVerb
from firstlight.model.move import Instruction, Proposal, Relocation
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import Directory
from firstlight.repo.kustomize import kustomization
from firstlight.repo.work_tree import WorkTree, join

Holder = tuple[Component, Origin, Directory]


def propose(platform: Platform, tree: WorkTree, wish: Relocation) -> Proposal:
    """Which entries change.

    Args:
        platform: What the repo says.
        tree: Its files.
        wish: What goes where.

    Raises:
        errors.UsageError: There is no such component, file, or owner.
        errors.Refused: It is there already, or the old owner would be left with nothing.
    """
    parts = [_one(platform, tree, wish, each) for each in _targets(platform, wish)]
    return Proposal(
        edits=tuple({repr(edit): edit for part in parts for edit in part.edits}.values()),
        by_hand=tuple(dict.fromkeys(each for part in parts for each in part.by_hand)),
    )


def holders(platform: Platform, cluster: str) -> Iterator[Holder]:
    """What of a cluster's engine applies directories of this repo."""
    for component in platform.components_of(cluster):
        for origin in component.origins:
            if (
                origin.side == Side.GITOPS
                and origin.form == Form.KUSTOMIZATION
                and isinstance(origin.source, Directory)
            ):
                yield component, origin, origin.source


def _targets(platform: Platform, wish: Relocation) -> list[Holder]:
    every = [
        each
        for cluster in platform.clusters
        if wish.cluster in ("", cluster.name)
        for each in holders(platform, cluster.name)
    ]
    found = [each for each in every if wish.into in (each[0].name, each[1].name)]
    if not found:
        names = sorted({each[1].name for each in every})
        raise errors.UsageError(
            f"there is no Kustomization {wish.into} of a directory of this repo",
            hint=mistakes.near(wish.into, names) or f"There is {', '.join(names)}.",
        )
    return found


def _one(platform: Platform, tree: WorkTree, wish: Relocation, target: Holder) -> Proposal:
    """In one cluster."""
    _, origin, directory = target
    path = _path(platform, tree, wish, origin.cluster)
    source = _lister(platform, tree, path, origin)
    own = kustomization.file_of(tree, directory.path)
    if source is None or not own:
        text = (
            f"Write what declares {wish.what} in a file of {directory.path} instead; "
            "then firstlight change start carries it through."
        )
        return Proposal(by_hand=(Instruction(place=Place(path), text=text),))
    holder, file, number, listed = source
    entry = str(listed[number])
    if len(listed) == 1:
        raise errors.Refused(
            f"{path} is all that {holder.form} {holder.name} has, which would be left with nothing",
            hint=f"Take {holder.name} away by hand in the same commit: firstlight change start guards what it has.",
        )
    path = join(posixpath.dirname(file), entry) or path
    named = posixpath.relpath(path, directory.path)
    moved: tuple[Edit, ...] = ()
    if tree.is_file(path) and named.startswith("../"):
        # Kustomize builds no file from outside of the directory that it is in; a directory it does.
        named = posixpath.basename(path)
        moved = file_edits(tree, path, posixpath.join(directory.path, named))
    return Proposal(
        edits=(
            *moved,
            Edit(path=file, verb=EditVerb.REMOVE, steps=("resources", number)),
            Edit(path=own, verb=EditVerb.APPEND, steps=("resources",), value=named),
        )
    )


def file_edits(tree: WorkTree, path: str, target: str) -> tuple[Edit, Edit]:
    """A file that stands elsewhere, as ``git mv`` does it; one that is there already is not written over.

    Raises:
        errors.Refused: It is no text.
    """
    try:
        content = (tree.bytes(path) or b"").decode()
    except UnicodeDecodeError as error:
        raise errors.Refused(f"{path} is no UTF-8, and is not moved") from error
    return Edit(path=path, verb=EditVerb.DELETE), Edit(path=target, verb=EditVerb.WRITE, value=content)


def _path(platform: Platform, tree: WorkTree, wish: Relocation, cluster: str) -> str:
    """The file or directory that is meant: itself, or that of the object that declares a component."""
    clean = wish.what.strip("/").removeprefix("./")
    if tree.is_file(clean) or tree.is_dir(clean):
        return clean
    found = next((each for each in platform.components_of(cluster) if each.name == wish.what), None)
    declared = next((each for each in found.origins if each.side == Side.GITOPS), None) if found else None
    if declared is None:
        names = [each.name for each in platform.components_of(cluster)]
        raise errors.UsageError(
            f"there is no component and no file {wish.what}", hint=mistakes.near(wish.what, names)
        )  # fmt: skip
    return declared.place.path


def _lister(
    platform: Platform, tree: WorkTree, path: str, target: Origin
) -> tuple[Origin, str, int, tuple[Any, ...]] | None:
    """Who applies it now, and the entry that names it, or the directory that it is in."""
    for _, origin, directory in holders(platform, target.cluster):
        file = kustomization.file_of(tree, directory.path)
        documents = tree.documents(file) if file else ()
        if not documents or not isinstance(documents[0].value, Mapping):
            continue
        listed = tuple(sequence(documents[0].value, "resources"))
        for number, entry in enumerate(listed):
            named = join(directory.path, entry) if isinstance(entry, str) else None
            if named is None or not (path == named or path.startswith(f"{named}/")):
                continue
            if origin.id == target.id:
                raise errors.Refused(f"{target.form} {target.name} has {path} already")
            return origin, file, number, listed
    return None
