"""``firstlight override begin``."""

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import output
from firstlight.commands.override import data, emergency_route, session
from firstlight.commands.override.session import lease_held
from firstlight.drawing import override_text, table
from firstlight.engines import engine_marks
from firstlight.errors import ExitCode
from firstlight.execute.overrides import (
    held_engines,
    object_snapshot,
    override_end,
    override_records,
    restore,
    suspend_resume,
)
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model.component import ObjectId
from firstlight.model.override import (
    LONGEST,
    Emergency,
    EmergencyPath,
    EmergencyRoute,
    Override,
    OverrideStanding,
    OverrideStatus,
    SuspendedOwner,
)
from firstlight.observe import owned_objects
from firstlight.ownership import inventories


def begin(
    cluster: str, *, emergency: str, reason: str, seconds: float, components: tuple[str, ...], objects: tuple[str,
    ...], anyway: bool, yes: bool, kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Open an override: who owns the scope rests, and whatever above would wake it; all is looked at before."""
    if not components and not objects:
        raise errors.UsageError("an override needs a scope", hint="--component NAME or --object Deployment/shop/web")

    wish = OverrideRequest(emergency=Emergency(emergency), reason=reason, seconds=seconds)
    check_request(wish)
    place = session.OverrideTarget(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        route = None
        try:
            async with place.opened() as ground:
                route = await emergency_route.route(place.cluster, ground.client)
                if not _is_right(route, anyway=anyway, form=form):
                    return ExitCode.BLOCKED
                owners = [
                    each for name in components for each in session.owners_of(place.platform, place.cluster, name)
                ]
                named = [await session.object_named(each, ground.client) for each in objects]
                found = dataclasses.replace(
                    wish, owners=tuple(dict.fromkeys(owners)), objects=tuple(dict.fromkeys(named)),
                    scope=(*(f"component {each}" for each in components), *map(str, named)),
                )  # fmt: skip
                return await _begun(found, ground, yes=yes, form=form)
        except errors.Unreachable as error:
            if route is not None:
                raise
            _is_right(emergency_route.unreachable(error), anyway=False, form=form)
            return ExitCode.BLOCKED

    return asyncio.run(run())


def _is_right(route: EmergencyRoute, *, anyway: bool, form: str) -> bool:
    """Whether an override is the right way; the way is told, whichever it is."""
    is_right = anyway or route.path is EmergencyPath.OVERRIDE
    if form == "json" and not is_right:
        output.write_json({"begun": None, "route": data.route(route)})
    else:
        print("\n".join(override_text.route(route)), file=sys.stderr)
    return is_right


async def _begun(wish: "OverrideRequest", ground: OverrideContext, *, yes: bool, form: str) -> int:
    scope = await look_at_scope(wish.owners, wish.objects, ground)
    rests = ", ".join(map(str, scope.held)) or "nobody: no engine owns any of it"
    session.require_agreement(f"these rest until it is ended: {rests}", yes=yes)
    async with lease_held(ground):
        override = await begin_override(wish, ground)
    _print(override, form=form, now=ground.now())
    return 0


def _print(override: Override, *, form: str, now: float) -> None:
    text = override_text.status(
        [OverrideStatus(override=override)], cluster=override.cluster, now=now, columns=table.terminal_columns()
    )
    output.answer(form, text, {"begun": data.one(override, now=now)})


# ``override begin``: the record first, then the snapshot, then everybody rests, outermost first; then it is open.


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverrideRequest:
    """What is to be overridden."""

    emergency: Emergency
    reason: str
    seconds: float
    """How long it may stand."""
    owners: tuple[str, ...] = ()
    """Engines' objects all of whose objects are meant: ``Kustomization flux-system/shop``, ``Application shop``."""
    objects: tuple[ObjectId, ...] = ()
    """Single objects; they need not be there."""
    scope: tuple[str, ...] = ()
    """The same, as it was typed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverrideScope:
    """What was found of a wish."""

    held: tuple[SuspendedOwner, ...]
    objects: tuple[ObjectId, ...]
    values: tuple[Mapping[str, Any], ...] = dataclasses.field(repr=False)
    """Everything as it is: for the snapshot."""
    missing: tuple[str, ...] = ()


async def begin_override(wish: OverrideRequest, ground: OverrideContext) -> Override:
    """Open an override; the caller holds the lease.

    Raises:
        errors.UsageError: It says no reason, or it would stand too long.
        errors.Refused: Another override has a part of its scope, or there is nothing in it.
        errors.ClientError: The API does not answer, or refuses a write; then nobody rests, or the next command sees
            to it.
    """
    check_request(wish)
    scope = await look_at_scope(wish.owners, wish.objects, ground)
    if not scope.held and not scope.objects:
        raise errors.Refused(
            f"there is nothing in the cluster of {', '.join(wish.scope)}",
            hint="Name the objects: --object Deployment/shop/web",
        )
    scope = await scope_beside(scope, await override_records.listed(ground.client), ground)
    now = ground.now()
    override = Override(
        id=override_records.made_id(now),
        cluster=ground.cluster,
        emergency=wish.emergency,
        reason=wish.reason,
        who=ground.who,
        begun=now,
        until=now + wish.seconds,
        standing=OverrideStanding.BEGINNING,
        scope=wish.scope,
        objects=scope.objects,
        held=scope.held,
        notes=tuple(f"{each} is not there, so it does not rest" for each in scope.missing),
    )
    await override_records.write(override, ground)
    try:
        await object_snapshot.write(override.id, scope.values, ground)
        await suspend_resume.hold(override, ground)
        return await override_records.write(dataclasses.replace(override, standing=OverrideStanding.OPEN), ground)
    except (errors.FirstlightError, asyncio.CancelledError) as error:
        with contextlib.suppress(errors.FirstlightError):  # else the next command does it
            await override_end.undo(override, ground, why=f"it could not begin: {str(error) or 'interrupted'}")
        raise


def check_request(wish: OverrideRequest) -> None:
    """See that a wish can be granted at all.

    Raises:
        errors.UsageError: It says no reason, or it would stand too long.
    """
    if not wish.reason.strip():
        raise errors.UsageError("an override needs a reason", hint="--reason 'what is broken, and what is done'")
    if not 0 < wish.seconds <= LONGEST:
        raise errors.UsageError(
            f"an override may stand for {LONGEST / 3600:.0f} h at most", hint="--for 2h; begin a new one after that."
        )


async def look_at_scope(owners: Iterable[str], objects: Iterable[ObjectId], ground: OverrideContext) -> OverrideScope:
    """What a scope means in the cluster; nothing is written.

    Raises:
        errors.Refused: A kind is not served, or nothing keeps an owner from writing an object.
        errors.ClientError: The API does not answer.
    """
    named = [*dict.fromkeys(objects)]
    served = await restore.all_versions(ground.client)
    if unknown := [each for each in named if (each.group, each.kind) not in served]:
        raise errors.Refused(f"the server knows no {unknown[0].kind} of {unknown[0].group or 'the core group'}")
    lives = await object_snapshot.look(named, ground.client, versions=served)
    reasons = {each: f"owns what {each} applies" for each in owners}
    for id, live in zip(named, lives, strict=True):
        for owner in held_engines.owners_above(live) if live is not None else ():
            if owner.startswith("ApplicationSet "):
                # While it rests it keeps annotations; nothing keeps it from writing all the rest.
                raise errors.Refused(
                    f"{id} is made by {owner}, which would write it back at once",
                    hint="Name what the Application applies, or the ApplicationSet itself.",
                )
            reasons.setdefault(owner, f"owns {id}")
    held, engines_seen, missing = await held_engines.find_held(reasons.items(), ground.client)
    mine: dict[ObjectId, None] = dict.fromkeys(named)
    for name in owners:
        live = next((each for own, each in engines_seen.items() if _is_called(own, each, name)), None)
        if live is not None:
            mine |= dict.fromkeys(await _owned_by(live, name, ground))
    more = [each for each in mine if each not in named]
    values = [*lives, *await object_snapshot.look(more, ground.client, versions=served)]
    kept = {ObjectId.of(each): each for each in (*values, *engines_seen.values()) if each is not None}
    return OverrideScope(held=held, objects=tuple(mine), values=tuple(kept.values()), missing=missing)


async def scope_beside(scope: OverrideScope, others: Iterable[Override], ground: OverrideContext) -> OverrideScope:
    """A scope beside those of open overrides: what is above both and rests already, as it was before the first.

    Raises:
        errors.Refused: Another override has a part of it.
        errors.ClientError: The API does not answer.
    """
    opened = [each for each in others if not each.is_over]
    _check_alone(scope, opened)
    names = {str(each) for each in scope.held}
    suspended: dict[str, bool] = {}
    first: dict[ObjectId, Mapping[str, Any]] = {}
    for other in opened:
        shared = {str(each): each.was_suspended for each in other.held if str(each) in names}
        if shared:
            suspended = {**shared, **suspended}
            kept = await object_snapshot.read(other, ground.client)
            first = {**{id: value for id, value in kept.items() if str(id) in shared}, **first}
    return dataclasses.replace(
        scope,
        held=tuple(
            dataclasses.replace(each, was_suspended=suspended.get(str(each), each.was_suspended))
            for each in scope.held
        ),
        values=tuple(first.get(ObjectId.of(each), each) for each in scope.values),
    )  # fmt: skip


def _check_alone(scope: OverrideScope, others: Iterable[Override]) -> None:
    """See that no open override has a part of a scope."""
    mine = {str(each) for each in scope.held if not each.is_above}
    for other in others:
        shared = mine & {str(each) for each in other.held if not each.is_above}
        shared |= {str(each) for each in {*scope.objects} & {*other.objects}}
        if shared:
            raise errors.Refused(
                f"override {other.id} of {other.who} has {min(shared)} already: {other.reason}",
                hint=f"Work in that one (firstlight override apply --id {other.id}), or end it first.",
            )


def _is_called(own: str, live: Mapping[str, Any], name: str) -> bool:
    return name in (own, f"{live.get('kind')} {live['metadata'].get('name')}")


async def _owned_by(live: Mapping[str, Any], name: str, ground: OverrideContext) -> list[ObjectId]:
    """What an engine's object has, by its own list, or else by the marks on objects."""
    listed = inventories.objects_of(live)
    if listed is not None:
        return sorted(listed)
    if str(live.get("kind")) not in held_engines.API:
        return []
    seen = await owned_objects.look(ground.client)
    return sorted(
        ObjectId.of(each) for each in seen.objects if name in {mark.owner for mark in engine_marks.every(each)}
    )
