"""Who owns each object of a cluster: from its field managers, its marks, what brings it, and what owners list."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.model.component import ObjectId
from firstlight.model.owner import Flaw, Flawed, ObjectOwner, OwnedObject, Party
from firstlight.ownership import claims as ownership_claims
from firstlight.ownership import managers as ownership_managers
from firstlight.ownership.claims import OwnershipClaim
from firstlight.ownership.field_set import FieldSet, path_text
from firstlight.ownership.inventories import INVENTORIES, OWNING, Inventories
from firstlight.ownership.managers import Manager

ENGINES = (Party.FLUX, Party.ARGOCD)
_KEEPING = (Party.TALOS, Party.BOOTSTRAP, Party.HELM, Party.SYSTEM)
"""Who may have what bootstrap keeps: it is applied by Talos, by firstlight, or by Helm in its name."""


@dataclasses.dataclass(frozen=True, slots=True)
class DeclaredOwnership:
    """Who is to own an object, as the repo says."""

    component: str
    owner: ObjectOwner | None
    """None where bootstrap keeps it."""
    is_passing: bool = False
    """Whether bootstrap brings it before it is that owner's, so that a handover takes it."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Seen:
    """One object, looked at."""

    id: ObjectId
    live: Mapping[str, Any]
    managers: tuple[Manager, ...]
    """Those that own something that somebody wrote."""


def every(
    objects: Iterable[Mapping[str, Any]],
    known: Inventories,
    *,
    declared: Mapping[ObjectId, DeclaredOwnership] | None = None,
    with_fields: bool = False,
) -> tuple[OwnedObject, ...]:
    """All objects of a cluster with their owners, sorted; what one of them brings has the owner of that one.

    Args:
        objects: Their metadata is enough.
        known: What owners say.
        declared: Who is to own what; None where no repo says so.
        with_fields: Whether the managers of every field are told.
    """
    listed = list(objects)
    by_uid = {uid: each for each in listed if (uid := text(each, "metadata", "uid"))}
    made: dict[int, OwnedObject] = {}

    def owned(live: Mapping[str, Any], below: frozenset[int] = frozenset()) -> OwnedObject:
        if id(live) not in made:
            parent = _parent(live, by_uid)
            # Two that name each other as owners would be a circle; then nobody is on top.
            is_known = parent is not None and id(parent) not in below
            above = owned(parent, below | {id(live)}) if parent is not None and is_known else None
            to_be = (declared or {}).get(ObjectId.of(live))
            found = one(live, known, above=above, declared=to_be)
            if declared is not None:
                found = dataclasses.replace(found, is_passing=to_be is not None and to_be.is_passing)
            made[id(live)] = dataclasses.replace(found, fields=fields(live)) if with_fields else found
        return made[id(live)]

    return tuple(sorted(map(owned, listed), key=lambda each: (each.id, each.api_version)))


def one(
    live: Mapping[str, Any],
    known: Inventories,
    *,
    above: OwnedObject | None = None,
    declared: DeclaredOwnership | None = None,
) -> OwnedObject:
    """One object with its owners and what is wrong with them.

    Args:
        live: Its metadata is enough.
        known: What owners say.
        above: What brings it, by its ownerReferences.
        declared: Who is to own it.
    """
    id = ObjectId.of(live)
    every_manager = ownership_managers.of(live)
    seen = _Seen(id, live, tuple(each for each in every_manager if not each.is_incidental))
    claims = ownership_claims.of(live, known, seen.managers)
    base = OwnedObject(
        id=id, api_version=text(live, "apiVersion"), owner=ObjectOwner(Party.NOBODY),
        component=declared.component if declared else "",
    )  # fmt: skip
    if not any(each.is_listed for each in claims):
        if above is not None:
            return dataclasses.replace(base, owner=above.owner, under=above.under or above.id)
        if reference := next(iter(sequence(live, "metadata", "ownerReferences")), None):
            return dataclasses.replace(base, owner=_stranger(reference))
        if is_system_object(id, live, every_manager):
            return dataclasses.replace(base, owner=ObjectOwner(Party.SYSTEM))
    owner, flaws = _judged(seen, claims, known)
    if owner.party == Party.NOBODY and declared is not None and declared.owner is None:
        # Of a name alone, as ServiceAccounts have it, nobody can own a field; bootstrap keeps it all the same.
        owner = ObjectOwner(Party.BOOTSTRAP)
    flaws += _stale(seen, owner, claims, known)
    flaws += _misplaced(owner, claims, declared) or _orphaned(owner)
    others = {each.owner for each in claims if each.is_alive} | set(map(_as_owner, seen.managers))
    return dataclasses.replace(
        base,
        owner=owner,
        co_owners=tuple(sorted(each for each in others if not _is_part(each, owner, claims))),
        flaws=tuple(flaws),
    )


