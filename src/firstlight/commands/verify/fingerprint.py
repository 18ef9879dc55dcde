"""Everything in a cluster by its metadata, before and after: the proof that a run wrote nothing, where no audit log is.

Objects change by themselves too: controllers write status, and some kinds exist to be rewritten. So two looks are
compared by who wrote what, as the API server itself records it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from firstlight.clients import kube, talosctl
from firstlight.model import talos_names
from firstlight.model.component import ObjectId

RESTLESS: Mapping[tuple[str, str], str] = {
    ("", "Event"): "told by everybody, and forgotten",
    ("events.k8s.io", "Event"): "told by everybody, and forgotten",
    ("", "Endpoints"): "follow the pods",
    ("discovery.k8s.io", "EndpointSlice"): "follow the pods",
    ("", "ComponentStatus"): "is asked anew each time",
    ("metrics.k8s.io", "NodeMetrics"): "are measured anew each time",
    ("metrics.k8s.io", "PodMetrics"): "are measured anew each time",
}
"""Kinds that are left out, and why."""
_NAMESPACE = ("", "Namespace")
_LEASE = ("coordination.k8s.io", "Lease")
OUR_LEASE = ("kube-system", "firstlight")
"""Leases are renewed all the time; the one that a run takes to write is looked at."""

_KEPT_BY_THE_API_SERVER = "kube-aggregator.kubernetes.io/automanaged"
"""The label of an APIService that comes and goes with the definitions of its group."""

_SHAPE = ("generation", "labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")

Writer = tuple[str, str]
"""A manager, and what it does: Apply or Update."""


@dataclasses.dataclass(frozen=True, slots=True)
class Print:
    """One object at one moment."""

    uid: str
    version: str
    writers: Mapping[Writer, str] = dataclasses.field(default_factory=dict)
    """Who wrote something other than status, when last, and which fields."""
    shape: str = ""
    """Of generation, labels, annotations and the like: what a change of status leaves alone."""
    has_status: bool = False
    """Whether somebody writes its status."""
    is_owned: bool = False
    """Whether another object brings it, and takes it away, or the API server does."""
    is_going: bool = False
    """Whether it was being deleted already."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintComparison:
    """What differs between two looks."""

    written: tuple[str, ...]
    """What one of the managers in question wrote, or nobody knows who did."""
    by_others: tuple[str, ...]
    """What others wrote meanwhile: controllers, mostly."""
    objects: int
    """How many were compared."""


async def resource_versions(
    client: kube.Client, *, kinds: Collection[tuple[str, str]] | None = None
) -> Mapping[ObjectId, Print]:
    """Everything that can be listed, by metadata alone.

    Args:
        client: The cluster.
        kinds: apiVersion and kind of what to look at; all that is served, but for the restless, if it is not given.

    Raises:
        errors.ClientError: The API does not answer, or says no.
    """
    if kinds is None:
        catalog = await client.catalog(refresh=True)
        kinds = [
            key
            for key, resource in catalog.resources.items()
            if catalog.preferred.get(resource.group) == resource.version
            and "list" in resource.verbs
            and (resource.group, resource.kind) not in RESTLESS
            and resource.api_version not in catalog.stale
        ]
    found = await asyncio.gather(*(_listed(client, *key) for key in sorted(kinds)))
    return {key: each for one in found for key, each in one.items()}


def compare(
    before: Mapping[ObjectId, Print], after: Mapping[ObjectId, Print], *, ours: Collection[str]
) -> FingerprintComparison:
    """What was written between two looks.

    Args:
        before: The first look.
        after: The second.
        ours: The managers as whom a run writes.
    """
    namespaces = {key.name: each for key, each in before.items() if (key.group, key.kind) == _NAMESPACE}
    written: list[str] = []
    by_others: list[str] = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        what, writers = _change(old, new)
        if what:
            told = f"{what} {key}" + (f" ({', '.join(sorted(writers))})" if writers else "")
            by_itself = old is not None and (old.is_owned or old.is_going or _goes(key.namespace, namespaces))
            is_ours = any(each in ours for each in writers) or not (writers or by_itself)
            (written if is_ours else by_others).append(told)
    return FingerprintComparison(written=tuple(written), by_others=tuple(by_others), objects=len(after))


