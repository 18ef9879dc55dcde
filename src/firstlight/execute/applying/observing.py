"""What is live of many objects, with few requests: a list for each kind, or single reads where those are fewer."""

import asyncio
import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.model.rendition import Object

FEW = 3
"""Objects of a kind that are read one by one, and namespaces that are listed one by one."""
FEW_SECRETS = 20
"""The same for Secrets: releases of Helm are among them, which are large."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """One object, and what is live of it."""

    object: Object
    live: Mapping[str, Any] | None
    is_served: bool = True
    """Whether the server knows its kind."""
    has_status: bool = False
    """Whether its status is a subresource."""


async def observe(objects: Iterable[Object], client: "kube.Client", *, namespace: str = "") -> list[Seen]:
    """What is live, in the order of the objects.

    Args:
        objects: What to look for.
        client: The API.
        namespace: Where objects are that name no namespace and are in one; the context's if it is not given.

    Raises:
        errors.ClientError: The server does not say.
    """
    given = list(objects)
    kinds: dict[tuple[str, str], list[int]] = collections.defaultdict(list)
    for number, each in enumerate(given):
        kinds[str(each.value.get("apiVersion") or ""), each.id.kind].append(number)
    found = await asyncio.gather(
        *(_kind(*kind, [given[number] for number in numbers], client, namespace) for kind, numbers in kinds.items())
    )
    seen: dict[int, Seen] = {}
    for numbers, those in zip(kinds.values(), found, strict=True):
        seen.update(zip(numbers, those, strict=True))
    return [seen[number] for number in range(len(given))]


async def _kind(
    api_version: str, kind: str, objects: Sequence[Object], client: "kube.Client", namespace: str
) -> list[Seen]:
    try:
        resource = await client.resource(api_version, kind)
    except kube.UnknownKind:
        return [Seen(each, None, is_served=False) for each in objects]
    if resource.is_namespaced:
        objects = [_placed(each, namespace or client.config.namespace) for each in objects]
    places = [(each.id.namespace if resource.is_namespaced else "", each.id.name) for each in objects]
    spaces = {space for space, _ in places}
    live: dict[tuple[str, str], Mapping[str, Any]] = {}
    few = FEW_SECRETS if (api_version, kind) == ("v1", "Secret") else FEW
    if len(objects) <= few:
        read = await asyncio.gather(*(_one(api_version, kind, *place, client) for place in places))
        live = {place: each for place, each in zip(places, read, strict=True) if each is not None}
    else:
        # A kind without namespaces, or in many of them, is listed whole.
        wheres: list[str | None] = [*spaces] if resource.is_namespaced and len(spaces) <= few else [None]
        listings = await asyncio.gather(*(client.list(api_version, kind, namespace=each) for each in wheres))
        for item in (item for listing in listings for item in listing.items):
            metadata = item.get("metadata") or {}
            live[str(metadata.get("namespace") or ""), str(metadata.get("name") or "")] = item
    has_status = "status" in resource.subresources
    return [Seen(each, live.get(place), has_status=has_status) for each, place in zip(objects, places, strict=True)]


def _placed(obj: Object, namespace: str) -> Object:
    if obj.id.namespace:
        return obj
    return Object({**obj.value, "metadata": {**obj.value["metadata"], "namespace": namespace}})


async def _one(
    api_version: str, kind: str, namespace: str, name: str, client: "kube.Client"
) -> Mapping[str, Any] | None:
    try:
        return await client.get(api_version, kind, name, namespace=namespace)
    except kube.NotFound:
        return None
