"""The engine's objects that own others: which one it is, what it lists as its own, which commit it has applied."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner
from firstlight.ownership import inventories

_VERSIONS = {"Kustomization": "v1", "HelmRelease": "v2", "FluxInstance": "v1", "ResourceSet": "v1"}


def holder_of(owner: ObjectOwner) -> ObjectId | None:
    """The engine's object that an owner is, None if it is none; an Application may be in any namespace."""
    kind, _, place = owner.name.partition(" ")
    namespace, _, name = place.rpartition("/")
    if kind == "Application":
        return ObjectId(inventories.APPLICATION[0], kind, namespace, name)
    group = inventories.FLUX_KINDS.get(kind)
    return ObjectId(group, kind, namespace, name) if group else None


def api_version(holder: ObjectId) -> str:
    """In which version an engine's object is read."""
    return f"{holder.group}/{_VERSIONS.get(holder.kind, 'v1alpha1')}"


def objects_of(holder: Mapping[str, Any]) -> frozenset[ObjectId] | None:
    """What an engine's object lists as its own; None if it keeps no list, as helm-controller before 1.5."""
    for each in inventories.collect([holder]).by_owner.values():
        return each.objects
    return None


def revision_of(holder: Mapping[str, Any]) -> str:
    """The commit that an engine's object has applied, as far as it follows Git."""
    if holder.get("kind") == "Application":
        several = [each for each in sequence(holder, "status", "sync", "revisions") if isinstance(each, str)]
        return text(holder, "status", "sync", "revision") or next(iter(several), "")
    return text(holder, "status", "lastAppliedRevision").rpartition(":")[2]


def namespace_of(holder: Mapping[str, Any]) -> str:
    """Where an engine puts objects that name no namespace; empty where nothing says so."""
    spec = mapping(holder, "spec")
    match holder.get("kind"):
        case "Application":
            return text(spec, "destination", "namespace")
        case "HelmRelease":
            return text(spec, "targetNamespace") or text(holder, "metadata", "namespace")
    return text(spec, "targetNamespace")