def _goes(namespace: str, seen: Mapping[str, Print]) -> bool:
    """Whether a namespace was being deleted, or had been by the time that namespaces were listed."""
    if not namespace or not seen:
        return False
    return namespace not in seen or seen[namespace].is_going


def _change(old: Print | None, new: Print | None) -> tuple[str, set[str]]:
    """What happened, and who did it; nothing for a change of status."""
    if new is None:
        return "deleted", set()
    if old is None or old.uid != new.uid:
        return "created", {manager for manager, _ in new.writers}
    if old.writers != new.writers:
        changed = {writer[0] for writer, at in new.writers.items() if old.writers.get(writer) != at}
        # A manager that lost its last field was made to by whoever wrote then; if nobody else did, it did so itself.
        return "changed", changed or {writer[0] for writer in old.writers if writer not in new.writers}
    is_status = new.has_status and old.shape == new.shape
    return ("" if is_status else "changed"), set()


async def _listed(client: kube.Client, api_version: str, kind: str) -> dict[ObjectId, Print]:
    group = api_version.rpartition("/")[0]
    try:
        listing = await client.list(api_version, kind, metadata_only=True)
    except (kube.NotFound, kube.UnknownKind):
        return {}  # it was taken away meanwhile, which its definition tells
    except kube.ApiError as error:
        if error.code == 405:
            return {}
        raise
    found = {}
    for item in listing.items:
        metadata = item["metadata"]
        key = ObjectId(group, kind, metadata.get("namespace") or "", metadata["name"])
        if (group, kind) == _LEASE and (key.namespace, key.name) != OUR_LEASE:
            continue
        found[key] = _print(metadata)
    return found


def _print(metadata: Mapping[str, Any]) -> Print:
    entries = metadata.get("managedFields") or ()
    return Print(
        uid=str(metadata.get("uid") or ""),
        version=str(metadata.get("resourceVersion") or ""),
        # Times have seconds; the fields tell two writes within one apart.
        writers={
            (str(entry.get("manager") or ""), str(entry.get("operation") or "")): _digest(
                [entry.get("time"), entry.get("fieldsV1")]
            )
            for entry in entries
            if not entry.get("subresource")
        },
        shape=_digest([metadata.get(key) for key in _SHAPE]),
        has_status=any(entry.get("subresource") for entry in entries),
        is_owned=bool(metadata.get("ownerReferences") or _KEPT_BY_THE_API_SERVER in (metadata.get("labels") or {})),
        is_going=bool(metadata.get("deletionTimestamp")),
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]


# Machines by their configs, and nodes by their boots: the proof that a run wrote nothing to them.


async def config_versions(
    client: talosctl.Talosctl, targets: Mapping[str, talosctl.MachineTarget]
) -> Mapping[str, str]:
    """A text for each machine that changes with every config that it is given.

    Args:
        client: The administrator's.
        targets: Where each machine is, by its name.

    Raises:
        talosctl.TalosError: A machine does not answer.
    """
    found = await asyncio.gather(*(_version(client, each) for each in targets.values()))
    return dict(zip(targets, found, strict=True))


async def boots(client: kube.Client) -> Mapping[str, str]:
    """The boot that each node lives in, as its kubelet tells."""
    nodes = (await client.list("v1", "Node")).items
    return {each["metadata"]["name"]: str(each["status"].get("nodeInfo", {}).get("bootID", "")) for each in nodes}


async def _version(client: talosctl.Talosctl, target: talosctl.MachineTarget) -> str:
    """The version alone would not do: it is counted from 1 after every boot."""
    found = await client.get(target, talos_names.MACHINE_CONFIGS, "v1alpha1")
    digest = hashlib.sha256(str(found[0].spec).encode()).hexdigest()
    return f"{found[0].version} {digest}"
