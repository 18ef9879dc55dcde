"""Everything in a cluster that somebody may own, and what owners say that is theirs: listed once, kinds in parallel.

Of objects only the metadata is asked for, so no value of a Secret is ever fetched; whole are only owners themselves and
the inventories of Talos and Omni. Events are left out: nobody owns them.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.clients.kube.discovery import ApiCatalog, ApiResource
from firstlight.document.within import text
from firstlight.model import helm_names
from firstlight.ownership import inventories
from firstlight.ownership.inventories import Inventories

_PAGE = 1000
"""Objects a page: metadata is small, and each page waits for the one before it."""
_PASSING = frozenset({("", "Event"), ("events.k8s.io", "Event"), ("", "ComponentStatus")})
_COMPUTED = frozenset({"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"})
"""Groups whose objects are computed when they are asked for."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Owned:
    """What was seen."""

    objects: tuple[Mapping[str, Any], ...] = dataclasses.field(repr=False)
    """Their metadata."""
    inventories: Inventories
    unread: tuple[str, ...] = ()
    """Kinds that could not be listed, with the reason."""


@dataclasses.dataclass(frozen=True)
class _Listed:
    """What one kind has."""

    resource: ApiResource
    items: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.resource.group, self.resource.kind


async def look(client: kube.Client, *, namespace: str = "") -> Owned:
    """All objects, and what owners say.

    Args:
        client: Of the cluster.
        namespace: The one that objects are wanted of, beside those that are in none; all if it is not given.

    Raises:
        errors.ClientError: The cluster cannot be asked at all.
    """
    catalog = await client.catalog(refresh=True)
    wanted = kinds(catalog)
    listed = await asyncio.gather(*(_list(client, each, catalog, namespace) for each in wanted))
    items = [item for each in listed for item in each.items if _is_in(item, each, namespace)]
    return Owned(
        objects=tuple(_metadata(each) for each in items),
        inventories=await _inventories(client, listed, namespace),
        unread=tuple(
            f"{each.resource.kind} ({each.resource.api_version}): {each.problem}" for each in listed if each.problem
        ),
    )


def kinds(catalog: ApiCatalog) -> list[ApiResource]:
    """Every kind that can be listed, in the version that its group prefers, or else in the first that has it."""
    found: dict[tuple[str, str], ApiResource] = {}
    for each in catalog.resources.values():
        key = (each.group, each.kind)
        if "list" not in each.verbs or key in _PASSING or each.group in _COMPUTED:
            continue
        if key not in found or each.version == catalog.preferred.get(each.group):
            found[key] = each
    return list(found.values())


async def _list(client: kube.Client, resource: ApiResource, catalog: ApiCatalog, namespace: str) -> _Listed:
    """All objects of a kind; owners whole, and from everywhere, since what they own may be anywhere."""
    if resource.api_version in catalog.stale:
        return _Listed(resource, problem="its server does not answer")
    is_owner = (resource.group, resource.kind) in inventories.KINDS
    where = namespace if resource.is_namespaced and not is_owner else ""
    try:
        found = await client.list(
            resource.api_version, resource.kind, namespace=where or None, limit=_PAGE, metadata_only=not is_owner
        )
    except kube.ApiError as error:
        if isinstance(error, kube.Unauthorized):
            raise
        return _Listed(resource, problem=error.message)
    return _Listed(resource, found.items)


def _is_in(item: Mapping[str, Any], listed: _Listed, namespace: str) -> bool:
    return not namespace or not listed.resource.is_namespaced or text(item, "metadata", "namespace") == namespace


def _metadata(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: item[name] for name in ("apiVersion", "kind", "metadata") if name in item}


async def _inventories(client: kube.Client, listed: Iterable[_Listed], namespace: str) -> Inventories:
    by_kind = {each.key: each for each in listed}
    owners = [by_kind[key] for key in inventories.KINDS if key in by_kind]
    records = [by_kind[key] for key in (("", "Secret"), ("", "ConfigMap")) if key in by_kind]
    if namespace:
        records = await asyncio.gather(*(_records(client, each) for each in records))
    return inventories.collect(
        [item for each in owners for item in each.items],
        known=[each.resource.kind for each in owners if not each.problem],
        talos=await _talos(client, by_kind, namespace),
        releases=[item for each in records for item in each.items],
        are_releases_known=not any(each.problem for each in records),
    )


async def _records(client: kube.Client, of: _Listed) -> _Listed:
    """Where Helm keeps releases, in all namespaces."""
    try:
        found = await client.list(
            of.resource.api_version, of.resource.kind, labels=helm_names.RELEASE_SECRET_SELECTOR, metadata_only=True
        )
    except kube.ApiError as error:
        return _Listed(of.resource, problem=error.message)
    return _Listed(of.resource, found.items)


async def _talos(
    client: kube.Client, by_kind: Mapping[tuple[str, str], _Listed], namespace: str
) -> list[Mapping[str, Any]]:
    """The inventories of Talos and Omni."""
    maps = by_kind.get(("", "ConfigMap"))
    seen = {
        (text(each, "metadata", "namespace"), text(each, "metadata", "name")) for each in (maps.items if maps else ())
    }
    places = {each for each in seen if each[1] in inventories.INVENTORIES}
    if namespace and namespace != inventories.INVENTORY_NAMESPACE:
        places |= {(inventories.INVENTORY_NAMESPACE, name) for name in inventories.INVENTORIES}

    async def get(place: tuple[str, str]) -> Mapping[str, Any] | None:
        try:
            return await client.get("v1", "ConfigMap", place[1], namespace=place[0])
        except (kube.NotFound, kube.Forbidden):
            return None

    found = await asyncio.gather(*map(get, sorted(places)))
    return [each for each in found if each is not None]
