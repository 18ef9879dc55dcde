"""New files in a GitOps tree, put where the engine finds them, and what it needs to bring a component of bootstrap.

Name, namespace, version and values of the component stay, since the engine is to adopt what is there and not to install
another.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from firstlight import errors
from firstlight.document import yaml_writer
from firstlight.document.within import at, sequence
from firstlight.document.yaml_reader import YamlDialect
from firstlight.engines import adapters
from firstlight.engines.adapter import OCI, WantedComponent
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.model.move import Instruction, MoveProposal
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource, Embedded, SeveralSources, Source
from firstlight.repo import gitops_tree
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.work_tree import YAML, WorkTree, join

_HEAD = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}


def write(path: str, *values: Mapping[str, Any]) -> FileEdit:
    """A file of objects."""
    return FileEdit(path=path, verb=EditVerb.WRITE, value=yaml_writer.dump_all(values))


def kustomized(directory: str, resources: Iterable[str], also: Mapping[str, Any] | None = None) -> FileEdit:
    """The kustomization of a new directory.

    Args:
        directory: Where it goes.
        resources: What it lists.
        also: What else it says, before that.
    """
    return write(
        posixpath.join(directory, kustomization_file.NAMES[0]), {**_HEAD, **(also or {}), "resources": [*resources]}
    )


def beside(tree: WorkTree, file: str, name: str, *values: Mapping[str, Any]) -> Iterator[FileEdit]:
    """A file of objects beside another, which is applied as the other is: listed where that one is listed.

    Args:
        tree: The repo.
        file: One that the engine applies.
        name: Of the new file.
        values: What it says.
    """
    path = posixpath.join(posixpath.dirname(file), name)
    yield write(path, *values)
    yield from listed(tree, file, path)


def into(tree: WorkTree, directory: str, name: str, *values: Mapping[str, Any]) -> Iterator[FileEdit]:
    """A file of objects in a directory that the engine applies, listed where that lists its files."""
    return gitops_tree.into(tree, directory, name, yaml_writer.dump_all(values))


def embedded(tree: WorkTree, source: Embedded, directory: str, name: str) -> Iterator[FileEdit]:
    """Manifests out of a machine config, as they are, in a directory of their own."""
    documents = tree.documents(source.place.path, dialect=YamlDialect.TALOS)
    found = (at(each.value, *source.steps) for each in documents)
    content = next((each for each in found if isinstance(each, str)), "")
    file = f"{name}.yaml"
    yield FileEdit(path=posixpath.join(directory, file), verb=EditVerb.WRITE, value=content.rstrip("\n") + "\n")
    yield kustomized(directory, [file])


def listed(tree: WorkTree, known: str, path: str) -> Iterator[FileEdit]:
    """An entry for a file in the kustomization that lists another one; none where directories are applied whole."""
    directory = posixpath.dirname(known)
    while True:
        own = kustomization_file.file_of(tree, directory or ".")
        documents = tree.documents(own) if own else ()
        if documents and known in {
            join(directory, each) for each in sequence(documents[0].value, "resources") if isinstance(each, str)
        }:
            entry = posixpath.relpath(path, directory or ".")
            yield FileEdit(
                path=own, verb=EditVerb.APPEND, steps=("resources",), value=entry, document=documents[0].index
            )  # fmt: skip
            return
        if not directory:
            return
        directory = posixpath.dirname(directory)


# What the engine needs to bring a component that only bootstrap has so far: manifests, written from the same facts.


MergeValues = Callable[[ChartSource], tuple[Mapping[str, Any], str]]
"""All values of a chart, and why they are not known; empty if they are."""
_REMOTE = (OCI, "https://", "http://")


def propose_engine_files(
    platform: Platform, tree: WorkTree, components: Sequence[Component], *, merge: MergeValues, home: str = ""
) -> MoveProposal:
    """The files by which the engine brings a component.

    Args:
        platform: What the repo says.
        tree: Its files.
        components: The component, in each cluster that is meant; none of them is in Git.
        merge: Knows the values of charts.
        home: The directory for the files; one beside those of other components, if it is empty.

    Raises:
        errors.Refused: There is no engine.
    """
    found = [_wanted(platform, each, merge) for each in components]
    by_hand = tuple(each for each in found if isinstance(each, Instruction))
    if by_hand:
        return MoveProposal(by_hand=by_hand)
    wanted = [each for each in found if isinstance(each, WantedComponent)]
    is_shared = all((each.source, each.values) == (wanted[0].source, wanted[0].values) for each in wanted)
    edits: list[FileEdit] = []
    for each in wanted:
        own = home.strip("/").removeprefix("./") or _home(tree, each)
        place = own if is_shared else f"{own}-{each.cluster.name}"
        edits += _edits(tree, each, place)
    return MoveProposal(edits=tuple(edits), notes=_notes(wanted))


def _edits(tree: WorkTree, wanted: WantedComponent, home: str) -> Iterator[FileEdit]:
    """The files that declare a component to its engine, with a directory for what has none yet."""
    assert wanted.cluster.engine is not None
    if isinstance(wanted.source, Embedded):
        yield from embedded(tree, wanted.source, home, wanted.component.name)
    made = adapters.ADAPTERS[wanted.cluster.engine].manifests(wanted, home)
    for name, value in made.files.items():
        yield write(posixpath.join(home, name), value)
    if made.files:
        yield kustomized(home, made.files, made.kustomization)
    yield from into(tree, wanted.start, f"{wanted.component.name}.yaml", made.entry)


def _wanted(platform: Platform, component: Component, merge: MergeValues) -> WantedComponent | Instruction:
    cluster = platform.cluster(component.cluster)
    if cluster is None or cluster.engine is None or not cluster.path:
        raise errors.Refused(
            f"nothing says from which directory an engine of {component.cluster} starts",
            hint="Write gitops: engine: and clusters: NAME: path: in firstlight.yaml.",
        )
    for source in (each for origin in component.halves[0] for each in _sources(origin.source)):
        match source:
            case Embedded():
                return WantedComponent(platform=platform, component=component, cluster=cluster, source=source)
            case DirectorySource() if not source.path.endswith(YAML):
                return WantedComponent(platform=platform, component=component, cluster=cluster, source=source)
            case ChartSource() if not source.repository or source.repository.startswith(_REMOTE):
                values, why = merge(source)
                if why or (source.repository and not source.version):
                    return _by_hand(component, cluster, why or "no version of its chart is said")
                return WantedComponent(
                    platform=platform, component=component, cluster=cluster, source=source, values=values
                )  # fmt: skip
    return _by_hand(component, cluster, "its chart or directory is not known from here")


def _by_hand(component: Component, cluster: Cluster, why: str) -> Instruction:
    what = adapters.ADAPTERS[cluster.engine].component_kinds if cluster.engine is not None else "it"
    return Instruction(
        place=component.origins[0].place,
        text=f"Write {what} for {component.name} below {cluster.path}; it is not written here, since {why}.",
    )


def _sources(source: Source | SeveralSources) -> tuple[Source, ...]:
    return source.each if isinstance(source, SeveralSources) else (source,)


def _home(tree: WorkTree, wanted: WantedComponent) -> str:
    """A new directory where more than half of the engine's components have theirs, or else beside the clusters'.

    Never below the one that the engine starts from: what is there it may apply as a whole.
    """
    paths = {
        source.path
        for component in wanted.platform.components_of(wanted.cluster.name)
        for origin in component.halves[1]
        for source in _sources(origin.source)
        if isinstance(source, DirectorySource) and not f"{source.path}/".startswith(f"{wanted.start}/")
    }
    above = posixpath.dirname(wanted.start)
    beside = posixpath.dirname(above) if posixpath.basename(above) == "clusters" else above
    parent = _shared_by_most(paths) if paths else beside
    found = posixpath.join(parent, wanted.component.name)
    # A directory of that name may have the settings of what bootstrap installs.
    return f"{found}-release" if tree.is_dir(found) else found


def _shared_by_most(paths: Set[str]) -> str:
    """The deepest directory that has more than half of some; empty if it is the top."""
    found, depth = "", 1
    while True:
        above = Counter("/".join(each.split("/")[:depth]) for each in paths if each.count("/") >= depth)
        best, count = above.most_common(1)[0] if above else ("", 0)
        if count * 2 <= len(paths):
            return found
        found, depth = best, depth + 1


def _notes(wanted: Sequence[WantedComponent]) -> tuple[str, ...]:
    files = [
        each.file for one in wanted if isinstance(one.source, ChartSource) for each in one.source.values if each.file
    ]
    return tuple(f"what {each} says stands in the new file, too, without its comments" for each in dict.fromkeys(files))
