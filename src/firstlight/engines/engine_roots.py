"""What points the engine at the repo: the source that it fetches, and the roots that make it reconcile.

Both are what the repo declares, or else what ``flux bootstrap``, Flux's operator or a person with Argo CD would make.
Nothing may bring the roots before the baseline is saved; the sources alone change nothing.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.engines import adapters
from firstlight.engines.argocd import roots as argocd_roots
from firstlight.engines.flux import roots as flux_roots
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import ObjectId, Side
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition

_STARTING = {(each.group, each.kind) for each in adapters.KINDS.values() if each.is_starting}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """What makes an engine follow a repo."""

    sources: tuple[Object, ...] = ()
    roots: tuple[Object, ...] = ()
    """In the order in which they are applied; a FluxInstance is among them with its ``sync``."""
    made: tuple[ObjectId, ...] = ()
    """What the engine makes of the roots by itself: the root Kustomization of a FluxInstance."""
    by_operator: frozenset[ObjectId] = frozenset()
    """Sources that Flux's operator will own."""
    unclear: str = ""
    """Why nothing is known of the roots, where that is so."""


def of(platform: Platform, cluster: Cluster, renditions: Iterable[Rendition]) -> Roots:
    """The source and the roots of a cluster; nothing where it has no engine.

    Args:
        platform: What was read.
        cluster: One of its clusters.
        renditions: What its components deploy.
    """
    mine = [each for each in renditions if each.cluster == cluster.name]
    # What bootstrap applies comes first: of two that are called the same, that is the one that will be there.
    ordered = sorted(mine, key=lambda each: each.side != Side.BOOTSTRAP)
    known = {obj.id: obj for each in reversed(ordered) for obj in reversed(each.objects)}
    match cluster.engine:
        case Engine.FLUX:
            return _of_flux(platform, cluster, known)
        case Engine.ARGOCD:
            return _of_argocd(platform, cluster, known, mine)
        case _:
            return Roots()


def is_starting(identity: ObjectId) -> bool:
    """Whether an object makes an engine reconcile something."""
    return (identity.group, identity.kind) in _STARTING


def is_source(identity: ObjectId) -> bool:
    """Whether an object says from where Flux fetches."""
    return identity.group == flux_names.SOURCE_GROUP


def syncs(obj: Object) -> bool:
    """Whether it is a FluxInstance that makes a root of its own."""
    return flux_roots.is_instance(obj.id) and bool(mapping(obj.value, "spec", "sync"))


def without_sync(obj: Object) -> Object:
    """A FluxInstance that installs Flux and follows nothing yet."""
    spec: Mapping[str, Any] = mapping(obj.value, "spec")
    return Object({**obj.value, "spec": {name: each for name, each in spec.items() if name != "sync"}})


def _of_flux(platform: Platform, cluster: Cluster, known: Mapping[ObjectId, Object]) -> Roots:
    instance = flux_roots.instance(platform, cluster, known)
    if instance is not None:
        source, root = flux_roots.of_instance(instance)
        return Roots(sources=(source,), roots=(instance,), made=(root,), by_operator=frozenset({source.id}))
    roots = flux_roots.declared(platform, cluster) or flux_roots.synthesized(cluster)
    if not roots:
        return Roots(unclear=f"nothing says which directory of the repo is {cluster.name}'s")
    sources: dict[ObjectId, Object] = {}
    others: dict[ObjectId, Object] = {}
    for each in roots:
        source_id = flux_roots.source_of(each)
        found = known.get(source_id) or flux_roots.source(source_id, platform, cluster)
        if found is None:
            missing = f"{source_id.kind} {source_id.namespace}/{source_id.name}"
            return Roots(roots=roots, unclear=f"{missing} is nowhere in the repo, and nothing says what it fetches")
        (sources if flux_roots.is_of(found, cluster) else others)[found.id] = found
    return Roots(sources=tuple(sources.values()), roots=(*others.values(), *roots))


def _of_argocd(
    platform: Platform, cluster: Cluster, known: Mapping[ObjectId, Object], renditions: Iterable[Rendition]
) -> Roots:
    roots, unclear = argocd_roots.declared(platform, cluster)
    home = argocd_roots.home(platform, cluster, renditions)
    if not roots and not unclear:
        roots = argocd_roots.synthesized(cluster, namespace=home)
    if not roots:
        return Roots(unclear=unclear or f"nothing says which directory of the repo is {cluster.name}'s")
    projects = argocd_roots.projects(roots, known, renditions, namespace=home)
    return Roots(sources=argocd_roots.repositories(platform, cluster, namespace=home), roots=(*projects, *roots))
