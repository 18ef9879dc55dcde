"""Where a baseline is kept: compressed in ConfigMaps of kube-system, and whole in a file beside the journal."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.engines import engine_marks
from firstlight.execute import durable_store
from firstlight.journal import state_files
from firstlight.model.component import ObjectId
from firstlight.model.handover import Baseline, ObjectSeen, OwnerSeen, PodSeen
from firstlight.model.rendition import Object
from firstlight.plan import pod_needs

NAMESPACE, NAME = durable_store.NAMESPACE, "firstlight-baseline"
FILE = "baseline.json"


async def is_kept(client: kube.Client, *, uid: str) -> bool:
    """Whether a whole baseline of this cluster is there: all of its parts, as they were written."""
    found = await durable_store.read(client, NAME)
    return found is not None and found.cluster == uid and found.is_whole


async def load(client: kube.Client) -> Baseline | None:
    """The baseline of a cluster; None if there is none.

    Raises:
        errors.ClientError: It was changed, or a part of it is missing.
    """
    found = await durable_store.read(client, NAME)
    if found is None:
        return None
    try:
        if found.is_whole:
            return msgspec.json.decode(found.content(), type=Baseline)
    except ValueError:
        pass
    raise errors.ClientError(
        f"the baseline in ConfigMap {NAMESPACE}/{NAME} is not whole",
        hint=f"There is a copy beside the journal, in {FILE}.",
    )


async def copy_of(client: kube.Client, path: Path, *, uid: str) -> Baseline | None:
    """The baseline that the cluster has lost, or a part of it, out of a file.

    Args:
        client: The API.
        path: The file beside the journal.
        uid: Of the cluster.

    Returns:
        None if the file is not this cluster's, or another one than the cluster still knows of.
    """
    kept = await durable_store.read(client, NAME)
    try:
        content = state_files.read(path)
        found = msgspec.json.decode(content, type=Baseline)
    except (OSError, ValueError):
        return None
    is_that_one = kept is None or kept.cluster != uid or kept.is_copy(durable_store.packed(content))
    return found if found.cluster == uid and is_that_one else None


async def store(baseline: Baseline, client: kube.Client, *, part: int = durable_store.PART) -> None:
    """Keep a baseline in the cluster.

    Args:
        baseline: What was seen.
        client: The API.
        part: Bytes in one ConfigMap.
    """
    await durable_store.store(encoded(baseline), client, name=NAME, cluster=baseline.cluster, part=part)


def encoded(baseline: Baseline) -> bytes:
    """A baseline as JSON."""
    return msgspec.json.encode(baseline)


def write(baseline: Baseline, path: Path) -> None:
    """Keep a baseline in a file, whole or not at all, also through a power loss."""
    durable_store.write_beside_journal(encoded(baseline), path)


# Objects and pods as they are now. Of objects only metadata is fetched, except for what makes pods.


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


async def _listed(client: kube.Client, api_version: str, kind: str, namespace: str) -> kube.ObjectListing:
    if not api_version:
        return kube.ObjectListing((), "")
    group = api_version.rpartition("/")[0]
    return await client.list(
        api_version, kind, namespace=namespace or None, metadata_only=(group, kind) not in pod_needs.TEMPLATES
    )


def _named(listing: kube.ObjectListing, name: str) -> Mapping[str, Any]:
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
    template = pod_needs.template(Object(found)) if found else {}
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
