"""Objects put back as they were before an override: only what it changed, and to whom it belonged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.execute.overrides import owned_fields
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER
from firstlight.observe import owned_objects
from firstlight.ownership import field_set

_TRIES = 8
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_MADE_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


async def object_back(
    id: ObjectId,
    version: str,
    before: Mapping[str, Any] | None,
    ground: OverrideContext,
    *,
    is_new: bool,
    is_deleted: bool,
) -> str:
    """Make of an object what it was before an override; why it cannot be, or nothing.

    Args:
        id: Which.
        version: Its apiVersion.
        before: As it was; None if it was not there, or its snapshot is gone.
        ground: Where.
        is_new: Whether the override has made it.
        is_deleted: Whether the override has deleted it.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    live = await look(id, version, ground)
    is_mine = live is not None and bool(owned_fields.of(live, MANAGER))
    if before is None:
        if live is not None and is_mine and is_new:
            await _remove(id, version, live, ground)
        elif is_mine or (live is None and is_deleted and not is_new):
            # To delete what cannot be made again would be worse than to leave it.
            return f"there is no snapshot of {id}: it stays as it is"
    elif live is None:
        if is_deleted:
            await _made_again(before, ground)
    elif is_mine and is_deleted and live["metadata"]["uid"] != before["metadata"]["uid"]:
        await _exchanged(live, before, ground)
    else:
        await back(live, MANAGER, before, ground)
    return ""


async def back(live: Mapping[str, Any], manager: str, before: Mapping[str, Any], ground: OverrideContext) -> None:
    """Take away what a manager has of an object, and give back what was there before, with its owners.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    id, version = ObjectId.of(live), str(live["apiVersion"])
    now: Mapping[str, Any] | None = live
    for number in range(_TRIES):
        if now is None or not any(each.get("manager") == manager for each in field_set.managed_entries(now)):
            return
        try:
            wanted = owned_fields.restored(now, before, owned_fields.of(now, manager))
            patch = owned_fields.merge_patch(now, wanted)
            if patch:
                now = await _restored(id, version, _guarded(patch, now), manager, ground)
            await _owners(now, owned_fields.given_back(now, before, manager), manager, ground)
        except kube.NotFound:
            return
        except (kube.Conflict, kube.AmbiguousWrite):
            if number + 1 == _TRIES:
                raise
            await asyncio.sleep(_PAUSES[min(number, len(_PAUSES) - 1)])
            now = await look(id, version, ground)
        else:
            return


async def passed(live: Mapping[str, Any], ground: OverrideContext, *, to: str) -> None:
    """Give all that the emergency manager has of an object to somebody else; its values stay.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    id, version = ObjectId.of(live), str(live["apiVersion"])
    now: Mapping[str, Any] | None = live
    for number in range(_TRIES):
        entries = owned_fields.passed(now, MANAGER, to=to) if now is not None else None
        if now is None or entries is None:
            return
        try:
            await _owners(now, entries, to or MANAGER, ground)
        except kube.NotFound:
            return
        except (kube.Conflict, kube.AmbiguousWrite):
            if number + 1 == _TRIES:
                raise
            await asyncio.sleep(_PAUSES[min(number, len(_PAUSES) - 1)])
            now = await look(id, version, ground)
        else:
            return


async def look(id: ObjectId, version: str, ground: OverrideContext) -> dict[str, Any] | None:
    """An object as it is now; None if it is not there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    try:
        return dict(await ground.client.get(version, id.kind, id.name, namespace=id.namespace or None))
    except (kube.NotFound, kube.UnknownKind):
        return None


def cleaned(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what only the server writes."""
    metadata = {name: each for name, each in (value.get("metadata") or {}).items() if name not in _MADE_BY_SERVER}
    return {**{name: each for name, each in value.items() if name != "status"}, "metadata": metadata}


def _guarded(patch: dict[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    seen = live["metadata"]["resourceVersion"]
    return {**patch, "metadata": {**(patch.get("metadata") or {}), "resourceVersion": seen}}


async def _restored(
    id: ObjectId, version: str, patch: Mapping[str, Any], manager: str, ground: OverrideContext
) -> dict[str, Any]:
    return await ground.write(
        f"restore {id}",
        lambda: ground.client.patch(version, id.kind, id.name, patch, manager=manager, namespace=id.namespace or None),
    )


async def _owners(
    live: Mapping[str, Any], entries: list[dict[str, Any]], manager: str, ground: OverrideContext
) -> None:
    id = ObjectId.of(live)
    await ground.write(
        f"owners of {id}",
        lambda: ground.client.patch(
            str(live["apiVersion"]), id.kind, id.name, owned_fields.owners_patch(live, entries), form="json",
            manager=manager, namespace=id.namespace or None,
        ),
    )  # fmt: skip


async def _remove(id: ObjectId, version: str, live: Mapping[str, Any], ground: OverrideContext) -> None:
    try:
        await ground.write(
            f"remove {id}",
            lambda: ground.client.delete(
                version, id.kind, id.name, namespace=id.namespace or None, uid=str(live["metadata"]["uid"])
            ),
        )
    except kube.NotFound:
        return


async def _made_again(before: Mapping[str, Any], ground: OverrideContext) -> None:
    """Create what was deleted, and let its fields belong to whom they belonged."""
    made = await ground.write(
        f"restore {ObjectId.of(before)}", lambda: ground.client.apply(cleaned(before), manager=MANAGER, force=True)
    )
    await back(made, MANAGER, before, ground)


async def _exchanged(live: Mapping[str, Any], before: Mapping[str, Any], ground: OverrideContext) -> None:
    """Put back what was deleted where another one was applied in its place: that has nothing else of what it had."""
    try:
        await _made_again(before, ground)
    except kube.Invalid:  # a field that cannot be changed, which may be why it was deleted
        await _remove(ObjectId.of(live), str(live["apiVersion"]), live, ground)
        await _made_again(before, ground)


# In which version objects are read: as they were before an override, or as the server likes it best.


async def version_of(
    ids: Iterable[ObjectId], client: kube.Client, *, before: Mapping[ObjectId, Mapping[str, Any]] | None = None
) -> dict[ObjectId, str]:
    """The apiVersion of each; of a kind that is not served any more, the one that it may have had.

    Raises:
        errors.ClientError: The API does not answer.
    """
    kept = before or {}
    found = {id: str(kept[id]["apiVersion"]) for id in ids if id in kept}
    missing = [id for id in ids if id not in kept]
    if missing:
        served = await all_versions(client)
        for id in missing:
            found[id] = served.get((id.group, id.kind), f"{id.group}/v1" if id.group else "v1")
    return found


async def all_versions(client: kube.Client) -> dict[tuple[str, str], str]:
    """The apiVersion of every kind that can be listed, by group and kind.

    Raises:
        errors.ClientError: The API does not answer.
    """
    catalog = await client.catalog(refresh=True)
    return {(each.group, each.kind): each.api_version for each in owned_objects.kinds(catalog)}
