"""Objects passed from one Kustomization of Flux, or Application of Argo CD, to another.

Where kustomizations list what they have, it is an entry less in one and one more in the other. Where an Application
reads a plain directory, files have to be put into another one.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import mistakes
from firstlight.document.within import sequence
from firstlight.engines import adapters
from firstlight.model.component import Component, Origin, Side, SourceForm
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.move import Instruction, MoveProposal, Relocation
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.move_edits import owner_edits
from firstlight.repo.work_tree import YAML, WorkTree, join

Holder = tuple[Component, Origin, DirectorySource]
_FORMS = tuple(SourceForm(each) for each in adapters.SPLITTABLE)
"""What of an engine applies a directory."""
Listed = tuple[Origin, str, int, tuple[Any, ...]]
"""Who has something, the kustomization that lists it, the number of its entry there, and all entries."""


def propose_relocation(platform: Platform, tree: WorkTree, wish: Relocation) -> MoveProposal:
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
    return MoveProposal(
        edits=tuple({repr(edit): edit for part in parts for edit in part.edits}.values()),
        by_hand=tuple(dict.fromkeys(each for part in parts for each in part.by_hand)),
    )


def holders(platform: Platform, cluster: str) -> Iterator[Holder]:
    """What of a cluster's engine applies directories of this repo."""
    for component in platform.components_of(cluster):
        for origin in component.origins:
            if origin.side == Side.GITOPS and origin.form in _FORMS and isinstance(origin.source, DirectorySource):
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
            f"there is no {_word(every)} {wish.into} of a directory of this repo",
            hint=mistakes.near(wish.into, names) or f"There is {', '.join(names) or 'none'}.",
        )
    return found


def _word(holders: list[Holder]) -> str:
    """What the engine's objects are called that have directories; where there are none, both."""
    forms = {each[1].form for each in holders} or set(_FORMS)
    return " or ".join(each for each in _FORMS if each in forms)


def _one(platform: Platform, tree: WorkTree, wish: Relocation, target: Holder) -> MoveProposal:
    """In one cluster."""
    _, origin, directory = target
    path = _path(platform, tree, wish, origin.cluster)
    source = _lister(platform, tree, path, origin)
    for each in (origin, *((source[0],) if source is not None else ())):
        owner_edits.check_application_cluster(each)
    own = kustomization_file.file_of(tree, directory.path)
    edits: list[FileEdit] = []
    if source is None:
        plain = next((each for each in holders(platform, origin.cluster) if _has(tree, each[2], path)), None)
        if plain is None:
            text = f"Write what declares {path} in a file of {directory.path} instead; then firstlight change start."
            return MoveProposal(by_hand=(Instruction(place=Place(path), text=text),))
        _check_plain(tree, path, plain, origin)
    else:
        holder, file, number, listed = source
        if len(listed) == 1:
            raise _nothing_left(path, holder)
        path = join(posixpath.dirname(file), str(listed[number])) or path
        edits.append(FileEdit(path=file, verb=EditVerb.REMOVE, steps=("resources", number)))
    if own and source is not None and tree.is_dir(path):
        names = [posixpath.relpath(path, directory.path)]
    else:
        # Kustomize builds no file from outside of the directory that it is in, and a plain directory has its own alone.
        targets = _targets_of(tree, path, directory)
        edits += [edit for old, new in targets.items() for edit in file_edits(tree, old, new)]
        names = [posixpath.relpath(each, directory.path) for each in targets.values()]
    if own:
        edits += [FileEdit(path=own, verb=EditVerb.APPEND, steps=("resources",), value=each) for each in names]
    return MoveProposal(edits=tuple(edits))


def _targets_of(tree: WorkTree, path: str, directory: DirectorySource) -> dict[str, str]:
    """Where the files of something go in another owner's directory; flat where nothing below it would be read."""
    if tree.is_file(path):
        return {path: posixpath.join(directory.path, posixpath.basename(path))}
    is_flat = not directory.recurse and not kustomization_file.file_of(tree, directory.path)
    above = path if is_flat else posixpath.dirname(path)
    return {
        each: posixpath.join(directory.path, posixpath.relpath(each, above or "."))
        for each in tree.below(path, *YAML, ".json")
    }


def file_edits(tree: WorkTree, path: str, target: str) -> tuple[FileEdit, FileEdit]:
    """A file that stands elsewhere, as ``git mv`` does it; one that is there already is not written over.

    Raises:
        errors.Refused: It is no text.
    """
    try:
        content = (tree.bytes(path) or b"").decode()
    except UnicodeDecodeError as error:
        raise errors.Refused(f"{path} is no UTF-8, and is not moved") from error
    return FileEdit(path=path, verb=EditVerb.DELETE), FileEdit(path=target, verb=EditVerb.WRITE, value=content)


def _has(tree: WorkTree, directory: DirectorySource, path: str) -> bool:
    """Whether a plain directory has something because it is in it."""
    if kustomization_file.file_of(tree, directory.path) or posixpath.dirname(path) == path:
        return False
    home = posixpath.dirname(path) or "."
    return home == directory.path or (directory.recurse and f"{home}/".startswith(f"{directory.path}/"))


def _check_plain(tree: WorkTree, path: str, holder: Holder, target: Origin) -> None:
    _, origin, directory = holder
    if origin.id == target.id:
        raise errors.Refused(f"{target.form} {target.name} has {path} already")
    if all(each == path or each.startswith(f"{path}/") for each in tree.below(directory.path, *YAML, ".json")):
        raise _nothing_left(path, origin)


def _nothing_left(path: str, holder: Origin) -> errors.Refused:
    return errors.Refused(
        f"{path} is all that {holder.form} {holder.name} has, which would be left with nothing",
        hint=f"Take {holder.name} away by hand in the same commit: firstlight change start guards what it has.",
    )


def _path(platform: Platform, tree: WorkTree, wish: Relocation, cluster: str) -> str:
    """The file or directory that is meant: that of the object that declares a component, or itself."""
    found = next((each for each in platform.components_of(cluster) if each.name == wish.what), None)
    declared = next((each for each in found.origins if each.side == Side.GITOPS), None) if found else None
    if declared is not None:
        return declared.place.path
    clean = wish.what.strip("/").removeprefix("./")
    if tree.is_file(clean) or tree.is_dir(clean):
        return clean
    names = [each.name for each in platform.components_of(cluster)]
    raise errors.UsageError(
        f"there is no component and no file {wish.what}", hint=mistakes.near(wish.what, names)
    )  # fmt: skip


def _lister(platform: Platform, tree: WorkTree, path: str, target: Origin) -> Listed | None:
    """Who applies it now, and the entry that names it, or the directory that it is in."""
    for _, origin, directory in holders(platform, target.cluster):
        file = kustomization_file.file_of(tree, directory.path)
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
