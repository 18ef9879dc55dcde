"""An override that ends or is aborted, from whatever point: each part looks first whether it was done already.

Objects first, then the engines, outermost first: what is above brings the form that Git has now of what is below (a
HelmRelease with its new values, an Application with its new revision). Let go before that, an inner one would write
its old form over the fix.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.engines import adapters
from firstlight.execute.overrides import (
    held_engines,
    object_snapshot,
    override_records,
    owned_fields,
    restore,
    suspend_resume,
)
from firstlight.execute.overrides.override_context import OverrideContext, OverrideEvent, OverrideMessage
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Override, OverrideStanding, SuspendedOwner
from firstlight.ownership import field_values

_FOR_GOOD = (kube.Invalid, kube.Forbidden, kube.BadRequest, kube.UnknownKind)


async def close(override: Override, ground: OverrideContext) -> Override:
    """Carry an override that is ending or aborting to its end.

    Args:
        override: Its record, as it is in the cluster.
        ground: Where.

    Raises:
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    before = await object_snapshot.read(override, ground.client)
    known = await restore.version_of(override.changed, ground.client, before=before)
    is_back = override.standing is OverrideStanding.ABORTING or override.is_discarded
    kept: dict[ObjectId, Mapping[str, Any]] = {}
    notes = [*override.notes]
    for id in override.changed:
        live = await restore.look(id, known[id], ground)
        try:
            if is_back:
                mine = [each for each in override.changes if each.object == id]
                why = await restore.object_back(
                    id, known[id], before.get(id), ground, is_new=mine[0].is_new,
                    is_deleted=any(each.is_deleted for each in mine),
                )  # fmt: skip
                notes += [why] if why else []
            elif live is not None:
                kept[id] = live
                await restore.passed(live, ground, to=held_engines.applies(live))
        except _FOR_GOOD as error:
            # It will not change by being tried again, and the engines must not rest for ever for it.
            notes.append(f"{id} is not as it should be: {error}")
    notes += await _let_go(override, ground)
    for id, then in kept.items():
        notes += _lost(id, then, await restore.look(id, known[id], ground))
    now = ground.now()
    over = dataclasses.replace(
        override,
        standing=OverrideStanding.ABORTED if override.standing is OverrideStanding.ABORTING else OverrideStanding.ENDED,
        ended=now,
        ended_by=ground.who,
        notes=tuple(dict.fromkeys(notes)),
    )
    override_records.keep_incident(over, state=ground.state, cluster=ground.cluster, say=ground.say)
    await object_snapshot.drop(override, ground)
    return await override_records.write(over, ground)


