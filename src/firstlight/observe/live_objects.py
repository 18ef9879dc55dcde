"""What is live of many objects, with few requests: a list for each kind, or single reads where those are fewer."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube.discovery import ApiResource
from firstlight.engines import adapters
from firstlight.model import helm_names
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner
from firstlight.model.rendition import Object

FEW = 3
"""Objects of a kind that are read one by one."""
RELEASES = f"type!={helm_names.RELEASE_SECRET_TYPE}"
"""Secrets without the releases of Helm, which are large."""
UNREADABLE = (kube.Forbidden, kube.ServerError)
"""What the server says of one kind, and may not of the others."""

Key = tuple[str, str]
"""Namespace and name."""


@dataclasses.dataclass(frozen=True)
class LiveObjectsOfKind:
    """All that was seen of one kind."""

    resource: ApiResource | None
    """None if the server does not serve it."""
    live: Mapping[Key, Mapping[str, Any]] = dataclasses.field(default_factory=dict, repr=False)
    is_whole: bool = False
    """Whether all of them in the cluster were listed."""
    problem: str = ""
    """Why some of them could not be read."""

    @property
    def has_status(self) -> bool:
        """Whether the status of its objects is a subresource."""
        return self.resource is not None and "status" in self.resource.subresources

    @property
    def has_scale(self) -> bool:
        """Whether its objects can be scaled without anybody's owning that."""
        return self.resource is not None and "scale" in self.resource.subresources

    def key(self, id: ObjectId, *, namespace: str) -> Key:
        """Where an object is; in a namespace that is given, if it names none and must be in one."""
        is_within = self.resource is not None and self.resource.is_namespaced
        return (id.namespace or namespace) if is_within else "", id.name


Kinds = Mapping[tuple[str, str], LiveObjectsOfKind]
"""By apiVersion and kind."""


async def read(objects: Iterable[Object], client: kube.Client, *, namespace: str) -> Kinds:
    """What is live of objects, by their kinds.

    Args:
        objects: What to look for.
        client: The API.
        namespace: Where objects are that name none, and must be in one.

    Raises:
        errors.ClientError: The server does not say.
    """
    ids: dict[tuple[str, str], list[ObjectId]] = collections.defaultdict(list)
    for each in objects:
        ids[str(each.value.get("apiVersion") or ""), each.id.kind].append(each.id)
    found = await asyncio.gather(*(_kind(kind, those, client, namespace) for kind, those in ids.items()))
    return dict(zip(ids, found, strict=True))


async def _kind(
    kind: tuple[str, str], ids: Sequence[ObjectId], client: kube.Client, namespace: str
) -> LiveObjectsOfKind:
    try:
        resource = await client.resource(*kind)
    except kube.UnknownKind:
        return LiveObjectsOfKind(None)
    if len(ids) > FEW:
        fields = RELEASES if kind == ("v1", "Secret") else ""
        try:
            listing = await client.list(*kind, fields=fields)
        except UNREADABLE as error:
            return LiveObjectsOfKind(resource, problem=error.message)
        return LiveObjectsOfKind(resource, {place(each): each for each in listing.items}, is_whole=True)
    seen, problems = LiveObjectsOfKind(resource), list[str]()

    async def get(id: ObjectId) -> Mapping[str, Any] | None:
        try:
            return await one(kind, seen.key(id, namespace=namespace), client)
        except UNREADABLE as error:
            problems.append(error.message)
            return None

    read = await asyncio.gather(*map(get, ids))
    live = {place(each): each for each in read if each is not None}
    return LiveObjectsOfKind(resource, live, problem=problems[0] if problems else "")


async def one(kind: tuple[str, str], key: Key, client: kube.Client) -> Mapping[str, Any] | None:
    """One object; None if it is not there."""
    try:
        return await client.get(*kind, key[1], namespace=key[0] or None)
    except kube.NotFound:
        return None


def place(item: Mapping[str, Any]) -> Key:
    """Where an object is."""
    metadata = item.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


FEW_OBJECTS = 3
"""Objects of a kind that are read one by one, and namespaces that are listed one by one."""
FEW_SECRETS = 20
"""The same for Secrets: releases of Helm are among them, which are large."""


@dataclasses.dataclass(frozen=True, slots=True)
class LiveObject:
    """One object, and what is live of it."""

    object: Object
    live: Mapping[str, Any] | None
    is_served: bool = True
    """Whether the server knows its kind."""
    has_status: bool = False
    """Whether its status is a subresource."""


async def observe_objects(objects: Iterable[Object], client: kube.Client, *, namespace: str = "") -> list[LiveObject]:
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
        *(
            _observing_kind(*kind, [given[number] for number in numbers], client, namespace)
            for kind, numbers in kinds.items()
        )
    )
    seen: dict[int, LiveObject] = {}
    for numbers, those in zip(kinds.values(), found, strict=True):
        seen.update(zip(numbers, those, strict=True))
    return [seen[number] for number in range(len(given))]


async def _observing_kind(
    api_version: str, kind: str, objects: Sequence[Object], client: kube.Client, namespace: str
) -> list[LiveObject]:
    try:
        resource = await client.resource(api_version, kind)
    except kube.UnknownKind:
        return [LiveObject(each, None, is_served=False) for each in objects]
    if resource.is_namespaced:
        objects = [_placed(each, namespace or client.config.namespace) for each in objects]
    places = [(each.id.namespace if resource.is_namespaced else "", each.id.name) for each in objects]
    spaces = {space for space, _ in places}
    live: dict[tuple[str, str], Mapping[str, Any]] = {}
    few = FEW_SECRETS if (api_version, kind) == ("v1", "Secret") else FEW_OBJECTS
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
    return [
        LiveObject(each, live.get(place), has_status=has_status) for each, place in zip(objects, places, strict=True)
    ]


def _placed(obj: Object, namespace: str) -> Object:
    if obj.id.namespace:
        return obj
    return Object({**obj.value, "metadata": {**obj.value["metadata"], "namespace": namespace}})


async def _one(api_version: str, kind: str, namespace: str, name: str, client: kube.Client) -> Mapping[str, Any] | None:
    try:
        return await client.get(api_version, kind, name, namespace=namespace)
    except kube.NotFound:
        return None


# The Kustomizations, HelmReleases and Applications of a cluster by the names that owners have.


KINDS = {each.kind: each.api_version for each in adapters.SUSPENDABLE.values()}


async def engine_object(owner: ObjectOwner, client: kube.Client) -> Mapping[str, Any] | None:
    """The object that an owner is; None if it is not there.

    Raises:
        errors.Refused: It is of a kind that nobody can be asked by.
        errors.ClientError: The API does not answer.
    """
    kind, _, place = owner.name.partition(" ")
    if kind not in KINDS:
        raise errors.Refused(f"{owner.name} cannot be asked to put anything back", hint="Correct it by hand.")
    namespace, _, name = place.rpartition("/")
    with contextlib.suppress(kube.UnknownKind):
        if namespace:
            return await one((KINDS[kind], kind), (namespace, name), client)
        found = (await client.list(KINDS[kind], kind, fields=f"metadata.name={name}")).items
        return next(iter(found), None)
    return None
