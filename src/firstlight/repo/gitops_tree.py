"""The files that a directory leads to, as kustomize would follow its kustomization."""

import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.engines import adapters
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, SourceForm
from firstlight.model.finding import EditVerb, FileEdit
from firstlight.repo import chart_values
from firstlight.repo.platform_view import AppliedObject, PlatformView, RepoFiles

KUSTOMIZATION_FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS = ("resources", "bases", "components", "crds", "patchesStrategicMerge", "configurations", "transformers")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_PATCHES = ("patches", "patchesJson6902", "replacements")


def reached_files(files: RepoFiles, starts: Iterable[str]) -> frozenset[str]:
    """Every file that one of these directories or files leads to; without a kustomization all that is below counts."""
    known = frozenset(files.files)
    found: set[str] = set()
    seen: set[str] = set()
    waiting = list(starts)
    while waiting:
        path = posixpath.normpath(waiting.pop())
        if path in seen or path.startswith(".."):
            continue
        seen.add(path)
        if path in known:
            found.add(path)
            continue
        file = kustomization_file(known, path)
        if file:
            found.add(file)
            for document in files.documents(file):
                waiting += [posixpath.join(path, each) for each in _named(document.value)]
        else:
            below = "" if path == "." else path + "/"
            found |= {each for each in known if each.startswith(below)}
    return frozenset(found)


def kustomization_file(known: frozenset[str], directory: str) -> str:
    """The kustomization of a directory; empty where it has none."""
    paths = (each if directory == "." else f"{directory}/{each}" for each in KUSTOMIZATION_FILES)
    return next((each for each in paths if each in known), "")


def _named(value: Any) -> Iterator[str]:
    """What a kustomization names: files and directories of the repo."""
    if not isinstance(value, Mapping):
        return
    for key in (*_LISTS, *_PATCHES, *_GENERATORS):
        several = value.get(key)
        for each in several if isinstance(several, list) else ():
            if isinstance(each, str):
                if "://" not in each and "\n" not in each:
                    yield each
            elif isinstance(each, Mapping):
                yield from _files(each)


def _files(entry: Mapping[str, Any]) -> Iterator[str]:
    """The files of a patch, a replacement or a generator."""
    if isinstance(entry.get("path"), str):
        yield entry["path"]
    for key in ("files", "envs"):
        several = entry.get(key)
        for each in several if isinstance(several, list) else ():
            yield str(each).rpartition("=")[2]


# Where new files go in a GitOps tree, so that the cluster's engine applies them; moves ask here as well.


STORE_KINDS = ("external-secrets.io/ClusterSecretStore",)


@dataclasses.dataclass(frozen=True, slots=True)
class ExternalSecretStore:
    """A store that External Secrets can fetch from, in a cluster."""

    name: str
    version: str
    """The API version of its objects."""
    item: AppliedObject


def beside(clusters: Iterable[Cluster], name: str) -> str:
    """A directory for what several clusters share, beside those of the clusters."""
    parents = {posixpath.dirname(each.path.strip("./")) for each in clusters if each.path}
    top = posixpath.commonpath(sorted(parents)) if parents else ""
    return posixpath.join(posixpath.dirname(top) if posixpath.basename(top) == "clusters" else top, name)


def write(path: str, *documents: str) -> FileEdit:
    """A new file."""
    return FileEdit(path=path, verb=EditVerb.WRITE, value="---\n".join(documents))


def into(files: RepoFiles, directory: str, name: str, *documents: str) -> Iterator[FileEdit]:
    """A new file in a directory that the engine applies, listed where the directory lists its files."""
    yield write(posixpath.join(directory, name), *documents)
    for own in (posixpath.join(directory, each) for each in KUSTOMIZATION_FILES):
        if files.is_file(own):
            there = files.documents(own)
            index = there[0].index if there else 0
            yield FileEdit(path=own, verb=EditVerb.APPEND, steps=("resources",), value=name, document=index)
            return


