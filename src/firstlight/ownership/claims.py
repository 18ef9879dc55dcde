"""Claims of engines and of Helm on an object: who lists it, whose marks it carries, and whether they still exist."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.engines import engine_marks
from firstlight.model import argocd_names, flux_names, helm_names
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner, Party
from firstlight.ownership import inventories
from firstlight.ownership import managers as ownership_managers
from firstlight.ownership.inventories import Inventories
from firstlight.ownership.managers import Manager

_HOOKS = (helm_names.HOOK_ANNOTATION, argocd_names.HOOK_ANNOTATION)
"""Annotations of what is run, and is not there to stay."""
_LEFT_OUT = (flux_names.RECONCILE_ANNOTATION, flux_names.SSA_ANNOTATION)
"""With these a Kustomization may leave an object out of its inventory."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipClaim:
    """That somebody owns an object."""

    owner: ObjectOwner
    is_listed: bool = False
    """Whether the owner itself lists it; a mark alone may be a copy."""
    is_alive: bool = True
    """Whether the owner exists, and does not deny it."""
    wrong: str = ""
    """What is wrong with it, in words."""


def of(live: Mapping[str, Any], known: Inventories, managers: Sequence[Manager]) -> tuple[OwnershipClaim, ...]:
    """All claims; those of engines first, and of them the one whose mark the object carries.

    Args:
        live: The object; its metadata is enough.
        known: What owners say.
        managers: Who owns something of it that somebody wrote.
    """
    id = ObjectId.of(live)
    listed = {
        each: _listed(each, id, known)
        for each in known.listing.get(id, ())
        if not _has_let_go(each, live, known, managers)
    }
    found: dict[ObjectOwner, OwnershipClaim] = {}
    for mark in engine_marks.every(live):
        owner = known.resolve(ObjectOwner(Party(mark.engine.value), mark.owner))
        if owner in listed:
            found[owner] = listed[owner]
        elif _is_own(owner, live, known, managers):
            found.setdefault(owner, _marked(owner, id, live, known))
    found = {**found, **{owner: each for owner, each in listed.items() if owner not in found}}
    for claim in _helm(live, known, managers):
        if claim.owner not in found:
            found[claim.owner] = claim
    return tuple(found.values())


def _has_let_go(owner: ObjectOwner, live: Mapping[str, Any], known: Inventories, managers: Sequence[Manager]) -> bool:
    """Whether an owner that rests lists what somebody else has by now: neither its mark nor a field of its is there."""
    if not known.by_owner[owner].is_resting or any(each.owner == owner.name for each in engine_marks.every(live)):
        return False
    applies = ownership_managers.APPLIES.get(owner.name.partition(" ")[0])
    return bool(managers) and all(each.name != applies for each in managers)


def _listed(owner: ObjectOwner, id: ObjectId, known: Inventories) -> OwnershipClaim:
    gone = f"Git does not have it any more: {owner.name} is to prune it" if id in known.by_owner[owner].left else ""
    return OwnershipClaim(owner=owner, is_listed=True, wrong=gone)


def _is_own(owner: ObjectOwner, live: Mapping[str, Any], known: Inventories, managers: Sequence[Manager]) -> bool:
    """Whether a mark was put there by its engine: controllers copy labels from one object to the next."""
    if owner.party == Party.ARGOCD:
        # A tracking id names its object; the label alone is one that charts use as well.
        return (
            argocd_names.TRACKING_ID_ANNOTATION in mapping(live, "metadata", "annotations") or owner in known.by_owner
        )
    applies = ownership_managers.APPLIES.get(owner.name.partition(" ")[0])
    return not managers or any(each.name == applies for each in managers)


def is_hook(obj: Mapping[str, Any]) -> bool:
    """Whether an object is run by Helm or Argo CD, and is not there to stay."""
    annotations = mapping(obj, "metadata", "annotations")
    return any(each in annotations for each in _HOOKS)


def _marked(owner: ObjectOwner, id: ObjectId, live: Mapping[str, Any], known: Inventories) -> OwnershipClaim:
    """What the mark of an owner says that does not list the object."""
    kind = owner.name.partition(" ")[0]
    inventory = known.by_owner.get(owner)
    if inventory is None:
        gone = f"{owner.name} does not exist" if kind in known.known else ""
        return OwnershipClaim(owner=owner, is_alive=not gone, wrong=gone)
    annotations, labels = mapping(live, "metadata", "annotations"), mapping(live, "metadata", "labels")
    is_left_out = is_hook(live) or any(each in marks for each in _LEFT_OUT for marks in (annotations, labels))
    # helm-controller writes no namespace where it does not know the kind yet.
    bare = dataclasses.replace(id, namespace="")
    if inventory.objects is None or is_left_out or bare in inventory.objects:
        return OwnershipClaim(owner=owner)
    return OwnershipClaim(owner=owner, is_alive=False, wrong=f"{owner.name} does not list it")


def _helm(live: Mapping[str, Any], known: Inventories, managers: Sequence[Manager]) -> Iterator[OwnershipClaim]:
    """The release of which an object is a part, or the record."""
    if key := inventories.release_key(live):
        yield OwnershipClaim(owner=known.release(*key) or _release(key))
        return
    annotations = mapping(live, "metadata", "annotations")
    key = (
        text(annotations, helm_names.RELEASE_NAMESPACE_ANNOTATION),
        text(annotations, helm_names.RELEASE_NAME_ANNOTATION),
    )
    if not key[1] or not _by_helm(managers):
        return
    owner = known.release(*key)
    if owner is not None and owner.party == Party.FLUX:
        listed = known.by_owner[owner].objects
        if listed is None or is_hook(live):
            yield OwnershipClaim(owner=owner)
        return
    gone = f"the Helm release {key[0]}/{key[1]} does not exist" if owner is None and known.are_releases_known else ""
    yield OwnershipClaim(owner=owner or _release(key), is_alive=not gone, wrong=gone)


def _by_helm(managers: Sequence[Manager]) -> bool:
    return not managers or any(each.name in (helm_names.FIELD_MANAGER, flux_names.HELM_CONTROLLER) for each in managers)


def _release(key: tuple[str, str]) -> ObjectOwner:
    return ObjectOwner(Party.HELM, f"release {key[0]}/{key[1]}")
