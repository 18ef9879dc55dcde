"""A hybrid split in two: its settings, such as BGP peers and pools, get an owner of their own; the core keeps its own.

The new Kustomization or Application is a copy of the old one that starts from another directory and comes after it.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.document import mistakes, within
from firstlight.document.within import sequence
from firstlight.engines import adapters
from firstlight.model.component import Component, ObjectId, Origin, Side
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.move import Instruction, MoveProposal, OwnerSplit
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource
from firstlight.repo import well_known_components
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.move_edits import new_files, owner_edits
from firstlight.repo.move_edits.object_relocation import file_edits
from firstlight.repo.work_tree import YAML, WorkTree, join

_KEPT = ("namespace", "labels", "commonLabels", "commonAnnotations")
"""What a kustomization does to all its objects, so that the new one must do it too."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""What Kubernetes takes for a name; it is that of a directory and of a file, too."""
_CRD = "CustomResourceDefinition"


def propose_split(platform: Platform, tree: WorkTree, wish: OwnerSplit) -> MoveProposal:
    """What becomes of files and owners.

    Args:
        platform: What the repo says.
        tree: Its files.
        wish: What is split off.

    Raises:
        errors.UsageError: There is no such component, nothing of it is named or known to be settings, or a name is
            none.
        errors.Refused: It has no directory of this repo, or a name is taken.
    """
    if not _NAME.fullmatch(wish.name):
        raise errors.UsageError(
            f"{wish.name!r} cannot be the name of an owner", hint="Small letters, digits and hyphens, as in cilium-bgp."
        )
    found = _holders(platform, wish)
    parts = [_one(platform, tree, wish, *each) for each in found]
    return MoveProposal(
        edits=tuple({repr(edit): edit for part in parts for edit in part.edits}.values()),
        by_hand=tuple(dict.fromkeys(each for part in parts for each in part.by_hand)),
    )


def _holders(platform: Platform, wish: OwnerSplit) -> list[tuple[Component, Origin, DirectorySource]]:
    """Who of the engine has the component's directory, in each cluster that is meant."""
    mine = [each for each in platform.components if each.name == wish.component]
    if not mine:
        names = sorted({each.name for each in platform.components})
        raise errors.UsageError(
            f"there is no component {wish.component}",
            hint=mistakes.near(wish.component, names) or "All of them: firstlight inventory",
        )
    if any(wish.name in (each.name, origin.name) for each in platform.components for origin in each.halves[1]):
        raise errors.Refused(f"there is a {wish.name} already", hint="Give it another name, or use --into.")
    found = []
    for component in mine:
        if wish.cluster in ("", component.cluster):
            found += [*_own(platform, component)]
    if not found:
        raise errors.Refused(
            f"no Kustomization or Application applies {wish.component} from a directory of this repo",
            hint="Only what one owner applies from files can be split.",
        )
    return found


def _own(platform: Platform, component: Component) -> Iterator[tuple[Component, Origin, DirectorySource]]:
    """The owner of a component's files: itself, or for a HelmRelease what brings it."""
    every = {each.name: each for each in platform.components_of(component.cluster)}
    for one in (component, every.get(component.parent)):
        for origin in one.origins if one is not None else ():
            is_owner = origin.side == Side.GITOPS and origin.form.value in adapters.SPLITTABLE
            if is_owner and isinstance(origin.source, DirectorySource):
                yield component, origin, origin.source
                return


def _one(
    platform: Platform,
    tree: WorkTree,
    wish: OwnerSplit,
    component: Component,
    origin: Origin,
    directory: DirectorySource,
) -> MoveProposal:
    """In one cluster."""
    stated = owner_edits.stated_owner(platform, component.cluster, origin)
    written = owner_edits.written_owner(tree, stated)
    if stated is None or written is None:
        text = f"{origin.form} {origin.name} is made by something else: write {wish.name} there, for a new directory."
        return MoveProposal(by_hand=(Instruction(place=origin.place, text=text),))
    target = posixpath.join(posixpath.dirname(directory.path), wish.name)
    if tree.is_dir(target) or tree.is_file(target):
        raise errors.Refused(f"{target} is there already", hint="Give it another name.")
    file = kustomization_file.file_of(tree, directory.path)
    chosen = _chosen(tree, wish, component, directory.path, file)
    copied = adapters.SPLITTABLE[origin.form.value]
    value = copied(written, wish.name, after=origin.name, directory=directory.path, target=target)
    return MoveProposal(
        edits=(
            *_files(tree, directory.path, file, chosen, target),
            *new_files.beside(tree, stated.place.path, f"{wish.name}.yaml", value),
        )
    )


