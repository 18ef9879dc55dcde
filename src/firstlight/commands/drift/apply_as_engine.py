"""Git's form applied in the place of an engine that does not answer: as its manager, and nothing that is others'."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.document.within import mapping
from firstlight.drawing import safe
from firstlight.engines import engine_marks
from firstlight.execute.lease import Lease
from firstlight.model.drift import Drifted
from firstlight.observe import drift, live_objects
from firstlight.ownership import apply_form, drift_judgement, normal_values, stray_fields
from firstlight.ownership.drift_judgement import WantedObject
from firstlight.ownership.field_set import path_text
from firstlight.ownership.ignored_fields import IgnoreRules, Scaled

_PAUSES = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between tries: a workload that rolls out has its status written again and again for a while."""

Write = Callable[[WantedObject, Mapping[str, Any] | None, "kube.Client", IgnoreRules], Awaitable[str]]
"""Writes an object on nothing but what was seen of it; what came of it. A conflict is tried again."""


class WriteRight(Protocol):
    """The right to write: a lease, or a run that holds one."""

    async def claim(self) -> bool:
        """Take or keep it, before every write."""


async def apply(
    scene: ExpectedState,
    drifted: Sequence[Drifted],
    client: kube.Client,
    *,
    why: str,
    lease: WriteRight,
    tell: Callable[[str], None],
    confirm: Callable[[str], bool],
) -> None:
    """Git's form as the owner, of each object that still differs when its turn comes.

    Args:
        scene: What Git has.
        drifted: What differed, and whose owner exists.
        client: The API.
        why: Why its owner does not do it, for whoever confirms.
        lease: The right to write, taken.
        tell: Told of everything that is done, and of what is left.
        confirm: Asked once, with all that is going to be applied.

    Raises:
        errors.Refused: Another run has taken the cluster over.
        errors.ClientError: It cannot be told what autoscalers have.
    """
    wanted = applicable(scene, drifted, tell)
    if not wanted:
        return
    managers = ", ".join(sorted({each.manager for each in wanted}))
    ids = {each.id for each in wanted}
    names = "\n".join(f"  {each.difference.value}   {safe.name(str(each.id))}" for each in drifted if each.id in ids)
    if not confirm(f"{why} As {managers}, Git's form would be applied to:\n{names}"):
        tell("nothing was applied")
        return
    await write_each(scene, wanted, client, write=written, lease=lease, tell=tell)


def applicable(scene: ExpectedState, drifted: Iterable[Drifted], tell: Callable[[str], None]) -> list[WantedObject]:
    """What of objects that differ may be written here; of others it is told that they are left."""
    by_id = {each.id: each for each in scene.wanted}
    mine = [by_id[each.id] for each in drifted]
    for each in mine:
        if not each.is_applicable:
            tell(f"{each.id} was left: some of its values are not known here")
    return [each for each in mine if each.is_applicable]


async def write_each(
    scene: ExpectedState,
    wanted: Iterable[WantedObject],
    client: kube.Client,
    *,
    write: Write,
    lease: WriteRight,
    tell: Callable[[str], None],
) -> None:
    """Write objects one by one, each only if it still differs when its turn comes.

    Args:
        scene: What Git has.
        wanted: The objects.
        client: The API.
        write: How one is written.
        lease: The right to write, taken.
        tell: Told of everything that is done, and of what is left.

    Raises:
        errors.Refused: Another run has taken the cluster over.
        errors.ClientError: It cannot be told what autoscalers have.
    """
    scaled = await drift.scaled(scene.wanted, client)
    for each in wanted:
        await lease.claim()
        try:
            tell(await _one(each, client, scaled, write))
        except kube.Conflict:
            tell(f"{each.id} is written by somebody else all the time: it was left")
        except errors.ClientError as error:
            told = "" if each.id.is_secret else f": {error.message}"
            tell(f"{each.id} could not be applied{told}")


