"""Where Flux begins: its root Kustomization and the source of that, as ``flux bootstrap`` or its operator make them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.engines.adapter import Roots
from firstlight.model import flux_names, secret_words
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Side, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition

_OFTEN, _SELDOM = "1m0s", "10m0s"
"""What ``flux bootstrap`` and the operator write for sources and for the root."""
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_BEFORE_V1 = re.compile(r"v?2\.[0-5](\.|$)")
"""Versions of Flux whose OCIRepository and Bucket are v1beta2."""


def roots(
    platform: Platform, cluster: Cluster, known: Mapping[ObjectId, Object], renditions: Sequence[Rendition]
) -> Roots:
    """Return the source and the roots of a cluster.

    Args:
        platform: What was read.
        cluster: One of its clusters.
        known: What its components deploy.
        renditions: The same, by component.
    """
    made = _instance(platform, cluster, known)
    if made is not None:
        fetching, root = of_instance(made)
        return Roots(sources=(fetching,), roots=(made,), made=(root,), by_operator=frozenset({fetching.id}))
    ours = declared(platform, cluster) or synthesized(cluster)
    if not ours:
        return Roots(unclear=f"nothing says which directory of the repo is {cluster.name}'s")
    sources: dict[ObjectId, Object] = {}
    others: dict[ObjectId, Object] = {}
    for each in ours:
        source_id = source_of(each)
        found = known.get(source_id) or source(source_id, platform, cluster)
        if found is None:
            missing = f"{source_id.kind} {source_id.namespace}/{source_id.name}"
            return Roots(roots=ours, unclear=f"{missing} is nowhere in the repo, and nothing says what it fetches")
        (sources if is_of(found, cluster) else others)[found.id] = found
    return Roots(sources=tuple(sources.values()), roots=(*others.values(), *ours))


def is_instance(identity: ObjectId) -> bool:
    """Whether it is what Flux's operator installs Flux from."""
    return identity.group == flux_names.OPERATOR_GROUP and identity.kind == flux_names.FLUX_INSTANCE


def _instance(platform: Platform, cluster: Cluster, known: Mapping[ObjectId, Object]) -> Object | None:
    """The FluxInstance that makes a root of its own, if there is one: as it was rendered, or as Git has it."""
    listed = [
        Object(origin.definition)
        for component in platform.components_of(cluster.name)
        for origin in component.origins
        if origin.form == SourceForm.FLUX_INSTANCE and origin.definition
    ]
    for each in [*known.values(), *listed]:
        if is_instance(each.id) and text(each.value, "spec", "sync", "url"):
            return each
    return None


def of_instance(obj: Object) -> tuple[Object, ObjectId]:
    """The source that the operator makes of a FluxInstance, and the root Kustomization that it makes beside it."""
    sync = mapping(obj.value, "spec", "sync")
    namespace = obj.id.namespace or flux_names.FLUX_SYSTEM
    name, kind = text(sync, "name") or namespace, text(sync, "kind") or flux_names.GIT_REPOSITORY
    ref = text(sync, "ref")
    spec: dict[str, Any] = {"interval": go_duration(text(sync, "interval") or "1m")}
    match kind:
        case flux_names.OCI_REPOSITORY:
            spec |= {"ref": {"tag": ref}, "url": text(sync, "url")}
        case flux_names.BUCKET:
            spec |= {"bucketName": ref, "endpoint": text(sync, "url")}
        case _:
            spec |= {"ref": {"name": ref}, "url": text(sync, "url")}
    if pull := text(sync, "pullSecret"):
        spec["secretRef"] = {"name": pull}
    if provider := text(sync, "provider"):
        spec["provider"] = provider
    is_old = kind != flux_names.GIT_REPOSITORY and _BEFORE_V1.match(text(obj.value, "spec", "distribution", "version"))
    source = _object(f"{flux_names.SOURCE_GROUP}/{'v1beta2' if is_old else 'v1'}", kind, namespace, name, spec)
    return source, ObjectId(flux_names.KUSTOMIZE_GROUP, flux_names.KUSTOMIZATION, namespace, name)


