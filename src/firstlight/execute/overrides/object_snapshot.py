"""The objects of an override as they were before it: in Secrets of the cluster, since Secrets are among them."""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from firstlight.clients import kube
from firstlight.document.within import mapping, text
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.execute.overrides.override_records import MANAGER, NAMESPACE
from firstlight.model.component import ObjectId
from firstlight.model.override import Override

LABEL = "firstlight.dev/override-snapshot"
_MOST = 700_000
"""Letters of one Secret; the server takes 1 MiB."""


async def write(id: str, objects: Iterable[Mapping[str, Any]], ground: OverrideContext, *, part: int = 0) -> None:
    """Keep objects.

    Args:
        id: Of the override.
        objects: As they are, with their managedFields.
        ground: Where.
        part: Larger than that of all that were kept before for the same override.

    Raises:
        errors.ClientError: The API does not take them.
    """
    for number, data in enumerate(_packed(objects)):
        # They are read in the order of their names.
        name = f"firstlight-override-{id}-{part:06}-{number:06}"
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "firstlight.dev/snapshot",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {LABEL: id}},
            "data": data,
        }
        await ground.write(
            f"snapshot {name}", functools.partial(ground.client.apply, body, manager=MANAGER, force=True)
        )


async def read(override: Override, client: kube.Client) -> dict[ObjectId, Mapping[str, Any]]:
    """What was kept; the first look at an object counts.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found: dict[ObjectId, Mapping[str, Any]] = {}
    listing = await client.list("v1", "Secret", namespace=NAMESPACE, labels=f"{LABEL}={override.id}")
    for each in sorted(listing.items, key=lambda one: text(one, "metadata", "name")):
        for packed in mapping(each, "data").values():
            value = msgspec.json.decode(zlib.decompress(base64.b64decode(str(packed))))
            found.setdefault(ObjectId.of(value), value)
    return found


async def drop(override: Override, ground: OverrideContext) -> None:
    """Forget what was kept.

    Raises:
        errors.ClientError: The API does not let it be.
    """
    listing = await ground.client.list(
        "v1", "Secret", namespace=NAMESPACE, labels=f"{LABEL}={override.id}", metadata_only=True
    )

    async def one(name: str) -> None:
        try:
            await ground.client.delete("v1", "Secret", name, namespace=NAMESPACE)
        except kube.NotFound:
            return

    for each in listing.items:
        name = text(each, "metadata", "name")
        await ground.write(f"forget {name}", functools.partial(one, name))


async def look(ids: Iterable[ObjectId], client: kube.Client, *, versions: Mapping[tuple[str, str], str]) -> list[Any]:
    """Objects as they are now; None for each that is not there.

    Args:
        ids: Which.
        client: The API.
        versions: The apiVersion of each group and kind.

    Raises:
        errors.ClientError: The API does not answer.
    """
    turns = asyncio.Semaphore(16)

    async def one(id: ObjectId) -> Any:
        version = versions.get((id.group, id.kind))
        if version is None:
            return None
        async with turns:
            try:
                return await client.get(version, id.kind, id.name, namespace=id.namespace or None)
            except (kube.NotFound, kube.UnknownKind):
                return None

    return list(await asyncio.gather(*map(one, ids)))


def _packed(objects: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Objects as data of Secrets, as few as will do."""
    parts: list[dict[str, str]] = []
    size = _MOST
    for each in objects:
        packed = base64.b64encode(zlib.compress(msgspec.json.encode(each))).decode()
        if size + len(packed) > _MOST:
            parts.append({})
            size = 0
        parts[-1][hashlib.sha256(repr(ObjectId.of(each)).encode()).hexdigest()[:40]] = packed
        size += len(packed)
    return parts
