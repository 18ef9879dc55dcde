"""Which cluster a file belongs to: directories that hold files of one cluster alone.

``kubernetes/main/talos`` and ``kubernetes/main/flux`` beside ``kubernetes/lab/talos`` make ``kubernetes/main`` the
territory of one cluster and ``kubernetes/lab`` that of another, so a helmfile in ``kubernetes/main/bootstrap`` is for
the first. Where a cluster has the same directory name in several places (``talos/main``, ``kubernetes/main``), that
name tells it in other places, too (``bootstrap/main``).
"""

import dataclasses
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from firstlight.model.cluster import Cluster


@dataclasses.dataclass(frozen=True)
class Territories:
    """The directories of clusters, and the directory names that tell them."""

    directories: Mapping[str, str]
    """The cluster by directory."""
    labels: Mapping[str, str]
    """The cluster by the name of a directory anywhere."""

    def cluster_of(self, path: str) -> str:
        """Return the cluster that a file or directory belongs to; empty if its place does not tell."""
        for directory in ("/".join(parts) for parts in _prefixes(path)):
            if directory in self.directories:
                return self.directories[directory]
        named = {self.labels[part] for part in path.split("/") if part in self.labels}
        return named.pop() if len(named) == 1 else ""


def of_clusters(clusters: Iterable[Cluster]) -> Territories:
    """Find the territories of clusters, by their Talos files and the directories that their engines start from."""
    return of_places({each.name: places_of(each) for each in clusters})


def places_of(cluster: Cluster) -> set[str]:
    """Return the files and directories that shape a cluster."""
    own = {place.path for place in cluster.files}
    if cluster.path and cluster.path != ".":
        # A directory stands for what is in it.
        own.add(f"{cluster.path}/.")
    return own


def of_places(places: Mapping[str, Iterable[str]]) -> Territories:
    """Find the territories of clusters by the files of each."""
    owners: dict[str, set[str]] = {}
    for name, paths in places.items():
        for path in paths:
            owners.setdefault("", set()).add(name)
            for parts in _prefixes(posixpath.dirname(path)):
                owners.setdefault("/".join(parts), set()).add(name)
    directories = {
        directory: next(iter(names))
        for directory, names in owners.items()
        if directory and len(names) == 1 and len(owners[posixpath.dirname(directory)]) > 1
    }
    return Territories(directories, _labels(directories, places))


def distinct_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the directory name by which each of several directories differs from its siblings.

    Of ``k8s/main/flux`` and ``k8s/lab/flux`` these are ``main`` and ``lab``. What differs in more than that is not a
    sibling, and has none.
    """
    split = {path: path.split("/") for path in dict.fromkeys(paths)}
    counts = Counter(part for parts in split.values() for part in set(parts))
    found: dict[str, str] = {}
    for path, parts in split.items():
        number = next((number for number, part in enumerate(parts) if counts[part] == 1), None)
        if number is None:
            continue
        around = parts[:number], parts[number + 1 :]
        siblings = ((other[:number], other[number + 1 :]) for key, other in split.items() if key != path)
        if any(around) and any(each == around for each in siblings):
            found[path] = parts[number]
    return found


def _labels(directories: Mapping[str, str], places: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Names that mean a cluster: its own, and those of its directories in two places; none that mean two."""
    meanings: dict[str, set[str]] = {name: {name} for name in places}
    seen: dict[tuple[str, str], int] = Counter(
        (posixpath.basename(directory), name) for directory, name in directories.items()
    )
    for (label, name), times in seen.items():
        if times > 1 or label in places:
            meanings.setdefault(label, set()).add(name)
    return {label: next(iter(names)) for label, names in meanings.items() if len(names) == 1}


def _prefixes(path: str) -> Iterator[list[str]]:
    """Return the directories of a path, the longest first."""
    parts = path.split("/")
    for length in range(len(parts), 0, -1):
        yield parts[:length]
