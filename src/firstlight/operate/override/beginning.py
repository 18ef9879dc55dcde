"""``override begin``: the record first, then the snapshot, then everybody rests, outermost first; then it is open."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.execute.overriding import closing, engines, finding, holding, keeping, snapshot, versions
from firstlight.execute.overriding.ground import Ground
from firstlight.model.component import ObjectId
from firstlight.model.override import LONGEST, Emergency, Held, Override, Standing
from firstlight.observe import owned
from firstlight.ownership import engine_marks, listing


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
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
class Scope:
    """What was found of a wish."""

    held: tuple[Held, ...]
    objects: tuple[ObjectId, ...]
    values: tuple[Mapping[str, Any], ...] = dataclasses.field(repr=False)
    """Everything as it is: for the snapshot."""
    missing: tuple[str, ...] = ()


async def begin(wish: Wish, ground: Ground) -> Override:
    """Open an override; the caller holds the lease.

    Raises:
        errors.UsageError: It says no reason, or it would stand too long.
        errors.Refused: Another override has a part of its scope, or there is nothing in it.
        errors.ClientError: The API does not answer, or refuses a write; then nobody rests, or the next command sees
            to it.
    """
    check(wish)
    scope = await look(wish.owners, wish.objects, ground)
    if not scope.held and not scope.objects:
        raise errors.Refused(
            f"there is nothing in the cluster of {', '.join(wish.scope)}",
            hint="Name the objects: --object Deployment/shop/web",
        )
    scope = await beside(scope, await keeping.listed(ground.client), ground)
    now = ground.now()
    override = Override(
        id=keeping.made_id(now), cluster=ground.cluster, emergency=wish.emergency, reason=wish.reason, who=ground.who,
        begun=now, until=now + wish.seconds, standing=Standing.BEGINNING, scope=wish.scope, objects=scope.objects,
        held=scope.held, notes=tuple(f"{each} is not there, so it does not rest" for each in scope.missing),
    )  # fmt: skip
    await keeping.write(override, ground)
    try:
        await snapshot.write(override.id, scope.values, ground)
        await holding.hold(override, ground)
        return await keeping.write(dataclasses.replace(override, standing=Standing.OPEN), ground)
    except (errors.FirstlightError, asyncio.CancelledError) as error:
        with contextlib.suppress(errors.FirstlightError):  # else the next command does it
            await closing.undo(override, ground, why=f"it could not begin: {str(error) or 'interrupted'}")
        raise


def check(wish: Wish) -> None:
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


async def look(owners: Iterable[str], objects: Iterable[ObjectId], ground: Ground) -> Scope:
    """What a scope means in the cluster; nothing is written.

    Raises:
        errors.Refused: A kind is not served, or nothing keeps an owner from writing an object.
        errors.ClientError: The API does not answer.
    """
    named = [*dict.fromkeys(objects)]
    served = await versions.all_of(ground.client)
    if unknown := [each for each in named if (each.group, each.kind) not in served]:
        raise errors.Refused(f"the server knows no {unknown[0].kind} of {unknown[0].group or 'the core group'}")
    lives = await snapshot.look(named, ground.client, versions=served)
    reasons = {each: f"owns what {each} applies" for each in owners}
    for id, live in zip(named, lives, strict=True):
        for owner in engines.above(live) if live is not None else ():
            if owner.startswith("ApplicationSet "):
                # While it rests it keeps annotations; nothing keeps it from writing all the rest.
                raise errors.Refused(
                    f"{id} is made by {owner}, which would write it back at once",
                    hint="Name what the Application applies, or the ApplicationSet itself.",
                )
            reasons.setdefault(owner, f"owns {id}")
    held, engines_seen, missing = await finding.held(reasons.items(), ground.client)
    mine: dict[ObjectId, None] = dict.fromkeys(named)
    for name in owners:
        live = next((each for own, each in engines_seen.items() if _is_called(own, each, name)), None)
        if live is not None:
            mine |= dict.fromkeys(await _owned_by(live, name, ground))
    more = [each for each in mine if each not in named]
    values = [*lives, *await snapshot.look(more, ground.client, versions=served)]
    kept = {ObjectId.of(each): each for each in (*values, *engines_seen.values()) if each is not None}
    return Scope(held=held, objects=tuple(mine), values=tuple(kept.values()), missing=missing)


async def beside(scope: Scope, others: Iterable[Override], ground: Ground) -> Scope:
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
            kept = await snapshot.read(other, ground.client)
            first = {**{id: value for id, value in kept.items() if str(id) in shared}, **first}
    return dataclasses.replace(
        scope,
        held=tuple(
            dataclasses.replace(each, was_suspended=suspended.get(str(each), each.was_suspended))
            for each in scope.held
        ),
        values=tuple(first.get(ObjectId.of(each), each) for each in scope.values),
    )  # fmt: skip


def _check_alone(scope: Scope, others: Iterable[Override]) -> None:
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


async def _owned_by(live: Mapping[str, Any], name: str, ground: Ground) -> list[ObjectId]:
    """What an engine's object has, by its own list, or else by the marks on objects."""
    listed = listing.objects_of(live)
    if listed is not None:
        return sorted(listed)
    if str(live.get("kind")) not in engines.API:
        return []
    seen = await owned.look(ground.client)
    return sorted(
        ObjectId.of(each) for each in seen.objects if name in {mark.owner for mark in engine_marks.every(each)}
    )