async def _one(wanted: WantedObject, client: kube.Client, scaled: Scaled, write: Write) -> str:
    """Look at an object again and write it on just what was seen; what came of it."""
    name = str(wanted.id)
    for pause in (*_PAUSES, None):
        holder = await live_objects.engine_object(wanted.owner, client)
        if holder is None:
            return f"{name} was left: {wanted.owner.name} is not there any more"
        if engine_marks.is_suspended(holder):
            return f"{name} was left: {wanted.owner.name} is suspended by now"
        kinds = await live_objects.read([wanted.object], client, namespace=drift.NAMESPACE)
        kind = kinds[drift.kind_of(wanted)]
        live = kind.live.get(kind.key(wanted.id, namespace=drift.NAMESPACE))
        result = await drift.judge(wanted, live, client, kind=kind, scaled=scaled)
        if result.unread:
            return f"{name} was left: {result.unread}"
        if result.judgement.drifted is None:
            return f"{name} is as Git has it by now: it was left"
        if "deletionTimestamp" in mapping(live, "metadata"):
            return f"{name} was left: it is being deleted"
        if held := drift_judgement.pauses(wanted, live or {}):
            return f"{name} was left: {path_text(held[0])} keeps the engine away from it; take that away first"
        try:
            return await write(wanted, live, client, drift_judgement.ignored(wanted, live=live, scaled=scaled))
        except kube.Conflict:
            if pause is None:
                raise
            await asyncio.sleep(pause)
    raise AssertionError("unreachable")


async def written(
    wanted: WantedObject, live: Mapping[str, Any] | None, client: kube.Client, ignored: IgnoreRules
) -> str:
    """Git's form applied as the owner, and what people put beside it taken away; what came of it."""
    done = f"applied {wanted.id} as {wanted.manager}"
    # As data, which can be somebody's; the engine's own next apply is as it writes it.
    value = normal_values.without_string_data(drift_judgement.form(wanted, live))
    if live is None:
        await client.apply(drift.guarded(value, None), manager=wanted.manager, force=True)
        return done
    beside = [each for each in drift_judgement.strays(wanted, value, live) if each.writer is not None]
    strays = apply_form.strays_without_others(beside, live, value=value, ignored=ignored)
    tried = await client.apply(drift.guarded(value, live), manager=wanted.manager, force=True, dry_run=True)
    own = apply_form.form_without_others(value, live, tried, ignored=ignored, manager=wanted.manager)
    made = await client.apply(drift.guarded(own, live), manager=wanted.manager, force=True)
    if strays:
        real = stray_fields.real(strays, await drift.cleaned(strays, made, client))
        await drift.cleaned(real, made, client, manager=wanted.manager, dry_run=False)
    return done


# Fields that people put beside Git's taken away, where their engine has answered and leaves what it never applied.


async def remove_stray(
    scene: ExpectedState,
    drifted: Sequence[Drifted],
    client: kube.Client,
    *,
    lease: Lease,
    tell: Callable[[str], None],
    confirm: Callable[[str], bool],
) -> None:
    """Take away exactly those fields that Git does not have and that somebody else put there; nothing else is written.

    Args:
        scene: What Git has.
        drifted: What differs by such fields, and whose owner has answered.
        client: The API.
        lease: The right to write, taken.
        tell: Told of everything that is done, and of what is left.
        confirm: Asked once, with all fields that are going to be removed.

    Raises:
        errors.Refused: Another run has taken the cluster over.
        errors.ClientError: It cannot be told what autoscalers have.
    """
    wanted = applicable(scene, drifted, tell)
    if not wanted:
        return
    ids = {each.id for each in wanted}
    fields = "\n".join(
        f"  {safe.name(str(each.id))}   {safe.name(one.path)}{f' ({safe.name(one.manager)})' if one.manager else ''}"
        for each in drifted
        if each.id in ids
        for one in each.fields
        if one.is_beside
    )
    owners = ", ".join(sorted({each.owner.name for each in wanted}))
    why = f"{safe.name(owners)} answered, and leaves what it never applied."
    if not confirm(f"{why} These fields, which Git does not have, would be removed:\n{fields}"):
        tell("nothing was removed")
        return
    await write_each(scene, wanted, client, write=_cleared, lease=lease, tell=tell)


async def _cleared(
    wanted: WantedObject, live: Mapping[str, Any] | None, client: kube.Client, ignored: IgnoreRules
) -> str:
    if live is None:
        return f"{wanted.id} was left: it is not there any more"
    value = normal_values.without_string_data(drift_judgement.form(wanted, live))
    beside = [
        each for each in drift_judgement.strays(wanted, value, live) if each.writer is not None and not each.is_pause
    ]
    strays = apply_form.strays_without_others(beside, live, value=value, ignored=ignored)
    real = stray_fields.real(strays, await drift.cleaned(strays, live, client)) if strays else ()
    if not real:
        return f"{wanted.id} was left: nobody has put anything beside Git's form by now"
    if await drift.cleaned(real, live, client, manager=wanted.manager, dry_run=False) is None:
        return f"{wanted.id} was left: the server would not take it without {path_text(real[0].path)}"
    return f"removed {', '.join(path_text(each.path) for each in real)} from {wanted.id}"