async def undo(override: Override, ground: OverrideContext, *, why: str) -> Override:
    """Take back the beginning of an override: nothing was changed yet, and nobody may go on resting for it.

    Raises:
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    for each in _ordered(override):
        await suspend_resume.release(each, override, ground)
    await object_snapshot.drop(override, ground)
    over = dataclasses.replace(
        override,
        standing=OverrideStanding.ABORTED,
        ended=ground.now(),
        ended_by=ground.who,
        notes=(*override.notes, why),
    )
    return await override_records.write(over, ground)


async def looked(override: Override, ground: OverrideContext) -> Override:
    """The record with what was changed, before anything is written for its end; and what others changed since.

    Raises:
        errors.ClientError: The API does not answer.
    """
    before = await object_snapshot.read(override, ground.client)
    known = await restore.version_of(override.changed, ground.client, before=before)
    lives = await asyncio.gather(*(restore.look(id, known[id], ground) for id in override.changed))
    fields, notes = [*override.fields], [*override.notes]
    for id, live in zip(override.changed, lives, strict=True):
        fields += owned_fields.field_changes(id, live, before.get(id))
        recorded = tuple(field for each in override.changes if each.object == id for field in each.fields)
        notes += [
            f"{id}: {each} was changed by somebody else meanwhile"
            for each in owned_fields.other_writers(live, recorded)
        ]
    return dataclasses.replace(override, fields=tuple(fields), notes=tuple(dict.fromkeys(notes)))


async def _let_go(override: Override, ground: OverrideContext) -> list[str]:
    """Resume everybody; what went another way than it should."""
    notes = []
    above: dict[SuspendedOwner, str] = {}
    for each in _ordered(override):
        if adapters.KINDS[each.kind].requests.after_rest and not each.was_suspended:
            await suspend_resume.ask_first(_name(each), ground)
        if (name := await suspend_resume.unshield(each, override, ground)) and name != str(each):
            above[each] = name
    own = {str(each) for each in override.held}
    asked: set[str] = set()
    for each in _ordered(override):
        name = above.get(each, "")
        if name and name not in asked | own and override.changes:
            # It has passed this object over while it rested; without it, what Git says of it now is not there.
            asked.add(name)
            notes.append(await suspend_resume.ask_reconcile(name, ground))
        live = await suspend_resume.look_held(each, ground)
        if live is None:
            notes.append(f"{each} is not there any more")
            continue
        if override.standing is OverrideStanding.ENDING and not override.is_discarded:
            notes.append(await suspend_resume.ask_source(live, override.revision, ground, url=override.repository))
        if await suspend_resume.release(each, override, ground) or not held_engines.is_resting(each, live):
            notes.append(await _gone_on(each, ground))
    for note in (each for each in notes if each):
        ground.say(note)
    return [each for each in notes if each]


async def _gone_on(held: SuspendedOwner, ground: OverrideContext) -> str:
    """Wait until one that was let go has been reconciled; why it has not, or nothing."""
    live = await suspend_resume.look_held(held, ground)
    if live is not None and held_engines.is_resting(held, live):
        why = "was suspended before, and stays so" if held.was_suspended else "goes on resting for another override"
        ground.say(f"{held} {why}")
        return ""
    ground.say(f"{held} goes on")
    return await suspend_resume.ask_reconcile(_name(held), ground)


def _name(held: SuspendedOwner) -> str:
    return f"{held.kind} {held.namespace}/{held.name}"


def _ordered(override: Override) -> list[SuspendedOwner]:
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


# Overrides that were cut off while they began, ended or were aborted: found by whoever may write next, and finished.
#
# Every work on an override is done under the lease of the cluster. So whoever holds it, and finds one that is neither
# open nor over, knows that nobody works on it any more.


FINISHED = 120.0
"""Seconds in which overrides are finished by a command that has something else to do."""
ANSWERED = 15.0
"""Seconds that such a command gives each engine to reconcile."""


async def cut_off(client: kube.Client) -> list[Override]:
    """Those that somebody has begun to begin, end or abort; reading only.

    Raises:
        errors.ClientError: The API does not answer.
    """
    return [each for each in await override_records.listed(client) if each.is_cut_off]


async def finish(ground: OverrideContext) -> list[Override]:
    """Finish what was cut off; the caller holds the lease.

    Raises:
        errors.ClientError: The API does not answer, or refuses a write.
    """
    done = []
    for each in await cut_off(ground.client):
        if each.standing is OverrideStanding.BEGINNING:
            ground.say(f"override {each.id} was cut off while it began: nobody rests for it any more")
            done.append(await undo(each, ground, why="it was cut off while it began"))
        else:
            word = "ended" if each.standing is OverrideStanding.ENDING else "aborted"
            ground.say(f"override {each.id} was cut off while it was {word}: that goes on")
            done.append(await close(each, ground))
    return done


async def attempt_finish(
    client: kube.Client, *, cluster: str, state: Path, tell: Callable[[str], None],
    now: Callable[[], float] = time.time,
) -> int:  # fmt: skip
    """Finish what was cut off, for a command that has just taken the lease for something else; how many it were.

    What cannot be finished is told, and holds the command up no longer.

    Args:
        client: The API.
        cluster: Its name.
        state: ``.firstlight`` of the repo.
        tell: Told what is done, in sentences.
        now: The clock.
    """

    def told(event: OverrideEvent) -> None:
        if isinstance(event, OverrideMessage):
            tell(event.text)

    ground = OverrideContext(client=client, cluster=cluster, state=state, now=now, tell=told, patience=ANSWERED)
    try:
        async with asyncio.timeout(FINISHED):
            return len(await finish(ground))
    except (TimeoutError, errors.FirstlightError) as error:
        why = str(error) or "it takes long"
        tell(f"an override that was cut off is not finished yet: {why}; firstlight override status")
        return 0
