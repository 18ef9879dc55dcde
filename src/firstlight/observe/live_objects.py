"""What is live of many objects, with few requests: a list for each kind, or single reads where those are fewer."""

import asyncio
import collections
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.clients.kube.discovery import Resource
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object

FEW = 3
"""Objects of a kind that are read one by one."""
RELEASES = "type!=helm.sh/release.v1"
"""Secrets without the releases of Helm, which are large."""
UNREADABLE = (kube.Forbidden, kube.ServerError)
"""What the server says of one kind, and may not of the others."""

Key = tuple[str, str]
"""Namespace and name."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """All that was seen of one kind."""

    resource: Resource | None
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


Kinds = Mapping[tuple[str, str], Kind]
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


async def _kind(kind: tuple[str, str], ids: Sequence[ObjectId], client: kube.Client, namespace: str) -> Kind:
    try:
        resource = await client.resource(*kind)
    except kube.UnknownKind:
        return Kind(None)
    if len(ids) > FEW:
        fields = RELEASES if kind == ("v1", "Secret") else ""
        try:
            listing = await client.list(*kind, fields=fields)
        except UNREADABLE as error:
            return Kind(resource, problem=error.message)
        return Kind(resource, {place(each): each for each in listing.items}, is_whole=True)
    seen, problems = Kind(resource), list[str]()

    async def get(id: ObjectId) -> Mapping[str, Any] | None:
        try:
            return await one(kind, seen.key(id, namespace=namespace), client)
        except UNREADABLE as error:
            problems.append(error.message)
            return None

    read = await asyncio.gather(*map(get, ids))
    live = {place(each): each for each in read if each is not None}
    return Kind(resource, live, problem=problems[0] if problems else "")


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
