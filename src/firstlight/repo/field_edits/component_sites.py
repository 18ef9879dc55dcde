"""What an engine reads for a component: its kustomizations, and the objects as they are written."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.component import ObjectId, Origin
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource, SeveralSources
from firstlight.repo.kustomize import kustomization_file, object_loader
from firstlight.repo.kustomize.kustomization_file import Kustomization
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import YAML, WorkTree, join

_DEEPEST = 30
_TAKEN = ("resources", "bases", "components")


@dataclasses.dataclass(frozen=True)
class ClusterRepo:
    """A repo with what is edited in it for one cluster."""

    tree: WorkTree
    platform: Platform
    cluster: str

    @functools.cached_property
    def shared(self) -> frozenset[str]:
        """The directories of kustomizations that other clusters build, too: no place for what is for this one."""
        others = [each for each in self.platform.components if each.cluster != self.cluster]
        return frozenset(
            path for each in others for one in each.origins for path in _walked(one, self.tree).kustomizations
        )

    def origins(self) -> Iterator[Origin]:
        """All that deploys something in the cluster."""
        for component in self.platform.components_of(self.cluster):
            yield from component.origins

    def stating(self, id: ObjectId) -> tuple[Origin, Mapping[str, Any]] | None:
        """Who applies an object from manifests, and the object as it is applied."""
        for origin in self.origins():
            for each in origin.stated:
                if each.id == id:
                    return origin, each.value
        return None

    def declaring(self, origin: Origin) -> Manifest | None:
        """The manifest that declares an origin, as it stands in its file."""
        wanted = ObjectId.of(origin.definition)
        return self.manifest(origin.place.path, wanted) if wanted.name else None

    def manifest(self, path: str, id: ObjectId) -> Manifest | None:
        """An object of a file."""
        if not path.endswith(YAML) or not self.tree.is_file(path):
            return None
        return next((each for each in object_loader.objects_of(self.tree, path) if is_alike(each, id)), None)


@dataclasses.dataclass(frozen=True)
class ComponentSites:
    """What is read for one origin."""

    kustomizations: tuple[Kustomization, ...] = ()
    """The outermost first; those that Flux makes up have no file."""
    manifests: tuple[Manifest, ...] = ()
    files: frozenset[str] = frozenset()
    """Of the manifests."""


def sites_of(origin: Origin, tree: WorkTree) -> ComponentSites:
    """Everything that the directories of an origin lead to."""
    walk = _walked(origin, tree)
    manifests = tuple(one for path in walk.files for one in object_loader.objects_of(tree, path))
    return ComponentSites(tuple(walk.kustomizations.values()), manifests, frozenset(walk.files))


def _walked(origin: Origin, tree: WorkTree) -> "_Walk":
    sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    walk = _Walk(tree)
    for each in sources:
        if isinstance(each, DirectorySource):
            walk.directory(tree.real(each.path), recurse=each.recurse)
            for name in each.components:
                walk.named(each.path, name)
    return walk


class _Walk:
    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self.kustomizations: dict[str, Kustomization] = {}
        self.files: dict[str, None] = {}

    def directory(self, path: str, *, recurse: bool = True, depth: int = 0) -> None:
        if path in self.kustomizations or depth > _DEEPEST:
            return
        if self._tree.is_file(path):
            self.files[self._tree.real(path)] = None
            return
        found = kustomization_file.load(self._tree, path)
        if found is None and not recurse:
            listed = [join(path, name) for name in self._tree.listing(path) if name.endswith(YAML)]
            self.files.update(dict.fromkeys(self._tree.real(each) for each in listed if each))
            return
        found = found or kustomization_file.generated_kustomization(self._tree, path)
        self.kustomizations[path] = found
        for field in _TAKEN:
            for entry in found.entries(field):
                if isinstance(entry, str):
                    self.named(path, entry, depth + 1)

    def named(self, directory: str, entry: str, depth: int = 0) -> None:
        path = join(directory, entry)
        if path is not None and (self._tree.is_file(path) or self._tree.is_dir(path)):
            self.directory(self._tree.real(path), depth=depth)


def is_alike(manifest: Manifest, id: ObjectId) -> bool:
    """Whether an object may become the one of this name: kustomizations add to names, and set namespaces."""
    own = manifest.id
    if (own.kind, own.group) != (id.kind, id.group) or not own.name:
        return False
    return own.name in id.name or "${" in own.name
