"""What points the engine at the repo: the source that it fetches, and the roots that make it reconcile.

Both are what the repo declares, or else what ``flux bootstrap``, Flux's operator or a person with Argo CD would make.
Nothing may bring the roots before the baseline is saved; the sources alone change nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.engines import adapters
from firstlight.engines.adapter import Roots
from firstlight.engines.flux import roots as flux_roots
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Side
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition

_STARTING = {(each.group, each.kind) for each in adapters.KINDS.values() if each.is_starting}


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
    return adapters.ADAPTERS[cluster.engine].roots(platform, cluster, known, mine) if cluster.engine else Roots()


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
