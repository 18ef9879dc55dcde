"""Which components and clusters a file of the repo belongs to."""

import collections
import dataclasses
import functools
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.document import within
from firstlight.document.within import at, sequence, text
from firstlight.model.component import Component, ObjectId, Origin, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource, Embedded
from firstlight.plan import cluster_facts
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.work_tree import WorkTree, join

_CROWD = 3
"""Components that a directory may declare so that a stranger beside them still belongs to all of them."""
_SETTINGS = ".argocd-source"
"""How files begin that Argo CD reads beside a kustomization, whatever that lists."""
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
    taken: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    """What each directory's kustomization takes in."""
    plain: frozenset[str] = frozenset()
    """Directories that are applied as they are, whatever a kustomization in them says."""

    def of(self, path: str, object_id: ObjectId | None = None) -> tuple[Component, ...]:
        """The components that a file belongs to, or an object in it; none where no cluster's tree leads there."""
        exact, is_left_out = _unique(self.files.get(path, ())), self.is_unlisted(path)
        around = () if is_left_out else self._around(path)
        beside = () if is_left_out or exact or around else self._beside(path)
        if object_id is None or (is_left_out and not exact):
            return exact or around or beside
        found = self._declared(path, object_id, around) or self._applied(object_id, (*exact, *around))
        return found or around or exact or beside

    def is_unlisted(self, path: str) -> bool:
        """Whether a kustomization around a file leaves it out, so that nobody applies it."""
        for each in _upwards(path):
            is_applied = each in self.directories
            if is_applied and (each == path or each not in self.taken or each in self.plain):
                return False
            if each in self.taken and not self._is_listed(path, each):
                return True
            if is_applied:
                return False
        return False

    def _is_listed(self, path: str, directory: str) -> bool:
        place, name = posixpath.split(path)
        is_beside = (place or ".") == directory
        if is_beside and (name.lower().partition(".")[0] == "kustomization" or name.startswith(_SETTINGS)):
            return True
        return any(path == each or path.startswith(f"{each}/") for each in self.taken[directory])

    def is_declaring(self, object_id: ObjectId | None) -> bool:
        """Whether an object declares a component."""
        return object_id is not None and (object_id.kind, object_id.name) in self.declared

    def declaring(self, cluster: str, object_id: ObjectId | None) -> tuple[Component, ...]:
        """The components of a cluster that an object declares, whoever applies it."""
        if object_id is None:
            return ()
        known = self.declared.get((object_id.kind, object_id.name), ())
        return tuple(
            component
            for component, origin in known
            if component.cluster == cluster and origin.namespace in ("", object_id.namespace)
        )

    def named(self, cluster: str, name: str) -> tuple[Component, ...]:
        """A component by its cluster and name."""
        found = self._names.get((cluster, name))
        return (found,) if found is not None else ()

    def with_origin(self, cluster: str, origin_id: str) -> Component | None:
        """The component of a cluster that has an origin, whatever it is called."""
        return self._origins.get((cluster, origin_id))

    @functools.cached_property
    def _origins(self) -> _Found:
        return {(each.cluster, origin.id): each for each in self.platform.components for origin in each.origins}

    @functools.cached_property
    def _names(self) -> _Found:
        return {(each.cluster, each.name): each for each in self.platform.components}

    def clusters(self, path: str) -> tuple[str, ...]:
        """The clusters that a file reaches, by machines or by components."""
        if self.platform.declared is not None and path == self.platform.declared.path:
            return tuple(each.name for each in self.platform.clusters)
        found = [*self.machines.get(path, ()), *(each.cluster for each in self.of(path))]
        return tuple(dict.fromkeys(found))

    def _declared(self, path: str, object_id: ObjectId, around: Sequence[Component]) -> tuple[Component, ...]:
        """Whom an object declares; where several have its name those in this file, or those brought from here."""
        known = self.declared.get((object_id.kind, object_id.name), ())
        above = {(each.cluster, each.name) for each in around}
        here = [(each, origin) for each, origin in known if path in _places(origin)]
        brought = [
            (each, origin) for each, origin in known if above & {(each.cluster, each.name), (each.cluster, each.parent)}
        ]
        chosen = here or brought or known
        same = [each for each in chosen if _is_in_namespace(each[1], object_id)]
        return _unique(each for each, _ in same or chosen)

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
    plain: set[str] = set()
    for component in platform.components:
        for origin in component.origins:
            for path in _places(origin):
                files[path].append(component)
            for path in _directories(origin):
                for each in _closure(path, taken or {}):
                    directories[each].append(component)
            if isinstance(origin.source, DirectorySource) and not origin.source.kustomize:
                plain.add(_clean(origin.source.path))
            for kind, name in _declarations(origin):
                declared[kind, name].append((component, origin))
            for each_object in origin.objects:
                applied[each_object.kind, each_object.name].append((component, each_object))
    if platform.declared is not None:
        files.pop(platform.declared.path, None)  # it declares everything, and what it says belongs to clusters
    neighbours: dict[str, list[Component]] = collections.defaultdict(list)
    for path, components in files.items():
        neighbours[posixpath.dirname(path)] += components
    return Belonging(
        platform=platform,
        files=files,
        neighbours=neighbours,
        directories=directories,
        declared=declared,
        applied=applied,
        machines=_machines(platform),
        taken=taken or {},
        plain=frozenset(plain),
    )


