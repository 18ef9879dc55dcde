"""Which components and clusters a file of the repo belongs to."""

import collections
import dataclasses
import functools
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.document import within
from firstlight.model.component import Component, Form, ObjectId, Origin
from firstlight.model.platform import Platform
from firstlight.model.source import Chart, Directory, Embedded, Source, Sources

_CROWD = 3
"""Components that a directory may declare so that a stranger beside them still belongs to all of them."""
_Found = dict[tuple[str, str], Component]


@dataclasses.dataclass(frozen=True)
class Belonging:
    """Files of one platform by what they belong to."""

    platform: Platform
    files: Mapping[str, Sequence[Component]]
    """Files that components name themselves: declarations, values, charts' sources, inline manifests."""
    neighbours: Mapping[str, Sequence[Component]]
    """The same by the directories of those files."""
    directories: Mapping[str, Sequence[Component]]
    """Directories that components are made from, with those that kustomizations take in from elsewhere."""
    declared: Mapping[tuple[str, str], Sequence[tuple[Component, Origin]]]
    """Objects that declare components or say where their charts are, by kind and name."""
    applied: Mapping[tuple[str, str], Sequence[tuple[Component, ObjectId]]]
    """Plain objects, by kind and name."""
    machines: Mapping[str, Sequence[str]]
    """Clusters by the files that shape their machines."""

    def of(self, path: str, object_id: ObjectId | None = None) -> tuple[Component, ...]:
        """The components that a file belongs to, or an object in it; none where no cluster's tree leads there."""
        exact, around = _unique(self.files.get(path, ())), self._around(path)
        if object_id is None:
            return exact or around or self._beside(path)
        found = self._declared(path, object_id) or self._applied(object_id, (*exact, *around))
        return found or around or exact or self._beside(path)

    def named(self, cluster: str, name: str) -> tuple[Component, ...]:
        """A component by its cluster and name."""
        found = self._names.get((cluster, name))
        return (found,) if found is not None else ()

    @functools.cached_property
    def _names(self) -> _Found:
        return {(each.cluster, each.name): each for each in self.platform.components}

    def clusters(self, path: str) -> tuple[str, ...]:
        """The clusters that a file reaches, by machines or by components."""
        if self.platform.declared is not None and path == self.platform.declared.path:
            return tuple(each.name for each in self.platform.clusters)
        found = [*self.machines.get(path, ()), *(each.cluster for each in self.of(path))]
        return tuple(dict.fromkeys(found))

    def _declared(self, path: str, object_id: ObjectId) -> tuple[Component, ...]:
        known = self.declared.get((object_id.kind, object_id.name), ())
        here = [each for each, origin in known if path in _places(origin)]
        return _unique(here or [each for each, _ in known])

    def _applied(self, object_id: ObjectId, by_path: Sequence[Component]) -> tuple[Component, ...]:
        """Who applies an object; the file decides where several do."""
        known = [
            component
            for component, each in self.applied.get((object_id.kind, object_id.name), ())
            # Kustomize and Flux give namespaces to objects that have none.
            if each.group == object_id.group and object_id.namespace in ("", each.namespace)
        ]
        if by_path:
            allowed = {(each.cluster, each.name) for each in by_path}
            known = [each for each in known if (each.cluster, each.name) in allowed]
        return _unique(known)

    def _around(self, path: str) -> tuple[Component, ...]:
        """Whoever is made from the deepest directory around a file, or takes in the file itself."""
        return _unique(next((self.directories[each] for each in _upwards(path) if each in self.directories), ()))

    def _beside(self, path: str) -> tuple[Component, ...]:
        """Whoever is declared in the nearest directory, if it is not a crowd."""
        for directory in _upwards(posixpath.dirname(path)):
            if directory != "." and (found := _unique(self.neighbours.get(directory, ()))):
                return found if len({each.name for each in found}) <= _CROWD else ()
        return ()


def belonging(platform: Platform, *, taken: Mapping[str, Sequence[str]] | None = None) -> Belonging:
    """What belongs to whom; ``taken`` says which files and directories each kustomization takes in."""
    files: dict[str, list[Component]] = collections.defaultdict(list)
    directories: dict[str, list[Component]] = collections.defaultdict(list)
    declared: dict[tuple[str, str], list[tuple[Component, Origin]]] = collections.defaultdict(list)
    applied: dict[tuple[str, str], list[tuple[Component, ObjectId]]] = collections.defaultdict(list)
    for component in platform.components:
        for origin in component.origins:
            for path in _places(origin):
                files[path].append(component)
            for path in _directories(origin.source):
                for each in _closure(path, taken or {}):
                    directories[each].append(component)
            for kind, name in _declarations(origin):
                declared[kind, name].append((component, origin))
            for each_object in origin.objects:
                applied[each_object.kind, each_object.name].append((component, each_object))
    if platform.declared is not None:
        files.pop(platform.declared.path, None)  # it declares everything, and what it says belongs to clusters
    neighbours: dict[str, list[Component]] = collections.defaultdict(list)
    for path, components in files.items():
        neighbours[posixpath.dirname(path)] += components
    return Belonging(platform, files, neighbours, directories, declared, applied, _machines(platform))


def _places(origin: Origin) -> set[str]:
    """Files that an origin stands in or names."""
    found = {origin.place.path}
    found |= set(_named(origin.source))
    return found


def _named(source: Source | Sources) -> Iterator[str]:
    match source:
        case Chart():
            for each in source.values:
                yield from (path for path in (each.file, each.place.path) if path)
            if source.origin is not None:
                yield source.origin.path
        case Embedded():
            yield source.place.path
        case Sources():
            for part in source.each:
                yield from _named(part)


def _directories(source: Source | Sources) -> Iterator[str]:
    match source:
        case Directory():
            yield _clean(source.path)
            for each in source.components:
                yield _clean(posixpath.join(source.path, each))
        case Chart() if not source.repository:
            yield _clean(source.name)
        case Sources():
            for part in source.each:
                yield from _directories(part)


def _closure(path: str, taken: Mapping[str, Sequence[str]]) -> list[str]:
    """A directory, and everything that its kustomization takes in from elsewhere."""
    found: dict[str, None] = {}
    waiting = [path]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each] = None
            waiting += taken.get(each, ())
    return list(found)


def _declarations(origin: Origin) -> Iterator[tuple[str, str]]:
    """Objects that say that it is deployed, or where its chart is."""
    for value in (origin.definition, origin.maker):
        if value:
            yield within.text(value, "kind"), within.text(value, "metadata", "name")
    if origin.form is Form.HELM_RELEASE:
        spec = within.mapping(origin.definition, "spec")
        for reference in (within.mapping(spec, "chartRef"), within.mapping(spec, "chart", "spec", "sourceRef")):
            if reference:
                yield within.text(reference, "kind"), within.text(reference, "name")


def _machines(platform: Platform) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = collections.defaultdict(list)
    for cluster in platform.clusters:
        paths = {each.path for each in cluster.files}
        for machine in cluster.machines:
            paths |= {machine.place.path, *(each.path for each in machine.patches)}
        for path in paths:
            found[path].append(cluster.name)
    return found


def _upwards(path: str) -> Iterator[str]:
    """A path and the directories around it, the deepest first."""
    while path:
        yield path
        path = posixpath.dirname(path)
    yield "."


def _clean(path: str) -> str:
    return posixpath.normpath(path).removeprefix("./") if path else "."


def _unique(components: Iterable[Component]) -> tuple[Component, ...]:
    found: _Found = {}
    for each in components:
        found.setdefault((each.cluster, each.name), each)
    return tuple(found.values())
