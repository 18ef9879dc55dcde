"""What the engine needs to bring a component that only bootstrap has so far: manifests, written from the same facts.

Name, namespace, version and values stay, since the engine is to adopt what is there and not to install another.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

from firstlight import errors
from firstlight.engines import adapters
from firstlight.engines.new_component import OCI, WantedComponent
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.finding import FileEdit
from firstlight.model.move import Instruction, MoveProposal
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource, Embedded, SeveralSources, Source
from firstlight.repo.move_edits import new_files
from firstlight.repo.work_tree import YAML, WorkTree

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
        yield from new_files.embedded(tree, wanted.source, home, wanted.component.name)
    made = adapters.ADAPTERS[wanted.cluster.engine].manifests(wanted, home)
    for name, value in made.files.items():
        yield new_files.write(posixpath.join(home, name), value)
    if made.files:
        yield new_files.kustomized(home, made.files, made.kustomization)
    yield from new_files.into(tree, wanted.start, f"{wanted.component.name}.yaml", made.entry)


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
