"""What of many objects is not as it must be; reads and dry runs alone."""

import asyncio
import dataclasses
from collections.abc import Collection, Iterable, Mapping

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube import subset
from firstlight.execute.applying import definitions
from firstlight.execute.applying.difference import Difference
from firstlight.execute.applying.observing import Seen, observe
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object
from firstlight.ownership import comparing, engine_marks, normal_values
from firstlight.ownership.comparing import Likeness

PROBE = "firstlight-look"
"""As whom it is tried what would change of an engine's object; never one that writes."""

_TRIES = 3


async def survey(
    objects: Iterable[Object],
    client: "kube.Client",
    *,
    manager: str,
    managers: Mapping[ObjectId, str] | None = None,
    once: Collection[ObjectId] = (),
    owners_count: bool = True,
    namespace: str = "",
) -> list[Difference]:
    """What an apply of objects would change, in their order; those that are equal are left out.

    Args:
        objects: All that must be there.
        client: The API.
        manager: Who would apply them.
        managers: Those whom somebody else would apply.
        once: Those that only have to be there, as whatever.
        owners_count: Whether an object also differs that is as it must be and has other owners.
        namespace: Where objects go that name none, and are of a kind that is in one.

    Raises:
        errors.Refused: An object has no name.
        errors.ClientError: The server does not say.
    """
    unique: dict[ObjectId, Object] = {}
    for each in objects:
        if not each.id.name:
            raise errors.Refused(
                f"a {each.id.kind or 'manifest'} has no name, so that it cannot be applied twice",
                hint="give it metadata.name instead of generateName",
            )
        unique[each.id] = Object(normal_values.without_string_data(each.value))
    others = managers or {}

    async def judged(id: ObjectId, seen: Seen) -> Difference | None:
        if id in once and seen.live is not None:
            return None
        found = await _judge(seen, client, others.get(id) or manager, owners_count=owners_count)
        return dataclasses.replace(found, is_once=True) if found is not None and id in once else found

    seen = await observe(unique.values(), client, namespace=namespace)
    found = await asyncio.gather(*map(judged, unique, seen))
    return [each for each in found if each is not None]


async def _judge(seen: Seen, client: "kube.Client", manager: str, *, owners_count: bool) -> Difference | None:
    wanted, live = seen.object, seen.live
    base = Difference(object=wanted, manager=manager, live=live)
    if live is None:
        return base
    if mark := engine_marks.of(live, wanted=wanted.value):
        return await _foreign(dataclasses.replace(base, mark=mark), client, has_status=seen.has_status)
    if base.is_going:
        return base
    likeness = comparing.compare(wanted.value, live, manager=manager, has_status=seen.has_status).likeness
    if likeness == Likeness.EQUAL:
        return None
    downgrade = definitions.lost(wanted, live) if wanted.is_crd else ""
    if downgrade or (likeness == Likeness.DIFFERENT and owners_count):
        return dataclasses.replace(base, downgrade=downgrade)
    return await _tried(base, client, has_status=seen.has_status, owners_count=owners_count)


async def _tried(base: Difference, client: "kube.Client", *, has_status: bool, owners_count: bool) -> Difference | None:
    """What a dry run would change; somebody who writes at the same time is not taken for it."""
    wanted, live = base.object, base.live
    assert live is not None
    for _ in range(_TRIES):
        try:
            after = await client.apply(wanted.value, manager=base.manager, force=not owners_count, dry_run=True)
        except kube.Conflict as error:
            return dataclasses.replace(base, conflicts=error.conflicts)
        except (kube.ApiError, kube.UnknownKind):
            break  # why it is refused is told when it is applied
        fields = comparing.changes(live, after, has_status=has_status)
        if comparing.is_same(live, after, has_status=has_status) or not (fields or owners_count):
            return None
        try:
            fresh = await client.get(
                str(wanted.value["apiVersion"]), wanted.id.kind, wanted.id.name, namespace=wanted.id.namespace or None
            )
        except kube.NotFound:
            return dataclasses.replace(base, live=None)
        if engine_marks.of(fresh, wanted=wanted.value):
            break  # adopted meanwhile: a write of what was seen is a conflict, and is looked at again
        if fresh["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]:
            return dataclasses.replace(base, live=live, fields=fields)
        live = fresh
    return base


async def _foreign(base: Difference, client: "kube.Client", *, has_status: bool) -> Difference | None:
    """An engine's object: nothing is written, so only its content counts."""
    assert base.live is not None
    if subset.is_object_subset(base.object.value, base.live):
        return None
    try:
        after = await client.apply(base.object.value, manager=PROBE, force=True, dry_run=True)
    except kube.ApiError:
        return base
    fields = comparing.changes(base.live, after, has_status=has_status)
    return dataclasses.replace(base, fields=fields) if fields else None
