"""Talos's inventory: which objects ``talosctl upgrade-k8s`` takes for its own, since Talos 1.13.

It is a ConfigMap whose keys name objects. What is in it and in no manifest is deleted by the next upgrade.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.model import talos_names
from firstlight.model.component import ObjectId
from firstlight.ownership import migration as ownership_migration

NAMESPACE, NAME = "kube-system", talos_names.MANIFESTS_INVENTORY
ANNOTATION = "config.k8s.io/owning-inventory"
"""What Talos writes on objects that it applies, with the name of the inventory."""
TRIES = 8
PAUSE = 0.2
_RBAC = "rbac.authorization.k8s.io"
_DEFAULT = "default"


@dataclasses.dataclass(frozen=True, slots=True)
class TalosInventory:
    """What it held when it was read."""

    keys: tuple[str, ...]
    version: str
    """The resourceVersion: whoever writes names it, so that nobody's write is lost."""
    wide: frozenset[tuple[str, str]] = frozenset()
    """Groups and kinds that are in no namespace, whatever a manifest says."""

    def of(self, ids: Collection[ObjectId]) -> tuple[str, ...]:
        """The keys of some objects."""
        wanted = {placed(each, self.wide) for each in ids}
        found = ((each, parse(each)) for each in self.keys)
        return tuple(each for each, id in found if id is not None and placed(id, self.wide) in wanted)


def placed(id: ObjectId, wide: Collection[tuple[str, str]]) -> ObjectId:
    """An object where it really is: Talos's keys have the namespace as a manifest writes it, or leaves it out."""
    if (id.group, id.kind) in wide:
        return dataclasses.replace(id, namespace="")
    return id if id.namespace else dataclasses.replace(id, namespace=_DEFAULT)


def parse(key: str) -> ObjectId | None:
    """The object that a key names, ``NAMESPACE_NAME_GROUP_KIND``; None if it is no key."""
    namespace, first, rest = key.partition("_")
    head, second, kind = rest.rpartition("_")
    name, third, group = head.rpartition("_")
    if not (first and second and third and kind and name):
        return None
    return ObjectId(group, kind, namespace, name.replace("__", ":"))


def key(id: ObjectId) -> str:
    """The key of an object; only roles and their bindings may have colons in their names."""
    name = id.name.replace(":", "__") if id.group == _RBAC else id.name
    return f"{id.namespace}_{name}_{id.group}_{id.kind}"


async def read(client: kube.Client) -> TalosInventory | None:
    """The inventory as it is; None where Talos keeps none.

    Raises:
        errors.ClientError: The API does not answer.
    """
    try:
        found = await client.get("v1", "ConfigMap", NAME, namespace=NAMESPACE)
    except kube.NotFound:
        return None
    keys = tuple(sorted(mapping(found, "data")))
    return TalosInventory(keys, text(found, "metadata", "resourceVersion"), await cluster_wide(client))


async def cluster_wide(client: kube.Client) -> frozenset[tuple[str, str]]:
    """Groups and kinds that are in no namespace."""
    catalog = await client.catalog()
    return frozenset((each.group, each.kind) for each in catalog.resources.values() if not each.is_namespaced)


async def forget(ids: Collection[ObjectId], client: kube.Client, *, manager: str) -> tuple[str, ...]:
    """Take objects out of the inventory, and read it again: a pass of Talos writes what it read before.

    Returns:
        The keys that were taken out.

    Raises:
        errors.TimedOut: They come back again and again.
    """
    gone: dict[str, None] = {}
    for _ in range(TRIES):
        found = await read(client)
        keys = found.of(ids) if found is not None else ()
        if found is None or not keys:
            return tuple(gone)
        try:
            await client.patch(
                "v1", "ConfigMap", NAME, _without(keys, found.version), form="json", manager=manager,
                namespace=NAMESPACE,
            )  # fmt: skip
            gone |= dict.fromkeys(keys)
        except (kube.Conflict, kube.Invalid):
            # Talos has written meanwhile: what it has now is read anew.
            await asyncio.sleep(PAUSE)
    raise errors.TimedOut(
        f"Talos puts {shown(keys[0])} back into its inventory again and again",
        hint="A control plane that is not declared may still have the manifest: talosctl get members.",
        target=f"ConfigMap {NAMESPACE}/{NAME}",
    )


def shown(written: str) -> str:
    """A key for people: ``DaemonSet kube-system/cilium``."""
    found = parse(written)
    return str(found) if found is not None else written


def _without(keys: Collection[str], version: str) -> list[Mapping[str, Any]]:
    """Replaced, not tested: then the server answers with a conflict if it is another one."""
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        *({"op": "remove", "path": f"/data/{each.replace('~', '~0').replace('/', '~1')}"} for each in keys),
    ]


# Talos's marks taken from objects that the engine owns: the annotation of its inventory, fields of its managers.


MANAGERS = frozenset({talos_names.FIELD_MANAGER, talos_names.TALOSCTL_MANAGER})
"""As whom Talos writes: its machines, and before 1.13 ``upgrade-k8s``."""
UNMARK_TRIES = 8
UNMARK_PAUSE = 0.2
_PATH = f"/metadata/annotations/{ANNOTATION.replace('/', '~1')}"


def is_annotated(metadata: Mapping[str, Any]) -> bool:
    """Whether an object says that it is in Talos's inventory; that of somebody else is none of ours."""
    return mapping(metadata, "annotations").get(ANNOTATION) == NAME


def is_managed(metadata: Mapping[str, Any]) -> bool:
    """Whether Talos owns fields of an object."""
    entries = sequence(metadata, "managedFields")
    return any(text(each, "manager") in MANAGERS and not text(each, "subresource") for each in entries)


async def unmark(
    id: ObjectId, api_version: str, client: kube.Client, *, manager: str, with_fields: bool = True
) -> bool:
    """Take Talos's marks from an object, in one write that fails if somebody else writes; whether there was one.

    Args:
        id: The object.
        api_version: As Git has it.
        client: The API.
        manager: Who owns it in the end: Talos's fields pass to it. An annotation that is removed is nobody's.
        with_fields: Whether they do; else only the annotation goes.

    Raises:
        errors.TimedOut: Somebody writes it all the time.
    """
    for _ in range(UNMARK_TRIES):
        try:
            live = await client.get(api_version, id.kind, id.name, namespace=id.namespace or None)
        except kube.NotFound:
            return False
        operations = _operations(live, manager, with_fields=with_fields)
        if not operations:
            return False
        try:
            await client.patch(
                api_version, id.kind, id.name, operations, form="json", manager=manager, namespace=id.namespace or None
            )
        except kube.Conflict:
            await asyncio.sleep(UNMARK_PAUSE)
        else:
            return True
    raise errors.TimedOut(
        f"somebody writes {id} all the time", target=str(id)
    )  # fmt: skip


def _operations(live: Mapping[str, Any], manager: str, *, with_fields: bool) -> list[dict[str, Any]]:
    metadata = mapping(live, "metadata")
    found: list[dict[str, Any]] = []
    if (
        with_fields
        and is_managed(metadata)
        and (migration := ownership_migration.migrate(live, to=manager)) is not None
    ):
        found += ownership_migration.patch(live, migration)
    if is_annotated(metadata):
        guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}
        found += [*([] if found else [guard]), {"op": "remove", "path": _PATH}]
    return found
