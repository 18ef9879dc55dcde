"""What owners themselves say that is theirs: inventories of Flux, Argo CD, Talos and Omni, and releases of Helm."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping, number, sequence, text
from firstlight.engines import engine_marks
from firstlight.engines.flux.adapter import FLUX
from firstlight.model import argocd_names, flux_names, helm_names, talos_names
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner, Party

FLUX_KINDS = {each.kind: each.group for each in FLUX.kinds}
APPLICATION = (argocd_names.GROUP, argocd_names.APPLICATION)
KINDS = (*((group, kind) for kind, group in FLUX_KINDS.items()), APPLICATION)
"""What has an inventory: group and kind."""
INVENTORIES = frozenset(
    {
        talos_names.MANIFESTS_INVENTORY,
        "omni-user-inventory",
        "omni-internal-inventory",
        "omni-sync-one-time",
    }
)
"""The ConfigMaps in which Talos and Omni note what they applied."""
INVENTORY_NAMESPACE = "kube-system"
OWNING = "config.k8s.io/owning-inventory"
"""The annotation with which Talos and Omni name the inventory of an object."""
_HERE = ("", "https://kubernetes.default.svc")
_DIGITS = 10


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnerInventory:
    """What one owner says that is its own."""

    owner: ObjectOwner
    objects: frozenset[ObjectId] | None
    """None where it does not say."""
    left: frozenset[ObjectId] = frozenset()
    """Those of them that its source does not have any more."""
    besides: frozenset[ObjectId] = frozenset()
    """What it makes beside them, for its own use."""
    is_resting: bool = False
    """Whether it is suspended, so that its list is of the time before."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inventories:
    """What all owners of a cluster say."""

    by_owner: Mapping[ObjectOwner, OwnerInventory] = dataclasses.field(default_factory=dict)
    listing: Mapping[ObjectId, tuple[ObjectOwner, ...]] = dataclasses.field(default_factory=dict)
    """Engines that list an object."""
    talos: Mapping[str, frozenset[ObjectId]] = dataclasses.field(default_factory=dict)
    """Inventories of Talos and Omni, by name."""
    releases: Mapping[tuple[str, str], ObjectOwner] = dataclasses.field(default_factory=dict)
    """Releases of Helm that exist, by namespace and name: a HelmRelease, or the release itself."""
    known: frozenset[str] = frozenset()
    """Kinds of owners all of which are known; of others nobody can say that one is gone."""
    are_releases_known: bool = False

    def resolve(self, owner: ObjectOwner) -> ObjectOwner:
        """The owner that a mark names, as inventories call it: Argo CD may put a namespace before an Application."""
        if owner in self.by_owner or owner.party != Party.ARGOCD:
            return owner
        kind, _, name = owner.name.partition(" ")
        namespace, underscore, rest = name.partition("_")
        plain = ObjectOwner(owner.party, f"{kind} {rest}")
        return plain if underscore and namespace and plain in self.by_owner else owner

    def release(self, namespace: str, name: str) -> ObjectOwner | None:
        """Whose a release of Helm is; None if there is none."""
        return self.releases.get((namespace, name))


def collect(
    owners: Iterable[Mapping[str, Any]],
    *,
    known: Iterable[str] = (),
    talos: Iterable[Mapping[str, Any]] = (),
    releases: Iterable[Mapping[str, Any]] = (),
    are_releases_known: bool = False,
) -> Inventories:
    """Everything that owners say.

    Args:
        owners: Kustomizations, HelmReleases, FluxInstances, ResourceSets and Applications, whole.
        known: Kinds of owners all of which are among them.
        talos: ConfigMaps that are inventories of Talos and Omni.
        releases: Secrets or ConfigMaps in which Helm keeps releases; their metadata is enough.
        are_releases_known: Whether these are all.
    """
    records = [(key, each) for each in releases if (key := release_key(each))]
    by_release = {key: ObjectOwner(Party.HELM, f"release {key[0]}/{key[1]}") for key, _ in records}
    newest = {key: max(_revision(each) for other, each in records if other == key) for key in by_release}
    by_owner: dict[ObjectOwner, OwnerInventory] = {}
    for each in owners:
        found = _application(each) if text(each, "kind") == APPLICATION[1] else _flux(each)
        by_owner[found.owner] = _together(by_owner.get(found.owner), found)
        by_release |= dict.fromkeys(_releases(each, newest), found.owner)
    listing: dict[ObjectId, list[ObjectOwner]] = {}
    for inventory in by_owner.values():
        for id in (*(inventory.objects or ()), *inventory.besides):
            listing.setdefault(id, []).append(inventory.owner)
    return Inventories(
        by_owner=by_owner,
        listing={id: tuple(sorted(set(each))) for id, each in listing.items()},
        talos={text(each, "metadata", "name"): talos_objects(each) for each in talos},
        releases=by_release,
        known=frozenset(known),
        are_releases_known=are_releases_known,
    )


def parsed(entry: str) -> ObjectId | None:
    """An entry of an inventory, ``namespace_name_group_kind``; colons in names are written as two underscores."""
    namespace, first, rest = entry.partition("_")
    rest, second, kind = rest.rpartition("_")
    name, third, group = rest.rpartition("_")
    if not (first and second and third and name and kind):
        return None
    return ObjectId(group, kind, namespace, name.replace("__", ":"))


def talos_objects(inventory: Mapping[str, Any]) -> frozenset[ObjectId]:
    """What an inventory of Talos or Omni has."""
    return frozenset(id for each in mapping(inventory, "data") if (id := parsed(str(each))) is not None)


