"""Where Argo CD begins: root Applications, the project that they are in, and the repository that they read."""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.engines.adapter import Roots
from firstlight.model import argocd_names, secret_words
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Origin, Side, SourceForm
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.rendition import Object, Rendition

IN_CLUSTER = "https://kubernetes.default.svc"


def roots(
    platform: Platform, cluster: Cluster, known: Mapping[ObjectId, Object], renditions: Sequence[Rendition]
) -> Roots:
    """Return the repositories, the projects and the roots of a cluster.

    Args:
        platform: What was read.
        cluster: One of its clusters.
        known: What its components deploy.
        renditions: The same, by component.
    """
    found, unclear = declared(platform, cluster)
    place = home(platform, cluster, renditions)
    if not found and not unclear:
        found = synthesized(cluster, namespace=place)
    if not found:
        return Roots(unclear=unclear or f"nothing says which directory of the repo is {cluster.name}'s")
    before = projects(found, known, renditions, namespace=place)
    return Roots(sources=repositories(platform, cluster, namespace=place), roots=(*before, *found))


def declared(platform: Platform, cluster: Cluster) -> tuple[tuple[Object, ...], str]:
    """The Applications and ApplicationSets that no Application brings, and why one of them cannot be applied."""
    found: dict[ObjectId, Object] = {}
    unclear = ""
    for origin in _parentless(platform, cluster):
        value = origin.maker or origin.definition
        if not origin.maker and (left := _left_open(value)):
            unclear = f"something must fill in {left} in Application {origin.name} before it can be applied"
            continue
        metadata = {"namespace": origin.namespace or argocd_names.NAMESPACE, **mapping(value, "metadata")}
        root = Object({**value, "metadata": metadata})
        found.setdefault(root.id, root)
    return tuple(found.values()), unclear


def _parentless(platform: Platform, cluster: Cluster) -> Iterator[Origin]:
    """Applications that nobody brings; a cluster with the only Argo CD has those for the other clusters, too."""
    clusters = [cluster.name]
    if not any(_has_engine(platform, each.name) for each in platform.clusters if each.name != cluster.name):
        clusters += [each.name for each in platform.clusters if each.name != cluster.name]
    for component in platform.components:
        if component.cluster in clusters:
            for origin in component.origins:
                if origin.form == SourceForm.APPLICATION and origin.side == Side.GITOPS and not origin.parent:
                    yield origin


def _has_engine(platform: Platform, cluster: str) -> bool:
    return any(each.role == "engine" for each in platform.components_of(cluster))


def _left_open(value: Mapping[str, Any]) -> str:
    """A placeholder in what says where an Application comes from."""
    sources = [mapping(value, "spec", "source"), *sequence(value, "spec", "sources")]
    written = [text(each, field) for each in sources for field in ("repoURL", "path", "chart", "targetRevision")]
    return next((each for each in written if "${" in each or "{{" in each), "")


def synthesized(cluster: Cluster, *, namespace: str) -> tuple[Object, ...]:
    """The root Application of a directory; nothing where the directory or its repository is not known."""
    if not cluster.path or not cluster.url:
        return ()
    root = {
        "apiVersion": argocd_names.API,
        "kind": argocd_names.APPLICATION,
        "metadata": {"name": "root", "namespace": namespace},
        "spec": {
            "project": "default",
            "source": {"repoURL": cluster.url, "targetRevision": cluster.branch or "HEAD", "path": cluster.path},
            "destination": {"server": IN_CLUSTER, "namespace": namespace},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}, "syncOptions": ["ServerSideApply=true"]},
        },
    }
    return (Object(root),)


def projects(
    roots: Iterable[Object], known: Mapping[ObjectId, Object], renditions: Iterable[Rendition], *, namespace: str
) -> tuple[Object, ...]:
    """The projects that roots are in and that nothing brings before them."""
    renditions = list(renditions)
    in_bootstrap = {obj.id for each in renditions if each.side == Side.BOOTSTRAP for obj in each.objects}
    found: dict[ObjectId, Object] = {}
    for root in roots:
        spec = mapping(root.value, "spec")
        name = text(spec, "project") or text(spec, "template", "spec", "project") or "default"
        identity = ObjectId(argocd_names.GROUP, argocd_names.APP_PROJECT, root.id.namespace, name)
        if identity in in_bootstrap or "{{" in name:
            continue
        if identity in known:
            # Git brings it, by the very Application that needs it.
            found[identity] = known[identity]
        elif name == "default" and renditions and not _has_server(renditions, namespace):
            found[identity] = _default(root.id.namespace)
    return tuple(found.values())


def _has_server(renditions: Iterable[Rendition], namespace: str) -> bool:
    """Whether Argo CD's API server is installed, which makes the project ``default`` when it starts."""
    return any(
        obj.id.kind == "Deployment"
        and obj.id.name.endswith(argocd_names.SERVER)
        and obj.id.namespace in ("", namespace)
        for each in renditions
        for obj in each.objects
    )


def _default(namespace: str) -> Object:
    """The project as Argo CD's API server makes it."""
    spec = {
        "sourceRepos": ["*"],
        "destinations": [{"namespace": "*", "server": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    }
    metadata = {"name": "default", "namespace": namespace}
    return Object(
        {"apiVersion": argocd_names.API, "kind": argocd_names.APP_PROJECT, "metadata": metadata, "spec": spec}
    )


def home(platform: Platform, cluster: Cluster, renditions: Iterable[Rendition]) -> str:
    """The namespace of Argo CD itself."""
    engines = {each.name for each in platform.components_of(cluster.name) if each.role == "engine"}
    for rendition in renditions:
        if rendition.component in engines:
            for each in rendition.objects:
                if each.id.kind in ("Deployment", "StatefulSet") and each.id.namespace:
                    return each.id.namespace
    return argocd_names.NAMESPACE


def repositories(platform: Platform, cluster: Cluster, *, namespace: str) -> tuple[Object, ...]:
    """What makes Secrets of the foundation the credentials of the repository: a label, and what is no secret of it."""
    return tuple(
        _repository(each, cluster.url)
        for each in platform.secrets
        if each.cluster in ("", cluster.name)
        and each.namespace == namespace
        and secret_words.ARGOCD_REPOSITORY & {*each.data}
    )


def _repository(secret: FoundationSecret, url: str) -> Object:
    # Credentials for a prefix of URLs have no type; those of one repository have.
    said = {"type": "git", "url": url}
    added = {
        name: base64.b64encode(value.encode()).decode()
        for name, value in said.items()
        if name not in secret.data and value
    }
    metadata = {
        "name": secret.name,
        "namespace": secret.namespace,
        "labels": {argocd_names.SECRET_TYPE_LABEL: "repository"},
    }
    value = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    return Object({**value, **({"data": added} if added else {})})
