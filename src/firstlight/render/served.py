"""What a cluster serves: the kinds that its CRDs define, beside those of Kubernetes itself."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object
from firstlight.render import kubernetes


@dataclasses.dataclass(frozen=True)
class Served:
    """Kinds that CRDs define."""

    api_versions: tuple[str, ...] = ()
    """``monitoring.coreos.com/v1`` and ``monitoring.coreos.com/v1/ServiceMonitor``, sorted."""
    scopes: Mapping[tuple[str, str], bool] = dataclasses.field(default_factory=dict)
    """Whether a kind is in a namespace, by group and kind."""
    missing: tuple[str, ...] = ()
    """Components that could not be rendered, so that their kinds are not known."""


def of(objects: Iterable[Object], *, missing: Iterable[str] = ()) -> Served:
    """What the CRDs among objects define."""
    versions: set[str] = set()
    scopes: dict[tuple[str, str], bool] = {}
    for each in objects:
        if not each.is_crd:
            continue
        spec = _mapping(each.value.get("spec"))
        group, kind = str(spec.get("group") or ""), str(_mapping(spec.get("names")).get("kind") or "")
        scopes[group, kind] = spec.get("scope") != "Cluster"
        listed = spec.get("versions")
        for version in listed if isinstance(listed, list) else ():
            if _mapping(version).get("served") is not False and (name := _mapping(version).get("name")):
                versions |= {f"{group}/{name}", f"{group}/{name}/{kind}"}
    return Served(tuple(sorted(versions)), scopes, tuple(sorted(missing)))


def is_namespaced(id: ObjectId, served: Served) -> bool | None:
    """Whether a kind is in a namespace; None where nothing tells."""
    known = kubernetes.scopes().get((id.group, id.kind))
    return known if known is not None else served.scopes.get((id.group, id.kind))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
