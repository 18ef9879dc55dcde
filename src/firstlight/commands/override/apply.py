"""``firstlight override apply`` and ``override delete``."""

import asyncio
import dataclasses
import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.cli import output
from firstlight.clients import kube
from firstlight.commands.override import begin, data, session
from firstlight.commands.override.session import lease_held
from firstlight.document import yaml_reader
from firstlight.drawing import override_text
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.overrides import object_snapshot, override_records, owned_fields, restore, suspend_resume
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, AppliedChange, Override, OverrideStanding
from firstlight.ownership import field_values, normal_values


def apply(
    cluster: str, *, files: tuple[str, ...], patches: tuple[tuple[str, str], ...], also: bool, id: str, kubeconfig:
    Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Apply objects past Git, server-side, as the manager firstlight-override; each is tried and recorded first."""
    if not files and not patches:
        raise errors.UsageError(
            "there is nothing to apply", hint="-f FILE, or --patch Deployment/shop/web '{\"spec\": …}'"
        )
    values = [each for file in files for each in read_manifests(file)]
    place = session.OverrideTarget(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        async with place.opened() as ground:
            given = [*values, *[await _patched(name, text, ground) for name, text in patches]]
            async with lease_held(ground):
                override = await session.chosen_override(ground, id)
                before = len(override.changes)
                override = await apply_objects(override, given, ground, is_more_allowed=also)
            _print(override, form, before=before)
        return 0

    return asyncio.run(run())


def delete(
    object_name: str, *, cluster: str, also: bool, yes: bool, id: str, kubeconfig: Path | None, context: str, root:
    Path | None, form: str,
) -> int:  # fmt: skip
    """Delete an object past Git; what it was is in the snapshot, and abort makes it again."""
    place = session.OverrideTarget(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        async with place.opened() as ground:
            what = await session.object_named(object_name, ground.client)
            session.require_agreement(
                f"deletes {what}; what it holds beside its own fields, such as data, is gone", yes=yes
            )
            async with lease_held(ground):
                override = await session.chosen_override(ground, id)
                before = len(override.changes)
                override = await delete_object(override, what, ground, is_more_allowed=also)
            _print(override, form, before=before)
        return 0

    return asyncio.run(run())


def _print(override: Override, form: str, *, before: int) -> None:
    changes = override.changes[before:]
    output.answer(form, "\n".join(override_text.changes(changes)), data.changes(override, changes))


def read_manifests(file: str) -> list[dict[str, Any]]:
    """The objects of a file; values of Secrets in it are never told."""
    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise errors.UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    try:
        documents = yaml_reader.load_all(text)
    except ValueError as error:
        problem, line = yaml_reader.problem_of(error)
        raise errors.ConfigError(problem, path=file, line=line) from error
    found: list[dict[str, Any]] = []
    for each in documents:
        if each is None:
            continue
        if not isinstance(each, dict):
            raise errors.ConfigError("this is no object of Kubernetes", path=file, hint="apiVersion, kind, metadata …")
        items = each.get("items") if str(each.get("kind") or "").endswith("List") else None
        found += [one for one in items if isinstance(one, dict)] if isinstance(items, list) else [each]
    if not found:
        raise errors.ConfigError("there is no object in it", path=file)
    return found


async def _patched(name: str, text: str, ground: OverrideContext) -> dict[str, Any]:
    """A part of an object that is named apart from it."""
    try:
        part = msgspec.json.decode(text.encode())
    except msgspec.DecodeError as error:
        raise errors.UsageError(
            f"the patch of {name} is not JSON: {error}", hint='\'{"spec": {"replicas": 3}}\''
        ) from error
    if not isinstance(part, dict):
        raise errors.UsageError(f"the patch of {name} is no object", hint='\'{"spec": {"replicas": 3}}\'')
    id = await session.object_named(name, ground.client)
    version = (await restore.version_of([id], ground.client))[id]
    metadata = part.get("metadata") if isinstance(part.get("metadata"), dict) else {}
    place = {"name": id.name, **({"namespace": id.namespace} if id.namespace else {})}
    return {**part, "apiVersion": version, "kind": id.kind, "metadata": {**(metadata or {}), **place}}


# ``override apply`` and ``delete``: tried by the server first, recorded, then written as the emergency manager.


_TRIES = 5


async def apply_objects(
    override: Override, values: Sequence[Mapping[str, Any]], ground: OverrideContext, *, is_more_allowed: bool = False
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
    await suspend_resume.hold(override, ground)
    changes = [await _tried(each, ground) for each in wanted]
    override = await override_records.write(
        dataclasses.replace(override, changes=(*override.changes, *changes)), ground
    )
    for each in wanted:
        await _applied(each, ground)
    return override


async def delete_object(
    override: Override, id: ObjectId, ground: OverrideContext, *, is_more_allowed: bool = False
) -> Override:
    """Delete an object past Git; abort makes it again.

    Raises:
        errors.Refused: The override is not open, the object is not in its scope, or not there.
        errors.ClientError: The server refuses it.
    """
    check_open(override, ground)
    override = await _widened(override, [id], ground, is_allowed=is_more_allowed)
    await suspend_resume.hold(override, ground)
    version = (await restore.version_of([id], ground.client))[id]
    live = await restore.look(id, version, ground)
    if live is None:
        raise errors.Refused(f"{id} is not there")
    change = AppliedChange(at=ground.now(), who=ground.who, object=id, is_deleted=True)
    override = await override_records.write(dataclasses.replace(override, changes=(*override.changes, change)), ground)
    uid = str(live["metadata"]["uid"])
    await ground.write(
        f"delete {id}",
        lambda: ground.client.delete(version, id.kind, id.name, namespace=id.namespace or None, uid=uid),
    )
    return override


def check_open(override: Override, ground: OverrideContext) -> None:
    """See that something may be changed in an override.

    Raises:
        errors.Refused: It is over, or expired.
    """
    if override.standing is not OverrideStanding.OPEN:
        raise errors.Refused(f"override {override.id} is {override.standing}", hint="firstlight override status")
    if override.is_expired(ground.now()):
        raise errors.Refused(
            f"override {override.id} has expired: nothing more is changed in it",
            hint="firstlight override end or abort closes it; then begin a new one.",
        )


async def _named(value: Mapping[str, Any], ground: OverrideContext) -> dict[str, Any]:
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
    return restore.cleaned(_folded(value))


def _folded(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Secret with its ``stringData`` as the ``data`` that the server makes of it, to be compared and owned.

    What is not text is left for the server to refuse.
    """
    given = value.get("stringData")
    is_text = isinstance(given, Mapping) and all(isinstance(each, str) for each in given.values())
    return normal_values.without_string_data(value) if is_text else value


async def _widened(
    override: Override, ids: Sequence[ObjectId], ground: OverrideContext, *, is_allowed: bool
) -> Override:
    """The override with all these objects in its scope; looked at before anything is changed."""
    more = [each for each in dict.fromkeys(ids) if each not in override.objects]
    if not more:
        return override
    if not is_allowed:
        raise errors.Refused(
            f"{more[0]} is not in the scope of override {override.id}",
            hint="--also takes it in: it is looked at first, and who owns it rests.",
        )
    others = [each for each in await override_records.listed(ground.client) if each.id != override.id]
    scope = await begin.scope_beside(await begin.look_at_scope((), more, ground), others, ground)
    known = {str(each) for each in override.held}
    held = (*override.held, *(each for each in scope.held if str(each) not in known))
    await object_snapshot.write(override.id, scope.values, ground, part=len(override.objects))
    return await override_records.write(
        dataclasses.replace(override, objects=(*override.objects, *scope.objects), held=held), ground
    )


async def _tried(value: Mapping[str, Any], ground: OverrideContext) -> AppliedChange:
    """What would change, by the server's own word."""
    id, version = ObjectId.of(value), str(value["apiVersion"])
    live = await restore.look(id, version, ground)
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


async def _applied(value: Mapping[str, Any], ground: OverrideContext) -> None:
    id, version = ObjectId.of(value), str(value["apiVersion"])
    for number in range(_TRIES):
        live = await restore.look(id, version, ground)
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
