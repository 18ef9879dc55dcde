"""Where new files go in a GitOps tree, so that the cluster's engine applies them; moves ask here as well."""

import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Mapping

from firstlight.document import within
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import Component, Form
from firstlight.model.finding import Edit, EditVerb
from firstlight.policy.auditing import charts, kustomize_files
from firstlight.policy.auditing.scene import Files, Item, Scene

STORE_KINDS = ("external-secrets.io/ClusterSecretStore",)


@dataclasses.dataclass(frozen=True, slots=True)
class Store:
    """A store that External Secrets can fetch from, in a cluster."""

    name: str
    version: str
    """The API version of its objects."""
    item: Item


def beside(clusters: Iterable[Cluster], name: str) -> str:
    """A directory for what several clusters share, beside those of the clusters."""
    parents = {posixpath.dirname(each.path.strip("./")) for each in clusters if each.path}
    top = posixpath.commonpath(sorted(parents)) if parents else ""
    return posixpath.join(posixpath.dirname(top) if posixpath.basename(top) == "clusters" else top, name)


def write(path: str, *documents: str) -> Edit:
    """A new file."""
    return Edit(path=path, verb=EditVerb.WRITE, value="---\n".join(documents))


def into(files: Files, directory: str, name: str, *documents: str) -> Iterator[Edit]:
    """A new file in a directory that the engine applies, listed where the directory lists its files."""
    yield write(posixpath.join(directory, name), *documents)
    for own in (posixpath.join(directory, each) for each in kustomize_files.NAMES):
        if files.is_file(own):
            there = files.documents(own)
            index = there[0].index if there else 0
            yield Edit(path=own, verb=EditVerb.APPEND, steps=("resources",), value=name, document=index)
            return


def into_cluster(scene: Scene, cluster: Cluster, name: str, *documents: str) -> Iterator[Edit]:
    """A new file in the directory that the engine starts from."""
    return into(scene.files, cluster.path.removeprefix("./").rstrip("/"), name, *documents)


def sharing(scene: Scene, cluster: Cluster) -> tuple[str, ...]:
    """Other clusters that apply the directory of this one as well, so that what is put there is theirs, too."""
    root = cluster.path.removeprefix("./").rstrip("/")
    files: dict[str, set[str]] = {}
    for each in scene.items:
        if posixpath.dirname(each.object.place.path) == root:
            files.setdefault(each.cluster, set()).add(each.object.place.path)
    own = files.get(cluster.name, set())
    return tuple(sorted(name for name, theirs in files.items() if name != cluster.name and own and own <= theirs))


def shared(scene: Scene, cluster: Cluster) -> Iterator[str]:
    """The question that a person has to answer before something for one cluster is put into its directory."""
    others = sharing(scene, cluster) if is_flux(cluster) else ()
    if others:
        path = cluster.path.removeprefix("./").rstrip("/")
        verb = "applies" if len(others) == 1 else "apply"
        yield f"Which directory is of {cluster.name} alone? {' and '.join(others)} {verb} {path}, too"


def flux_kustomization(scene: Scene, cluster: Cluster, name: str, *, path: str, after: Iterable[str]) -> str:
    """A Kustomization of Flux for a directory of the repo, as the cluster's others are."""
    needs = "".join(f"    - name: {each}\n" for each in dict.fromkeys(after))
    kind, source = _source(scene, cluster)
    return (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\n"
        "kind: Kustomization\n"
        f"metadata:\n  name: {name}\n  namespace: flux-system\n"
        "spec:\n"
        + (f"  dependsOn:\n{needs}" if needs else "")
        + f"  interval: 1h\n  retryInterval: 1m\n  timeout: 5m\n  path: ./{path}\n  prune: true\n  wait: true\n"
        f"  sourceRef:\n    kind: {kind}\n    name: {source}\n"
    )


def _source(scene: Scene, cluster: Cluster) -> tuple[str, str]:
    for each in scene.of_cluster(cluster.name, "kustomize.toolkit.fluxcd.io/Kustomization"):
        found = within.at(each.value, "spec", "sourceRef")
        if isinstance(found, Mapping) and found.get("name"):
            return str(found.get("kind") or "GitRepository"), str(found["name"])
    return "GitRepository", "flux-system"


def is_flux(cluster: Cluster) -> bool:
    """Whether Flux applies what is in the cluster's directory."""
    return cluster.engine is Engine.FLUX and bool(cluster.path)


def store(scene: Scene, cluster: str) -> Store | None:
    """A store of the cluster that any namespace may fetch from."""
    for item in scene.of_cluster(cluster, *STORE_KINDS):
        version = str(item.value.get("apiVersion"))
        return Store(item.object.id.name, version, item)
    return None


def bringing(component: Component) -> str:
    """The name of the Kustomization of Flux that brings a component; empty where it is not one."""
    for origin in reversed(component.origins):
        if origin.form is Form.KUSTOMIZATION:
            return origin.name
        if origin.parent.startswith("kustomization/"):
            return origin.parent.rpartition("/")[2]
    return ""


def release_namespace(component: Component) -> str:
    """The namespace that the component's release goes to; empty where it has none."""
    return next((each.namespace for each in charts.of(component) if each.namespace), "")
