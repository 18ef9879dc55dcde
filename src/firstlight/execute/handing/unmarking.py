"""Talos's marks taken from objects that the engine owns: the annotation of its inventory, fields of its managers."""

import asyncio
from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.execute.handing import talos_inventory
from firstlight.model.component import ObjectId
from firstlight.ownership import migrating

MANAGERS = frozenset({"talos", "talosctl"})
"""As whom Talos writes: its machines, and before 1.13 ``upgrade-k8s``."""
TRIES = 8
PAUSE = 0.2
_PATH = f"/metadata/annotations/{talos_inventory.ANNOTATION.replace('/', '~1')}"


def is_annotated(metadata: Mapping[str, Any]) -> bool:
    """Whether an object says that it is in Talos's inventory; that of somebody else is none of ours."""
    return mapping(metadata, "annotations").get(talos_inventory.ANNOTATION) == talos_inventory.NAME


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
    for _ in range(TRIES):
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
            await asyncio.sleep(PAUSE)
        else:
            return True
    raise errors.TimedOut(
        f"somebody writes {id} all the time", target=str(id)
    )  # fmt: skip


def _operations(live: Mapping[str, Any], manager: str, *, with_fields: bool) -> list[dict[str, Any]]:
    metadata = mapping(live, "metadata")
    found: list[dict[str, Any]] = []
    if with_fields and is_managed(metadata) and (migration := migrating.migrate(live, to=manager)) is not None:
        found += migrating.patch(live, migration)
    if is_annotated(metadata):
        guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}
        found += [*([] if found else [guard]), {"op": "remove", "path": _PATH}]
    return found
