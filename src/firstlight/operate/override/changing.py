"""``override apply`` and ``delete``: tried by the server first, recorded, then written as the emergency manager."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.applying.guarding import guarded
from firstlight.execute.overriding import holding, keeping, owned_fields, restoring, snapshot, versions
from firstlight.execute.overriding.ground import Ground
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, AppliedChange, Override, Standing
from firstlight.operate.override import beginning
from firstlight.ownership import field_values, normal_values

_TRIES = 5


async def apply(
    override: Override, values: Sequence[Mapping[str, Any]], ground: Ground, *, is_more_allowed: bool = False
) -> Override:
    """Apply objects, or parts of them, past Git; the caller holds the lease.

    Args:
        override: One that is open.
        values: What is to be; what is left out stays as it is.
        ground: Where.
        is_more_allowed: Whether objects may be changed that were not in the scope: they are looked at, and who owns
            them rests, before anything is changed.

    Raises:
        errors.Refused: It is not open, or an object is not in its scope.
        errors.ClientError: The server refuses one: then none was written, if it said so at the trial.
    """
    check_open(override, ground)
    wanted = [await _named(each, ground) for each in values]
    ids = [ObjectId.of(each) for each in wanted]
    override = await _widened(override, ids, ground, is_allowed=is_more_allowed)
    await holding.hold(override, ground)
    changes = [await _tried(each, ground) for each in wanted]
    override = await keeping.write(dataclasses.replace(override, changes=(*override.changes, *changes)), ground)
    for each in wanted:
        await _applied(each, ground)
    return override


async def delete(override: Override, id: ObjectId, ground: Ground, *, is_more_allowed: bool = False) -> Override:
    """Delete an object past Git; abort makes it again.

    Raises:
        errors.Refused: The override is not open, the object is not in its scope, or not there.
        errors.ClientError: The server refuses it.
    """
    check_open(override, ground)
    override = await _widened(override, [id], ground, is_allowed=is_more_allowed)
    await holding.hold(override, ground)
    version = (await versions.of([id], ground.client))[id]
    live = await restoring.look(id, version, ground)
    if live is None:
        raise errors.Refused(f"{id} is not there")
    change = AppliedChange(at=ground.now(), who=ground.who, object=id, is_deleted=True)
    override = await keeping.write(dataclasses.replace(override, changes=(*override.changes, change)), ground)
    uid = str(live["metadata"]["uid"])
    await ground.write(
        f"delete {id}",
        lambda: ground.client.delete(version, id.kind, id.name, namespace=id.namespace or None, uid=uid),
    )
    return override


def check_open(override: Override, ground: Ground) -> None:
    """See that something may be changed in an override.

    Raises:
        errors.Refused: It is over, or expired.
    """
    if override.standing is not Standing.OPEN:
        raise errors.Refused(f"override {override.id} is {override.standing}", hint="firstlight override status")
    if override.is_expired(ground.now()):
        raise errors.Refused(
            f"override {override.id} has expired: nothing more is changed in it",
            hint="firstlight override end or abort closes it; then begin a new one.",
        )


async def _named(value: Mapping[str, Any], ground: Ground) -> dict[str, Any]:
    """An object to apply, without what only the server writes."""
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping) or not all((value.get("apiVersion"), value.get("kind"), metadata.get("name"))):
        raise errors.UsageError(
            "an object has no apiVersion, kind or metadata.name", hint="Each document must be an object of Kubernetes."
        )
    resource = await ground.client.resource(str(value["apiVersion"]), str(value["kind"]))
    if resource.is_namespaced and not metadata.get("namespace"):
        raise errors.UsageError(
            f"{value['kind']} {metadata['name']} has no namespace", hint="Write metadata.namespace into it."
        )
    if _has_null(value):
        raise errors.UsageError(
            f"{value['kind']} {metadata['name']} has a null: a field is not removed by applying nothing",
            hint="Set it to what it must be instead, or delete the object and apply it anew.",
        )
    return restoring.cleaned(_folded(value))


def _folded(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Secret with its ``stringData`` as the ``data`` that the server makes of it, to be compared and owned.

    What is not text is left for the server to refuse.
    """
    given = value.get("stringData")
    is_text = isinstance(given, Mapping) and all(isinstance(each, str) for each in given.values())
    return normal_values.without_string_data(value) if is_text else value


async def _widened(override: Override, ids: Sequence[ObjectId], ground: Ground, *, is_allowed: bool) -> Override:
    """The override with all these objects in its scope; looked at before anything is changed."""
    more = [each for each in dict.fromkeys(ids) if each not in override.objects]
    if not more:
        return override
    if not is_allowed:
        raise errors.Refused(
            f"{more[0]} is not in the scope of override {override.id}",
            hint="--also takes it in: it is looked at first, and who owns it rests.",
        )
    others = [each for each in await keeping.listed(ground.client) if each.id != override.id]
    scope = await beginning.beside(await beginning.look((), more, ground), others, ground)
    known = {str(each) for each in override.held}
    held = (*override.held, *(each for each in scope.held if str(each) not in known))
    await snapshot.write(override.id, scope.values, ground, part=len(override.objects))
    return await keeping.write(
        dataclasses.replace(override, objects=(*override.objects, *scope.objects), held=held), ground
    )


async def _tried(value: Mapping[str, Any], ground: Ground) -> AppliedChange:
    """What would change, by the server's own word."""
    id, version = ObjectId.of(value), str(value["apiVersion"])
    live = await restoring.look(id, version, ground)
    whole = owned_fields.together(live, value, MANAGER)
    after = await ground.client.apply(whole, manager=MANAGER, force=True, dry_run=True)
    paths = owned_fields.leaves(owned_fields.of(after, MANAGER))
    changed = [
        path
        for path in paths
        if live is None or not field_values.is_same(field_values.at(live, path), field_values.at(after, path))
    ]
    return AppliedChange(
        at=ground.now(), who=ground.who, object=id, fields=owned_fields.told(changed), is_new=live is None
    )


async def _applied(value: Mapping[str, Any], ground: Ground) -> None:
    id, version = ObjectId.of(value), str(value["apiVersion"])
    for number in range(_TRIES):
        live = await restoring.look(id, version, ground)
        whole = guarded(owned_fields.together(live, value, MANAGER), live)
        try:
            await ground.write(
                f"apply {id}", functools.partial(ground.client.apply, whole, manager=MANAGER, force=True)
            )
        except kube.Conflict:
            if number + 1 == _TRIES:
                raise
        else:
            return


def _has_null(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_null(each) for name, each in value.items() if name not in ("status", "creationTimestamp"))
    if isinstance(value, list):
        return any(map(_has_null, value))
    return value is None
