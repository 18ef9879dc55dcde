"""Objects that an engine applied for an owner of this repo, and Git does not have any more."""

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.clients.kube.discovery import Resource
from firstlight.document.within import mapping, text
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drifted
from firstlight.model.owner import ObjectOwner
from firstlight.observe import owned
from firstlight.observe.live_objects import Kinds
from firstlight.ownership import drifting, ignoring

_DERIVED = frozenset(
    {"Endpoints", "EndpointSlice", "Event", "Lease", "Pod", "ReplicaSet", "ControllerRevision", "Node", "CSINode",
     "ComponentStatus", "PodMetrics", "NodeMetrics", "CertificateSigningRequest"}
)  # fmt: skip
"""What controllers make, and no repo has."""
_LABELS = {"Kustomization": "kustomize.toolkit.fluxcd.io/name", "HelmRelease": "helm.toolkit.fluxcd.io/name"}

_STAY = ("kustomize.toolkit.fluxcd.io/prune", "kustomize.toolkit.fluxcd.io/reconcile")
_SYNC_OPTIONS = "argocd.argoproj.io/sync-options"


async def find(
    client: kube.Client, owners: Mapping[ObjectOwner, str], *, there: Collection[ObjectId], kinds: Kinds
) -> tuple[tuple[Drifted, ...], tuple[str, ...]]:
    """What is extra, and the kinds that could not be listed.

    Args:
        client: The API.
        owners: Of whom everything is known that Git has, with the component of each.
        there: What Git has.
        kinds: What was listed already.
    """
    catalog = await client.catalog()
    unread: list[str] = []
    found: dict[ObjectId, Drifted] = {}

    async def look(resource: Resource, labels: str) -> None:
        try:
            listing = await client.list(resource.api_version, resource.kind, labels=labels, metadata_only=True)
            found.update(among(listing.items, owners, there))
        except (kube.Forbidden, kube.ServerError, kube.UnknownKind) as error:
            unread.append(f"{resource.kind} of {resource.api_version} could not be listed: {error.message}")
        except kube.ApiError:
            pass  # not every kind can be listed that says so

    asks: list[Awaitable[None]] = []
    whole: set[tuple[str, str]] = set()
    for (version, kind), known in kinds.items():
        if known.is_whole:
            whole.add((version.rpartition("/")[0], kind))
            found.update(among(known.live.values(), owners, there))
    for resource in owned.kinds(catalog):
        if resource.kind not in _DERIVED and (resource.group, resource.kind) not in whole:
            asks += [look(resource, labels) for labels in selectors(owners)]
    await asyncio.gather(*asks)
    return tuple(found[each] for each in sorted(found)), tuple(sorted(set(unread)))


def selectors(owners: Iterable[ObjectOwner]) -> tuple[str, ...]:
    """The labels of owners' marks; those of Argo CD are annotations, which cannot be selected by."""
    kinds = {each.name.partition(" ")[0] for each in owners}
    if "Application" in kinds:
        return ("",)
    return tuple(label for kind, label in _LABELS.items() if kind in kinds)


def is_kept(live: Mapping[str, Any]) -> bool:
    """Whether an object says itself that it stays when Git has it no more."""
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    # Flux takes its settings from both, in any case.
    is_disabled = any(
        str(each.get(name) or "").lower() == "disabled" for each in (labels, annotations) for name in _STAY
    )
    options = [each.strip() for each in text(annotations, _SYNC_OPTIONS).split(",")]
    is_helms = text(annotations, "helm.sh/resource-policy") == "keep"
    return is_disabled or is_helms or "Prune=false" in options or ignoring.of({}, {}, live=live).is_extra_fine


def among(
    items: Iterable[Mapping[str, Any]], owners: Mapping[ObjectOwner, str], there: Collection[ObjectId]
) -> Iterator[tuple[ObjectId, Drifted]]:
    """Those of some objects that are extra."""
    for each in items:
        id, owner = ObjectId.of(each), drifting.applier(each)
        if owner is None or owner not in owners or id in there or is_kept(each):
            continue
        since = str((each.get("metadata") or {}).get("creationTimestamp") or "")
        yield id, drifting.surplus(id, component=owners[owner], owner=owner, since=since)
