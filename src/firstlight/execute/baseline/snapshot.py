"""Objects and pods as they are now. Of objects only metadata is fetched, except for what makes pods."""

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.model.baseline import Baseline, ObjectSeen, OwnerSeen, PodSeen
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object
from firstlight.ownership import engine_marks
from firstlight.plan import pods

_REVISIONS = ("pod-template-hash", "controller-revision-hash")
_ENCODER = msgspec.json.Encoder(order="deterministic")


async def take(wanted: Sequence[ObjectId], client: kube.Client) -> Baseline:
    """Everything that is wanted, as it is now; what is not there is said to be absent.

    Raises:
        errors.ClientError: The API does not answer.
    """
    at = time.time()
    catalog = await client.catalog(refresh=True)
    served = {
        (each.group, each.kind): each
        for each in sorted(catalog.resources.values(), key=lambda one: catalog.preferred.get(one.group) == one.version)
    }
    groups: dict[tuple[str, str, str], list[ObjectId]] = defaultdict(list)
    for each in wanted:
        resource = served.get((each.group, each.kind))
        version = resource.api_version if resource is not None else ""
        # What names no namespace is where the API puts it; and a repo may name one for what has none.
        is_within = resource is not None and resource.is_namespaced
        groups[version, each.kind, (each.namespace or client.config.namespace) if is_within else ""].append(each)
    listings = await asyncio.gather(
        *(_listed(client, version, kind, namespace) for version, kind, namespace in groups), client.list("v1", "Pod")
    )
    seen = [
        of_object(each, found)
        for ids, listing in zip(groups.values(), listings[:-1], strict=True)
        for each in ids
        for found in [_named(listing, each.name)]
    ]
    seen.sort(key=lambda each: (each.group, each.kind, each.namespace, each.name))
    return Baseline(at=at, objects=tuple(seen), pods=of_pods(listings[-1].items))


def of_pods(items: Sequence[Mapping[str, Any]]) -> tuple[PodSeen, ...]:
    """Pods as they are."""
    return tuple(map(_pod, _sorted(items)))


async def _listed(client: kube.Client, api_version: str, kind: str, namespace: str) -> kube.Listing:
    if not api_version:
        return kube.Listing((), "")
    group = api_version.rpartition("/")[0]
    return await client.list(
        api_version, kind, namespace=namespace or None, metadata_only=(group, kind) not in pods.TEMPLATES
    )


def _named(listing: kube.Listing, name: str) -> Mapping[str, Any]:
    return next((each for each in listing.items if each["metadata"]["name"] == name), {})


def of_object(wanted: ObjectId, found: Mapping[str, Any]) -> ObjectSeen:
    """An object as it is; empty for one that is not there."""
    metadata = mapping(found, "metadata")
    owners = {
        OwnerSeen(
            manager=text(each, "manager"), operation=text(each, "operation"), subresource=text(each, "subresource")
        )
        for each in sequence(metadata, "managedFields")
    }
    template = pods.template(Object(found)) if found else {}
    whole = {"apiVersion": f"{wanted.group}/v1", "kind": wanted.kind, "metadata": metadata}
    # A label that charts have as well tells nothing here.
    mark = engine_marks.of(whole, wanted=whole) if found else None
    return ObjectSeen(
        group=wanted.group, kind=wanted.kind, namespace=text(metadata, "namespace") or wanted.namespace,
        name=wanted.name, uid=text(metadata, "uid"), resource_version=text(metadata, "resourceVersion"),
        generation=int(metadata.get("generation") or 0),
        owners=tuple(sorted(owners, key=lambda each: (each.manager, each.operation, each.subresource))),
        template=f"sha256:{hashlib.sha256(_ENCODER.encode(template)).hexdigest()}" if template else "",
        holder=mark.owner if mark is not None else "",
    )  # fmt: skip


def _sorted(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(items, key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))


def _pod(value: Mapping[str, Any]) -> PodSeen:
    metadata = mapping(value, "metadata")
    owner: Mapping[str, Any] = next(iter(sequence(metadata, "ownerReferences")), {})
    labels = mapping(metadata, "labels")
    statuses = [
        *sequence(value, "status", "containerStatuses"), *sequence(value, "status", "initContainerStatuses"),
    ]  # fmt: skip
    return PodSeen(
        namespace=text(metadata, "namespace"), name=text(metadata, "name"), uid=text(metadata, "uid"),
        owner=f"{text(owner, 'kind')}/{text(owner, 'name')}" if owner else "",
        restarts=sum(int(each.get("restartCount") or 0) for each in statuses), node=text(value, "spec", "nodeName"),
        revision=next((found for each in _REVISIONS if (found := text(labels, each))), ""),
    )  # fmt: skip
