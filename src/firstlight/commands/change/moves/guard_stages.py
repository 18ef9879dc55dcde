"""Prune guards: while objects change hands, no engine may delete one, whatever Git or an inventory says of it.

Of a release it is the HelmRelease that is guarded: nothing else deletes objects of it, and that only with all of them.
A guard is an annotation that engines obey on what is live (``ownership.prune_guards``). It is applied under a name of
its own, so that it is known again, and goes without a trace.

What has the annotation already with something else to say cannot be guarded. Where objects pass between two owners that
is refused, since the old one may look first, and prunes what Git does not give it any more. Where a component goes to
bootstrap or comes back it is told and left alone: what its owner reads lists the object before and after, and what is
listed is not pruned.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change.moves import proof
from firstlight.commands.change.moves.move_context import MoveContext
from firstlight.document.within import sequence, text
from firstlight.engines import engine_directives
from firstlight.engines.adapter import Guard
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.component import ObjectId, Phase
from firstlight.model.rendition import Object
from firstlight.observe.live_objects import LiveObject, observe_objects

MANAGER = "firstlight-move"
_TRIES = 5


def guards_on(scene: MoveContext) -> WalkStage:
    """Every object that changes hands is guarded, once it is known how all of them were."""
    step = f"{scene.cluster.name}:guard"

    async def look(world: World) -> PendingChange | None:
        seen = await _seen(await scene.at_stake(), world)
        guard = engine_directives.prune_guard(scene.cluster.engine)
        for each in seen:
            if guard.is_barred(each):
                if scene.is_relocated(ObjectId.of(each)):
                    raise barred(each, guard)
                world.tell(step, f"{ObjectId.of(each)} has {guard.name} already, and is not guarded")
        bare = [each for each in seen if not guard.written(each)]
        if not bare and proof.is_baseline_kept(world, scene):
            return None

        async def perform() -> None:
            names = set(scene.changing_owner)
            moving = [each.object for each in await scene.passing() if each.component in names]
            await proof.keep_baseline(world, scene, [ObjectId.of(each) for each in await _seen(moving, world)])
            await _each(bare, world.kube, {guard.name: guard.value})

        writes = [f"guard {ObjectId.of(each)} against pruning" for each in bare]
        return PendingChange(writes=tuple(writes or ["write down how everything is"]), perform=perform)

    return WalkStage(
        id=step, name="guards on", phase=Phase.HANDOVER, look=look, what="nobody prunes what changes hands"
    )  # fmt: skip


def guards_off(scene: MoveContext) -> WalkStage:
    """No object has a guard of ours any more."""

    async def look(world: World) -> PendingChange | None:
        held = [each for each in await _seen(await scene.at_stake(), world) if is_ours(each)]
        if not held:
            return None

        async def perform() -> None:
            await _each(held, world.kube, {})

        return PendingChange(writes=tuple(f"take the guard off {ObjectId.of(each)}" for each in held), perform=perform)

    return WalkStage(id=f"{scene.cluster.name}:unguard", name="guards off", phase=Phase.HANDOVER, look=look)


def is_ours(live: Mapping[str, Any]) -> bool:
    """Whether an object has a guard that a move put there."""
    return any(text(each, "manager") == MANAGER for each in sequence(live, "metadata", "managedFields"))


async def _seen(objects: Sequence[Object], world: World) -> list[Mapping[str, Any]]:
    found: Sequence[LiveObject] = await observe_objects(objects, world.kube)
    return [each.live for each in found if each.live is not None]


def barred(obj: Mapping[str, Any], guard: Guard) -> errors.Refused:
    """That something passes between two owners and cannot be guarded meanwhile, with what to write first."""
    return errors.Refused(
        f"{ObjectId.of(obj)} has {guard.name}: {guard.written(obj)}, so that it cannot be guarded, and who has it now "
        "may prune it",
        hint=f"Let it say {guard.joined(obj)} in Git first, and be applied; then move it, and take that out again.",
    )


async def _each(found: Sequence[Mapping[str, Any]], client: kube.Client, marks: Mapping[str, str]) -> None:
    await asyncio.gather(*(_one(each, client, marks) for each in found))


async def _one(live: Mapping[str, Any], client: kube.Client, marks: Mapping[str, str]) -> None:
    id, version = ObjectId.of(live), text(live, "apiVersion")
    with contextlib.suppress(kube.NotFound):
        for number in range(_TRIES):
            metadata: dict[str, Any] = {"name": id.name, **({"namespace": id.namespace} if id.namespace else {})}
            if marks:
                metadata["annotations"] = dict(marks)
            value = {"apiVersion": version, "kind": id.kind, "metadata": metadata}
            try:
                # On what was seen alone: an apply would create what somebody has deleted meanwhile.
                await client.apply(guarded(value, live), manager=MANAGER)
            except kube.Conflict:
                if number + 1 == _TRIES:
                    raise
                live = await client.get(version, id.kind, id.name, namespace=id.namespace or None)
            else:
                return