def _entries(tree: WorkTree, directory: str, file: str) -> dict[str, str]:
    """What an owner applies, as it is listed or found there: the paths by entry."""
    if file:
        listed = sequence(tree.documents(file)[0].value, "resources")
        found = {each: join(directory, each) for each in listed if isinstance(each, str)}
        return {entry: path for entry, path in found.items() if path and (tree.is_file(path) or tree.is_dir(path))}
    return {posixpath.relpath(each, directory): each for each in tree.below(directory, *YAML)}


def _chosen(tree: WorkTree, wish: OwnerSplit, component: Component, directory: str, file: str) -> dict[str, str]:
    """The entries that pass.

    Raises:
        errors.UsageError: One that was named is none of them, or nothing is known to be settings.
        errors.Refused: Nothing would be left, or core and settings stand in one file.
    """
    entries = _entries(tree, directory, file)
    if wish.only:
        paths = {path: entry for entry, path in entries.items()}
        wanted = [each.strip("/").removeprefix("./") for each in wish.only]
        strange = [each for each in wanted if each not in paths]
        if strange:
            there = ", ".join(sorted(paths))
            raise errors.UsageError(
                f"{strange[0]} is nothing that {component.name} lists", hint=f"It lists {there}."
            )  # fmt: skip
        chosen = {paths[each]: each for each in wanted}
    else:
        chosen = {entry: path for entry, path in entries.items() if _is_settings(tree, path, component, entries)}
    if not chosen:
        raise errors.UsageError(
            f"nothing that {component.name} applies is known to be its settings",
            hint="Name what passes: --only FILE, once or more.",
        )
    if len(chosen) == len(entries):
        raise errors.Refused(f"nothing would be left of {component.name}", hint="Name less: --only FILE.")
    return chosen


def _is_settings(tree: WorkTree, path: str, component: Component, entries: Mapping[str, str]) -> bool:
    """Whether all objects of a file or directory are of kinds that configure the component.

    Raises:
        errors.Refused: Some are, and others of the same file are not.
    """
    about = well_known_components.recognised([component.name])
    groups = {*(about.groups if about else ()), *_defined(tree, entries.values())}
    ids = [*_objects(tree, path)]
    mine = [each for each in ids if each.group in groups]
    if mine and len(mine) < len(ids):
        other = next(each for each in ids if each.group not in groups)
        raise errors.Refused(
            f"{path} has settings ({mine[0]}) and more ({other})", hint="Put them into two files first; or --only FILE."
        )
    return bool(mine)


def _defined(tree: WorkTree, paths: Iterable[str]) -> Iterator[str]:
    """The groups of kinds that are defined there."""
    for path in paths:
        for value in _values(tree, path):
            if value.get("kind") == _CRD:
                yield within.text(value, "spec", "group")


def _objects(tree: WorkTree, path: str) -> Iterator[ObjectId]:
    return (ObjectId.of(each) for each in _values(tree, path))


def _values(tree: WorkTree, path: str) -> Iterator[Mapping[str, Any]]:
    files = [path] if tree.is_file(path) else tree.below(path, *YAML)
    for file in files:
        if posixpath.basename(file) in kustomization_file.NAMES:
            continue
        for document in tree.documents(file):
            if isinstance(document.value, Mapping) and document.value.get("kind"):
                yield document.value


def _files(tree: WorkTree, directory: str, file: str, chosen: Mapping[str, str], target: str) -> Iterator[FileEdit]:
    """Files that stand in the new directory, and the kustomizations of both."""
    entries = []
    for entry, path in chosen.items():
        if tree.is_file(path):
            entries.append(posixpath.basename(path))
            yield from file_edits(tree, path, posixpath.join(target, entries[-1]))
        else:
            entries.append(posixpath.relpath(path, target))
        if file:
            yield from _unlisted(tree, file, entry)
    if file:
        old = tree.documents(file)[0].value
        yield new_files.kustomized(target, entries, {name: old[name] for name in _KEPT if name in old})


def _unlisted(tree: WorkTree, file: str, entry: str) -> Iterator[FileEdit]:
    document = tree.documents(file)[0]
    for number, each in enumerate(sequence(document.value, "resources")):
        if each == entry:
            yield FileEdit(path=file, verb=EditVerb.REMOVE, steps=("resources", number), document=document.index)