def _is_in_namespace(origin: Origin, object_id: ObjectId) -> bool:
    """Whether an object is the very declaration, not one of the same name elsewhere."""
    own = within.text(origin.definition, "kind"), within.text(origin.definition, "metadata", "name")
    return own == (object_id.kind, object_id.name) and origin.namespace == object_id.namespace


def _places(origin: Origin) -> set[str]:
    """Files that an origin stands in or names."""
    return {origin.place.path, *_named(origin), *origin.values_files}


def _named(origin: Origin) -> Iterator[str]:
    for source in cluster_facts.sources(origin):
        match source:
            case ChartSource():
                for each in source.values:
                    yield from (path for path in (each.file, each.place.path) if path)
                if source.origin is not None:
                    yield source.origin.path
            case Embedded():
                yield source.place.path


def _directories(origin: Origin) -> Iterator[str]:
    for source in cluster_facts.sources(origin):
        match source:
            case DirectorySource():
                yield _clean(source.path)
                for each in source.components:
                    yield _clean(posixpath.join(source.path, each))
            case ChartSource() if not source.repository:
                yield _clean(source.name)


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
    if origin.form is SourceForm.HELM_RELEASE:
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


# Which files and directories kustomizations take in, so that a change in a base belongs to all who build on it.


def taken_in(after: WorkTree, before: WorkTree, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What each directory's kustomization takes in, in either tree.

    Args:
        after: A tree, of which all kustomizations are read.
        before: Another one, of which only those are read that differ.
        paths: The files that differ.
    """
    found: dict[str, dict[str, None]] = {}
    differing = [each for each in paths if posixpath.basename(each) in kustomization_file.NAMES]
    for tree, files in ((after, after.files), (before, differing)):
        for file in files:
            if posixpath.basename(file) in kustomization_file.NAMES and tree.is_file(file):
                directory = posixpath.dirname(file) or "."
                found.setdefault(directory, {}).update(dict.fromkeys(_taken((after, before), tree, file)))
    return {directory: tuple(entries) for directory, entries in found.items() if entries}


def _taken(trees: Sequence[WorkTree], tree: WorkTree, file: str) -> Iterator[str]:
    """What a kustomization names, if it is there in any of the trees: that it is gone in one is part of the change."""
    documents = tree.documents(file)
    value = documents[0].value if documents else None
    directory = posixpath.dirname(file) or "."
    named = [each.path for each in kustomization_file.named_files(value)]
    plugins = [each for each in sequence(value, "generators") if isinstance(each, str)]
    for each in (*named, *plugins, *(path for name in plugins for path in _of_plugin(tree, directory, name))):
        path = join(directory, each) if "://" not in each else None
        if path is not None and any(one.is_file(path) or one.is_dir(path) for one in trees):
            yield path


def _of_plugin(tree: WorkTree, directory: str, name: str) -> Iterator[str]:
    """The files that a generator makes objects of, such as those that KSOPS decrypts: ``path`` or ``key=path``."""
    path = join(directory, name) if "://" not in name else None
    for document in tree.documents(path) if path is not None and tree.is_file(path) else ():
        for holder in (document.value, *sequence(document.value, "secretFrom")):
            for each in sequence(holder, "files"):
                yield str(each).rpartition("=")[2]


# Which components get values from a ConfigMap or Secret: they change with it, though no file of theirs does.


_KINDS = ("ConfigMap", "Secret")


def receiving(platform: Platform, holder: ObjectId) -> Iterator[Component]:
    """Those in which Flux substitutes from it, or whose chart gets values from it."""
    if holder.group or holder.kind not in _KINDS:
        return
    for component in platform.components:
        if any(_receives(origin, holder) for origin in component.origins):
            yield component


def _receives(origin: Origin, holder: ObjectId) -> bool:
    for each in sequence(at(origin.definition, "spec", "postBuild"), "substituteFrom"):
        is_there = holder.namespace in ("", origin.namespace)
        if is_there and (text(each, "kind"), text(each, "name")) == (holder.kind, holder.name):
            return True
    return any(_is_named(reference, holder) for reference in _references(origin))


def _references(origin: Origin) -> Iterator[str]:
    for source in cluster_facts.sources(origin):
        if isinstance(source, ChartSource):
            yield from (each.reference for each in source.values if each.reference)


def _is_named(reference: str, holder: ObjectId) -> bool:
    kind, _, rest = reference.partition("/")
    namespace, _, name = rest.rpartition("/")
    return (kind, name) == (holder.kind, holder.name) and (not holder.namespace or namespace == holder.namespace)