def fields(live: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The managers of every field, by path."""
    found: dict[str, list[str]] = {}
    for each in ownership_managers.of(live):
        for path in FieldSet.of(each.fields).paths:
            found.setdefault(_path_text(path), []).append(each.name)
    return {path: tuple(dict.fromkeys(names)) for path, names in sorted(found.items())}


_path_text = functools.lru_cache(maxsize=65536)(path_text)
"""Objects of a kind have the same fields."""


def _parent(live: Mapping[str, Any], by_uid: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
    references = sequence(live, "metadata", "ownerReferences")
    for each in sorted(references, key=lambda one: not mapping(one).get("controller")):
        if (found := by_uid.get(text(each, "uid"))) is not None:
            return found
    return None


def _stranger(reference: Any) -> ObjectOwner:
    """What an ownerReference names and the cluster does not show."""
    return ObjectOwner(Party.CONTROLLER, f"{text(reference, 'kind')} {text(reference, 'name')}")


def _judged(seen: _Seen, claims: Sequence[OwnershipClaim], known: Inventories) -> tuple[ObjectOwner, list[Flawed]]:
    """The owner, and what its marks and inventories say that is wrong."""
    engines = [each for each in claims if each.owner.party in ENGINES]
    alive = [each for each in engines if each.is_alive]
    if len(alive) > 1:
        names = " and ".join(each.owner.name for each in alive)
        return alive[0].owner, [Flawed(Flaw.TWO_ENGINES, f"{names} both have it")]
    if alive:
        flaws = [Flawed(Flaw.SOURCE_GONE, alive[0].wrong)] if alive[0].wrong else []
        return alive[0].owner, flaws
    if engines:
        return engines[0].owner, [Flawed(Flaw.SOURCE_GONE, engines[0].wrong)]
    if claims:
        return claims[0].owner, [Flawed(Flaw.SOURCE_GONE, each.wrong) for each in claims[:1] if each.wrong]
    if (talos := _talos(seen, known)) is not None:
        return talos
    return _by_managers(seen), []


def _talos(seen: _Seen, known: Inventories) -> tuple[ObjectOwner, list[Flawed]] | None:
    """Talos or Omni, where an inventory of theirs has it, is named by it, or is it."""
    if seen.id.kind == "ConfigMap" and seen.id.name in INVENTORIES:
        return _inventory_owner(seen.id.name), []
    for name, objects in sorted(known.talos.items()):
        if seen.id in objects:
            return _inventory_owner(name), []
    name = text(mapping(seen.live, "metadata", "annotations"), OWNING)
    if name and any(each.party == Party.TALOS for each in seen.managers):
        gone = f"the inventory {name} does not list it" if name in known.talos else ""
        return _inventory_owner(name), [Flawed(Flaw.SOURCE_GONE, gone)] if gone else []
    return None


def _inventory_owner(name: str) -> ObjectOwner:
    return ObjectOwner(Party.TALOS, name if name.startswith("omni") else "")


def _by_managers(seen: _Seen) -> ObjectOwner:
    """The owner of what carries no mark."""
    by_party: dict[Party, list[str]] = {}
    for each in seen.managers:
        by_party.setdefault(each.party, []).append(each.name)
    for party in (Party.BOOTSTRAP, Party.TALOS, Party.HELM):
        if party in by_party:
            return ownership_managers.owner(sorted(by_party[party])[0])
    for party in ENGINES:
        if party in by_party:
            # Bootstrap applies as whom it hands over to; engines themselves always leave marks.
            return ObjectOwner(Party.BOOTSTRAP, f"as {by_party[party][0]}")
    controllers = by_party.get(Party.CONTROLLER, [])
    # The server's own name for whoever was first says least.
    people = sorted(
        by_party.get(Party.PERSON, []),
        key=lambda each: (not ownership_managers.makes(each), each == ownership_managers.BEFORE),
    )
    if people and (not controllers or ownership_managers.makes(people[0])):
        return ownership_managers.owner(people[0])
    if controllers:
        return ownership_managers.owner(controllers[0])
    return ObjectOwner(Party.SYSTEM if Party.SYSTEM in by_party else Party.NOBODY)


def _stale(seen: _Seen, owner: ObjectOwner, claims: Sequence[OwnershipClaim], known: Inventories) -> list[Flawed]:
    """Who applied it before its engine did, and still owns fields of it."""
    if owner.party not in ENGINES or owner not in {each.owner for each in claims if each.is_alive}:
        return []
    mine = {ownership_managers.APPLIES.get(each.owner.name.partition(" ")[0], "") for each in claims if each.is_alive}
    applies = ownership_managers.APPLIES.get(owner.name.partition(" ")[0], "")
    says = [
        f"{each.name} still owns {_some(each.fields)}"
        for each in seen.managers
        if ownership_managers.is_stale(each, applies) and each.name not in mine
    ]
    says += [
        f"the inventory {name} still has it" for name, objects in sorted(known.talos.items()) if seen.id in objects
    ]
    for claim in claims:
        if claim.owner != owner and not claim.is_alive:
            says.append(f"it carries the mark of another: {claim.wrong}")
        elif claim.owner.party == Party.HELM:
            says.append(f"the Helm {claim.owner.name} still has it")
    return [Flawed(Flaw.STALE_CO_OWNER, each) for each in says]


def _some(fields: Mapping[str, Any]) -> str:
    leaves = FieldSet.of(fields).leaves()
    # What is written says more than what holds it.
    first = next((each for each in leaves if each[-1] != "." and each[0] != "f:metadata"), leaves[0] if leaves else ())
    return path_text(first) if len(leaves) == 1 else f"{len(leaves)} fields, such as {path_text(first)}"


def _misplaced(
    owner: ObjectOwner, claims: Sequence[OwnershipClaim], declared: DeclaredOwnership | None
) -> list[Flawed]:
    """What the repo says otherwise."""
    if declared is None:
        return []
    if declared.owner is None:
        if owner.party in _KEEPING:
            return []
        return [Flawed(Flaw.NOT_AS_DECLARED, f"{owner} has it, and bootstrap is to keep it")]
    if declared.owner in {each.owner for each in claims if each.is_alive}:
        return []
    return [Flawed(Flaw.NOT_AS_DECLARED, f"{owner} has it, and {declared.owner.name} is to own it")]


_MADE = {
    ownership_managers.BEFORE: "made before anybody applied it",
    ownership_managers.ANCIENT: "so many have changed it that the server has forgotten who made it",
}


def _orphaned(owner: ObjectOwner) -> list[Flawed]:
    says = ""
    match owner.party:
        case Party.PERSON:
            made = _MADE.get(owner.name, f"made with {owner.name}")
            says = f"{made}, and nothing in Git brings it"
        case Party.NOBODY:
            says = "nobody owns a field of it"
        case Party.HELM if not owner.name:
            says = "Helm made it outside of a release, and never updates it"
        case Party.BOOTSTRAP if owner.name.startswith("as "):
            says = f"applied {owner.name}, but nothing of the engine has it"
    return [Flawed(Flaw.ORPHAN, says)] if says else []


def _as_owner(manager: Manager) -> ObjectOwner:
    return ownership_managers.owner(manager.name)


def _is_part(other: ObjectOwner, owner: ObjectOwner, claims: Sequence[OwnershipClaim]) -> bool:
    """Whether another is the owner itself under the name of its manager, or of the system."""
    if other == owner or other.party == Party.SYSTEM:
        return True
    kinds = {each.owner.name.partition(" ")[0] for each in claims if each.is_alive} | {owner.name.partition(" ")[0]}
    if other.party in ENGINES:
        return (
            other.name in {ownership_managers.APPLIES.get(kind, "") for kind in kinds}
            or owner.name == f"as {other.name}"
        )
    if other == ObjectOwner(Party.HELM) and any(each.owner.party == Party.HELM for each in claims):
        return True
    return other.party == owner.party and other.party in (Party.TALOS, Party.BOOTSTRAP, Party.HELM)


# Objects that Kubernetes makes by itself: nobody applies them, and they are no orphans.


SYSTEM_KINDS = frozenset(
    {
        ("", "Node"),
        ("", "Endpoints"),
        ("", "Event"),
        ("", "ComponentStatus"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("coordination.k8s.io", "Lease"),
        ("coordination.k8s.io", "LeaseCandidate"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
        ("internal.apiserver.k8s.io", "StorageVersion"),
        ("networking.k8s.io", "IPAddress"),
        ("resource.k8s.io", "ResourceSlice"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""Those that only parts of the system make: their objects carry labels of others, such as a Service's."""
_NAMES = frozenset(
    {
        ("Namespace", "", "default"),
        ("Namespace", "", "kube-system"),
        ("Namespace", "", "kube-public"),
        ("Namespace", "", "kube-node-lease"),
        ("Service", "default", "kubernetes"),
        ("ServiceCIDR", "", "kubernetes"),
        ("PriorityClass", "", "system-cluster-critical"),
        ("PriorityClass", "", "system-node-critical"),
        ("ConfigMap", "kube-system", "extension-apiserver-authentication"),
        ("ConfigMap", "kube-system", "kube-apiserver-legacy-service-account-token-tracking"),
        ("ConfigMap", "kube-public", "cluster-info"),
    }
)
_EVERYWHERE = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
"""Made in every namespace."""
_LABELS = ("kubernetes.io/bootstrapping", "kube-aggregator.kubernetes.io/automanaged")
_UPDATED = "apf.kubernetes.io/autoupdate-spec"


def is_system_object(id: ObjectId, live: Mapping[str, Any], managers: Sequence[Manager]) -> bool:
    """Whether the system makes an object by itself.

    Args:
        id: What it is called.
        live: The object; its metadata is enough.
        managers: Who owns fields of it.
    """
    if (id.group, id.kind) in SYSTEM_KINDS or (id.kind, id.name) in _EVERYWHERE:
        return True
    if (id.kind, id.namespace, id.name) in _NAMES:
        return True
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    if any(each in labels for each in _LABELS) or _UPDATED in annotations:
        return True
    if managers:
        return all(each.party == Party.SYSTEM for each in managers)
    # kube-controller-manager makes one for each of its controllers, with nothing in it that could be owned.
    return (id.kind, id.namespace) == ("ServiceAccount", "kube-system")