def into_cluster(scene: PlatformView, cluster: Cluster, name: str, *documents: str) -> Iterator[FileEdit]:
    """A new file in the directory that the engine starts from."""
    return into(scene.files, cluster.path.removeprefix("./").rstrip("/"), name, *documents)


def sharing(scene: PlatformView, cluster: Cluster) -> tuple[str, ...]:
    """Other clusters that apply the directory of this one as well, so that what is put there is theirs, too."""
    root = cluster.path.removeprefix("./").rstrip("/")
    files: dict[str, set[str]] = {}
    for each in scene.items:
        if posixpath.dirname(each.object.place.path) == root:
            files.setdefault(each.cluster, set()).add(each.object.place.path)
    own = files.get(cluster.name, set())
    return tuple(sorted(name for name, theirs in files.items() if name != cluster.name and own and own <= theirs))


def shared(scene: PlatformView, cluster: Cluster) -> Iterator[str]:
    """The question that a person has to answer before something for one cluster is put into its directory."""
    others = sharing(scene, cluster) if is_flux(cluster) else ()
    if others:
        path = cluster.path.removeprefix("./").rstrip("/")
        verb = "applies" if len(others) == 1 else "apply"
        yield f"Which directory is of {cluster.name} alone? {' and '.join(others)} {verb} {path}, too"


def flux_kustomization(scene: PlatformView, cluster: Cluster, name: str, *, path: str, after: Iterable[str]) -> str:
    """A Kustomization of Flux for a directory of the repo, as the cluster's others are."""
    needs = "".join(f"    - name: {each}\n" for each in dict.fromkeys(after))
    kind, source = _source(scene, cluster)
    return (
        f"apiVersion: {flux_names.KUSTOMIZE_API}\n"
        f"kind: {flux_names.KUSTOMIZATION}\n"
        f"metadata:\n  name: {name}\n  namespace: {flux_names.FLUX_SYSTEM}\n"
        "spec:\n"
        + (f"  dependsOn:\n{needs}" if needs else "")
        + f"  interval: 1h\n  retryInterval: 1m\n  timeout: 5m\n  path: ./{path}\n  prune: true\n  wait: true\n"
        f"  sourceRef:\n    kind: {kind}\n    name: {source}\n"
    )


def _source(scene: PlatformView, cluster: Cluster) -> tuple[str, str]:
    for each in scene.of_cluster(cluster.name, flux_names.KUSTOMIZATION_GROUP_KIND):
        found = within.at(each.value, "spec", "sourceRef")
        if isinstance(found, Mapping) and found.get("name"):
            return str(found.get("kind") or flux_names.GIT_REPOSITORY), str(found["name"])
    return flux_names.GIT_REPOSITORY, flux_names.FLUX_SYSTEM


def is_flux(cluster: Cluster) -> bool:
    """Whether Flux applies what is in the cluster's directory."""
    kind = adapters.followed(cluster.engine) if cluster.engine is not None else None
    return kind is not None and kind.kind == flux_names.KUSTOMIZATION and bool(cluster.path)


def store(scene: PlatformView, cluster: str) -> ExternalSecretStore | None:
    """A store of the cluster that any namespace may fetch from."""
    for item in scene.of_cluster(cluster, *STORE_KINDS):
        version = str(item.value.get("apiVersion"))
        return ExternalSecretStore(item.object.id.name, version, item)
    return None


def bringing(component: Component) -> str:
    """The name of the Kustomization of Flux that brings a component; empty where it is not one."""
    for origin in reversed(component.origins):
        if origin.form is SourceForm.KUSTOMIZATION:
            return origin.name
        if origin.parent.startswith("kustomization/"):
            return origin.parent.rpartition("/")[2]
    return ""


def release_namespace(component: Component) -> str:
    """The namespace that the component's release goes to; empty where it has none."""
    return next((each.namespace for each in chart_values.charts_of(component) if each.namespace), "")
