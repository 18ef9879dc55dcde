"""Git's form applied in the place of an engine that does not answer: as its manager, and nothing that is others'."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import mapping
from firstlight.execute.lease import Lease
from firstlight.model.drift import Drifted
from firstlight.observe import drift as observing
from firstlight.observe import live_objects
from firstlight.operate import engine_objects
from firstlight.operate.drift_scene import Scene
from firstlight.ownership import drifting, engine_marks, leaving_out, normal_values, stray_fields
from firstlight.ownership.drifting import Wanted
from firstlight.ownership.field_set import path_text
from firstlight.ownership.ignoring import Ignored, Scaled
from firstlight.report import safe

_TRIES = 5


async def apply(
    scene: Scene,
    drifted: Sequence[Drifted],
    client: kube.Client,
    *,
    lease: Lease,
    tell: Callable[[str], None],
    confirm: Callable[[str], bool],
) -> None:
    """Git's form as the owner, of each object that still differs when its turn comes.

    Args:
        scene: What Git has.
        drifted: What differed, and whose owner exists and does not answer.
        client: The API.
        lease: The right to write, taken.
        tell: Told of everything that is done, and of what is left.
        confirm: Asked once, with all that is going to be applied.

    Raises:
        errors.Refused: Another run has taken the cluster over.
        errors.ClientError: It cannot be told what autoscalers have.
    """
    by_id = {each.id: each for each in scene.wanted}
    mine = [by_id[each.id] for each in drifted]
    for each in mine:
        if not each.is_applicable:
            tell(f"{each.id} was left: some of its values are not known here")
    wanted = [each for each in mine if each.is_applicable]
    if not wanted:
        return
    managers = ", ".join(sorted({each.manager for each in wanted}))
    applicable = {each.id for each in wanted}
    names = "\n".join(
        f"  {each.difference.value}   {safe.name(str(each.id))}" for each in drifted if each.id in applicable
    )
    if not confirm(f"The engine does not answer. As {managers}, Git's form would be applied to:\n{names}"):
        tell("nothing was applied")
        return
    scaled = await observing.scaled(scene.wanted, client)
    for each in wanted:
        await lease.claim()
        try:
            tell(await _one(each, client, scaled))
        except kube.Conflict:
            tell(f"{each.id} is written by somebody else all the time: it was left")
        except errors.ClientError as error:
            told = "" if each.id.is_secret else f": {error.message}"
            tell(f"{each.id} could not be applied{told}")


async def _one(wanted: Wanted, client: kube.Client, scaled: Scaled) -> str:
    """Look at an object again and apply it to just what was seen; what came of it."""
    name = str(wanted.id)
    for tries_left in range(_TRIES - 1, -1, -1):
        holder = await engine_objects.of(wanted.owner, client)
        if holder is None:
            return f"{name} was left: {wanted.owner.name} is not there any more"
        if engine_marks.is_suspended(holder):
            return f"{name} was left: {wanted.owner.name} is suspended by now"
        kinds = await live_objects.read([wanted.object], client, namespace=observing.NAMESPACE)
        kind = kinds[observing.kind_of(wanted)]
        live = kind.live.get(kind.key(wanted.id, namespace=observing.NAMESPACE))
        result = await observing.judge(wanted, live, client, kind=kind, scaled=scaled)
        if result.unread:
            return f"{name} was left: {result.unread}"
        if result.judgement.drifted is None:
            return f"{name} is as Git has it by now: it was left"
        if "deletionTimestamp" in mapping(live, "metadata"):
            return f"{name} was left: it is being deleted"
        if held := drifting.pauses(wanted, live or {}):
            return f"{name} was left: {path_text(held[0])} keeps the engine away from it; take that away first"
        try:
            await _written(wanted, live, client, ignored=drifting.ignored(wanted, live=live, scaled=scaled))
            return f"applied {name} as {wanted.manager}"
        except kube.Conflict:
            if not tries_left:
                raise
    raise AssertionError("unreachable")


async def _written(wanted: Wanted, live: Mapping[str, Any] | None, client: kube.Client, *, ignored: Ignored) -> None:
    # As data, which can be somebody's; the engine's own next apply is as it writes it.
    value = normal_values.without_string_data(drifting.form(wanted, live))
    if live is None:
        await client.apply(observing.guarded(value, None), manager=wanted.manager, force=True)
        return
    beside = [each for each in drifting.strays(wanted, value, live) if each.writer is not None]
    strays = leaving_out.strays(beside, live, value=value, ignored=ignored)
    tried = await client.apply(observing.guarded(value, live), manager=wanted.manager, force=True, dry_run=True)
    own = leaving_out.form(value, live, tried, ignored=ignored, manager=wanted.manager)
    made = await client.apply(observing.guarded(own, live), manager=wanted.manager, force=True)
    if strays:
        real = stray_fields.real(strays, await observing.cleaned(strays, made, client))
        await observing.cleaned(real, made, client, manager=wanted.manager, dry_run=False)