def declared(platform: Platform, cluster: Cluster) -> tuple[Object, ...]:
    """The Kustomizations that no other one brings, as the repo has them or a script makes them."""
    found: dict[ObjectId, Object] = {}
    for component in platform.components_of(cluster.name):
        for origin in component.origins:
            if origin.form == SourceForm.KUSTOMIZATION and origin.side == Side.GITOPS and not origin.parent:
                spec = mapping(origin.definition, "spec")
                # A reader that takes a path for a root knows nothing of how often it is looked at.
                whole = Object({**origin.definition, "spec": {"interval": _SELDOM, **spec}})
                found.setdefault(whole.id, whole)
    return tuple(found.values())


def synthesized(cluster: Cluster) -> tuple[Object, ...]:
    """The root that ``flux bootstrap`` would make; nothing where no directory is known."""
    if not cluster.path:
        return ()
    path = "./" if cluster.path == "." else f"./{cluster.path}"
    kind = flux_names.OCI_REPOSITORY if cluster.url.startswith("oci://") else flux_names.GIT_REPOSITORY
    home = flux_names.FLUX_SYSTEM
    spec = {"interval": _SELDOM, "path": path, "prune": True, "sourceRef": {"kind": kind, "name": home}}
    return (_object(flux_names.KUSTOMIZE_API, flux_names.KUSTOMIZATION, home, home, spec),)


def source_of(root: Object) -> ObjectId:
    """The source that a Kustomization names."""
    written = mapping(root.value, "spec", "sourceRef")
    namespace = text(written, "namespace") or root.id.namespace
    return ObjectId(
        flux_names.SOURCE_GROUP, text(written, "kind") or flux_names.GIT_REPOSITORY, namespace, text(written, "name")
    )


def source(identity: ObjectId, platform: Platform, cluster: Cluster) -> Object | None:
    """A source that no file declares, made for the repository that the cluster follows; None if that is not known."""
    if not cluster.url:
        return None
    spec: dict[str, Any] = {"interval": _OFTEN}
    if identity.kind == flux_names.OCI_REPOSITORY:
        spec["ref"] = {"tag": cluster.branch or "latest"}
    elif identity.kind == flux_names.GIT_REPOSITORY:
        spec["ref"] = {"branch": cluster.branch or "main"}
    else:
        return None
    if name := _credentials(platform, cluster, identity):
        spec["secretRef"] = {"name": name}
    return _object(
        flux_names.SOURCE_API, identity.kind, identity.namespace, identity.name, {**spec, "url": cluster.url}
    )


def is_of(found: Object, cluster: Cluster) -> bool:
    """Whether a source fetches the repository that the cluster follows, and not another one."""
    url = text(found.value, "spec", "url")
    return not url or not cluster.url or _bare(url) == _bare(cluster.url)


def _bare(url: str) -> str:
    """A URL without what several spellings of one repository differ in."""
    _, _, rest = url.rpartition("://")
    return rest.rpartition("@")[2].replace(":", "/").rstrip("/").removesuffix(".git").lower()


def _credentials(platform: Platform, cluster: Cluster, identity: ObjectId) -> str:
    """The Secret of the foundation that has credentials for a source: the one of its name, or the only one."""
    fitting = [
        each.name
        for each in platform.secrets
        if each.cluster in ("", cluster.name)
        and each.namespace == identity.namespace
        and secret_words.FLUX_SOURCE & {*each.data}
    ]
    return identity.name if identity.name in fitting else fitting[0] if len(fitting) == 1 else ""


def go_duration(written: str) -> str:
    """A duration as Go prints it, which is how the operator writes it: ``1m`` becomes ``1m0s``."""
    parts = _PART.findall(written)
    if not parts or "".join(number + unit for number, unit in parts) != written:
        return written
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if seconds < 1:
        return f"{seconds * 1000:g}ms" if seconds else "0s"
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours:.0f}h{minutes:.0f}m{rest:g}s"
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"


def _object(api_version: str, kind: str, namespace: str, name: str, spec: Mapping[str, Any]) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return Object({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": dict(spec)})
