"""An override that ends or is aborted, from whatever point: each part looks first whether it was done already.

Objects first, then the engines, outermost first: what is above brings the form that Git has now of what is below (a
HelmRelease with its new values, an Application with its new revision). Let go before that, an inner one would write
its old form over the fix.
"""

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.execute.overriding import (
    asking,
    comparing,
    engines,
    holding,
    incident,
    keeping,
    owned_fields,
    restoring,
    snapshot,
    versions,
)
from firstlight.execute.overriding.ground import Ground
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Held, Override, Standing
from firstlight.ownership import field_values

_FOR_GOOD = (kube.Invalid, kube.Forbidden, kube.BadRequest, kube.UnknownKind)


async def close(override: Override, ground: Ground) -> Override:
    """Carry an override that is ending or aborting to its end.

    Args:
        override: Its record, as it is in the cluster.
        ground: Where.

    Raises:
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    before = await snapshot.read(override, ground.client)
    known = await versions.of(override.changed, ground.client, before=before)
    is_back = override.standing is Standing.ABORTING or override.is_discarded
    kept: dict[ObjectId, Mapping[str, Any]] = {}
    notes = [*override.notes]
    for id in override.changed:
        live = await restoring.look(id, known[id], ground)
        try:
            if is_back:
                mine = [each for each in override.changes if each.object == id]
                why = await restoring.object_back(
                    id, known[id], before.get(id), ground, is_new=mine[0].is_new,
                    is_deleted=any(each.is_deleted for each in mine),
                )  # fmt: skip
                notes += [why] if why else []
            elif live is not None:
                kept[id] = live
                await restoring.passed(live, ground, to=engines.applies(live))
        except _FOR_GOOD as error:
            # It will not change by being tried again, and the engines must not rest for ever for it.
            notes.append(f"{id} is not as it should be: {error}")
    notes += await _let_go(override, ground)
    for id, then in kept.items():
        notes += _lost(id, then, await restoring.look(id, known[id], ground))
    now = ground.now()
    over = dataclasses.replace(
        override, standing=Standing.ABORTED if override.standing is Standing.ABORTING else Standing.ENDED,
        ended=now, ended_by=ground.who, notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip
    incident.keep(over, state=ground.state, cluster=ground.cluster, say=ground.say)
    await snapshot.drop(override, ground)
    return await keeping.write(over, ground)


async def undo(override: Override, ground: Ground, *, why: str) -> Override:
    """Take back the beginning of an override: nothing was changed yet, and nobody may go on resting for it.

    Raises:
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    for each in _ordered(override):
        await holding.release(each, override, ground)
    await snapshot.drop(override, ground)
    over = dataclasses.replace(
        override, standing=Standing.ABORTED, ended=ground.now(), ended_by=ground.who, notes=(*override.notes, why)
    )
    return await keeping.write(over, ground)


async def looked(override: Override, ground: Ground) -> Override:
    """The record with what was changed, before anything is written for its end; and what others changed since.

    Raises:
        errors.ClientError: The API does not answer.
    """
    before = await snapshot.read(override, ground.client)
    known = await versions.of(override.changed, ground.client, before=before)
    lives = await asyncio.gather(*(restoring.look(id, known[id], ground) for id in override.changed))
    fields, notes = [*override.fields], [*override.notes]
    for id, live in zip(override.changed, lives, strict=True):
        fields += comparing.changes(id, live, before.get(id))
        recorded = tuple(field for each in override.changes if each.object == id for field in each.fields)
        notes += [f"{id}: {each} was changed by somebody else meanwhile" for each in comparing.others(live, recorded)]
    return dataclasses.replace(override, fields=tuple(fields), notes=tuple(dict.fromkeys(notes)))


async def _let_go(override: Override, ground: Ground) -> list[str]:
    """Resume everybody; what went another way than it should."""
    notes = []
    above: dict[Held, str] = {}
    for each in _ordered(override):
        if each.kind == "Application" and not each.was_suspended:
            await asking.first(_name(each), ground)
        if (name := await holding.unshield(each, override, ground)) and name != str(each):
            above[each] = name
    own = {str(each) for each in override.held}
    asked: set[str] = set()
    for each in _ordered(override):
        name = above.get(each, "")
        if name and name not in asked | own and override.changes:
            # It has passed this object over while it rested; without it, what Git says of it now is not there.
            asked.add(name)
            notes.append(await asking.reconciled(name, ground))
        live = await holding.look(each, ground)
        if live is None:
            notes.append(f"{each} is not there any more")
            continue
        if override.standing is Standing.ENDING and not override.is_discarded:
            notes.append(await asking.sourced(live, override.revision, ground, url=override.repository))
        if await holding.release(each, override, ground) or not engines.is_resting(each, live):
            notes.append(await _gone_on(each, ground))
    for note in (each for each in notes if each):
        ground.say(note)
    return [each for each in notes if each]


async def _gone_on(held: Held, ground: Ground) -> str:
    """Wait until one that was let go has been reconciled; why it has not, or nothing."""
    live = await holding.look(held, ground)
    if live is not None and engines.is_resting(held, live):
        why = "was suspended before, and stays so" if held.was_suspended else "goes on resting for another override"
        ground.say(f"{held} {why}")
        return ""
    ground.say(f"{held} goes on")
    return await asking.reconciled(_name(held), ground)


def _name(held: Held) -> str:
    return f"{held.kind} {held.namespace}/{held.name}"


def _ordered(override: Override) -> list[Held]:
    return sorted(override.held, key=lambda each: each.depth)


def _lost(id: ObjectId, then: Mapping[str, Any], now: Mapping[str, Any] | None) -> list[str]:
    """Fields of the fix that the engine has taken back."""
    if now is None:
        return [f"{id} is gone since the engine went on"]
    return [
        f"{id}: {owned_fields.told([path])[0]} is not as it was fixed since the engine went on"
        for path in owned_fields.leaves(owned_fields.of(then, MANAGER))
        if not field_values.is_same(field_values.at(then, path), field_values.at(now, path))
    ]