def release_key(live: Mapping[str, Any]) -> tuple[str, str] | None:
    """Namespace and name of the release that a Secret or ConfigMap is the record of; None where it is none."""
    labels = mapping(live, "metadata", "labels")
    name = text(labels, "name")
    if text(labels, "owner") != helm_names.RELEASE_SECRET_OWNER or not name:
        return None
    if not text(live, "metadata", "name").startswith(f"{helm_names.RELEASE_SECRET_PREFIX}{name}."):
        return None
    return text(live, "metadata", "namespace"), name


def _flux(owner: Mapping[str, Any]) -> OwnerInventory:
    id = ObjectId.of(owner)
    entries = mapping(owner, "status", "inventory").get("entries")
    objects = None
    # With a kubeconfig of its own, what it lists is in another cluster.
    if isinstance(entries, list) and not mapping(owner, "spec", "kubeConfig"):
        objects = frozenset(one for each in entries if (one := parsed(text(each, "id"))) is not None)
    # The HelmChart that helm-controller makes of a HelmRelease carries no mark and is in no inventory.
    namespace, _, name = text(owner, "status", "helmChart").partition("/")
    charts = [ObjectId(flux_names.SOURCE_GROUP, flux_names.HELM_CHART, namespace, name)] if name else []
    called = f"{id.kind} {id.namespace}/{id.name}"
    return OwnerInventory(
        owner=ObjectOwner(Party.FLUX, called), objects=objects, besides=frozenset(charts),
        is_resting=engine_marks.is_suspended(owner),
    )  # fmt: skip


def _releases(owner: Mapping[str, Any], newest: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
    """The releases of Helm that a HelmRelease has: where their objects are, and where their records are.

    While it rests, whoever has written another revision has the release.
    """
    if text(owner, "kind") != flux_names.HELM_RELEASE or mapping(owner, "spec", "kubeConfig"):
        return []
    storage = text(owner, "status", "storageNamespace")
    history = sequence(owner, "status", "history")
    found = [(text(each, "namespace"), text(each, "name")) for each in history]
    every = [*found, *((storage, name) for _, name in found if storage)]
    last = max((number(each, "version") for each in history), default=0)
    return [each for each in every if not engine_marks.is_suspended(owner) or newest.get(each, 0) <= last]


def _revision(record: Mapping[str, Any]) -> int:
    written = text(record, "metadata", "labels", "version")
    return int(written) if written.isdecimal() and len(written) < _DIGITS else 0


def _application(owner: Mapping[str, Any]) -> OwnerInventory:
    called = ObjectOwner(Party.ARGOCD, f"Application {text(owner, 'metadata', 'name')}")
    destination = mapping(owner, "spec", "destination")
    resources = mapping(owner, "status").get("resources")
    is_here = text(destination, "server").rstrip("/") in _HERE and text(destination, "name") in ("", "in-cluster")
    if not is_here or not isinstance(resources, list):
        return OwnerInventory(owner=called, objects=None)
    mine = [each for each in resources if isinstance(each, Mapping) and not each.get("hook")]
    return OwnerInventory(
        owner=called,
        objects=frozenset(map(_resource, mine)),
        left=frozenset(_resource(each) for each in mine if each.get("requiresPruning")),
    )


def _resource(entry: Mapping[str, Any]) -> ObjectId:
    return ObjectId(text(entry, "group"), text(entry, "kind"), text(entry, "namespace"), text(entry, "name"))


def _together(one: OwnerInventory | None, other: OwnerInventory) -> OwnerInventory:
    """Two Applications of the same name in two namespaces: their marks may be the same."""
    if one is None:
        return other
    objects = None if one.objects is None or other.objects is None else one.objects | other.objects
    return OwnerInventory(
        owner=one.owner, objects=objects, left=one.left | other.left, besides=one.besides | other.besides
    )


# The engine's objects that own others: which one it is, what it lists as its own, which commit it has applied.


_VERSIONS = {each.kind: each.version for each in FLUX.kinds}


def holder_of(owner: ObjectOwner) -> ObjectId | None:
    """The engine's object that an owner is, None if it is none; an Application may be in any namespace."""
    kind, _, place = owner.name.partition(" ")
    namespace, _, name = place.rpartition("/")
    if kind == argocd_names.APPLICATION:
        return ObjectId(APPLICATION[0], kind, namespace, name)
    group = FLUX_KINDS.get(kind)
    return ObjectId(group, kind, namespace, name) if group else None


def api_version(holder: ObjectId) -> str:
    """In which version an engine's object is read."""
    return f"{holder.group}/{_VERSIONS.get(holder.kind, 'v1alpha1')}"


def objects_of(holder: Mapping[str, Any]) -> frozenset[ObjectId] | None:
    """What an engine's object lists as its own; None if it keeps no list, as helm-controller before 1.5."""
    for each in collect([holder]).by_owner.values():
        return each.objects
    return None


def revision_of(holder: Mapping[str, Any]) -> str:
    """The commit that an engine's object has applied, as far as it follows Git."""
    if holder.get("kind") == argocd_names.APPLICATION:
        several = [each for each in sequence(holder, "status", "sync", "revisions") if isinstance(each, str)]
        return text(holder, "status", "sync", "revision") or next(iter(several), "")
    return text(holder, "status", "lastAppliedRevision").rpartition(":")[2]


def namespace_of(holder: Mapping[str, Any]) -> str:
    """Where an engine puts objects that name no namespace; empty where nothing says so."""
    spec = mapping(holder, "spec")
    match holder.get("kind"):
        case argocd_names.APPLICATION:
            return text(spec, "destination", "namespace")
        case flux_names.HELM_RELEASE:
            return text(spec, "targetNamespace") or text(holder, "metadata", "namespace")
    return text(spec, "targetNamespace")
