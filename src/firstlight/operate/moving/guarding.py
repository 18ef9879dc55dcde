"""Prune guards: while objects change hands, Flux may not delete one, whatever Git or an inventory says of it.

Of a release it is the HelmRelease that is guarded: nothing else deletes objects of it, and that only with all of them.
A guard is an annotation that Flux obeys on what is live. It is applied under a name of its own, so that it is
known again, and goes without a trace.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import mapping, sequence, text
from firstlight.execute.applying.guarding import guarded
from firstlight.execute.applying.observing import Seen, observe
from firstlight.execute.change import Change
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.component import ObjectId, Phase
from firstlight.model.rendition import Object
from firstlight.operate.moving import baseline
from firstlight.operate.moving.scene import Scene

MANAGER = "firstlight-move"
GUARD = ("kustomize.toolkit.fluxcd.io/prune", "disabled")
"""The annotation, which Flux also takes from what is live; it compares without regard to case."""
_TRIES = 5


def on(scene: Scene) -> Stage:
    """Every object that changes hands is guarded, once it is known how all of them were."""
    step = f"{scene.cluster.name}:guard"

    async def look(world: World) -> Change | None:
        seen = await _seen(await scene.at_stake(), world)
        name, value = GUARD
        bare = [each for each in seen if not _is_guarded(each, name, value)]
        for each in bare:
            if name in _annotations(each):
                world.tell(step, f"{ObjectId.of(each)} has {name} already, and is not guarded")
        bare = [each for each in bare if name not in _annotations(each)]
        if not bare and baseline.is_kept(world, scene):
            return None

        async def perform() -> None:
            names = set(scene.changing_owner)
            moving = [each.object for each in await scene.passing() if each.component in names]
            await baseline.keep(world, scene, [ObjectId.of(each) for each in await _seen(moving, world)])
            await _each(bare, world.kube, {name: value})

        writes = [f"guard {ObjectId.of(each)} against pruning" for each in bare]
        return Change(writes=tuple(writes or ["write down how everything is"]), perform=perform)

    return Stage(
        id=step, name="guards on", phase=Phase.HANDOVER, look=look, what="nobody prunes what changes hands"
    )  # fmt: skip


def off(scene: Scene) -> Stage:
    """No object has a guard of ours any more."""

    async def look(world: World) -> Change | None:
        held = [each for each in await _seen(await scene.at_stake(), world) if is_ours(each)]
        if not held:
            return None

        async def perform() -> None:
            await _each(held, world.kube, {})

        return Change(writes=tuple(f"take the guard off {ObjectId.of(each)}" for each in held), perform=perform)

    return Stage(id=f"{scene.cluster.name}:unguard", name="guards off", phase=Phase.HANDOVER, look=look)


def is_ours(live: Mapping[str, Any]) -> bool:
    """Whether an object has a guard that a move put there."""
    return any(text(each, "manager") == MANAGER for each in sequence(live, "metadata", "managedFields"))


async def _seen(objects: Sequence[Object], world: World) -> list[Mapping[str, Any]]:
    found: Sequence[Seen] = await observe(objects, world.kube)
    return [each.live for each in found if each.live is not None]


def _annotations(live: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(live, "metadata", "annotations")


def _is_guarded(live: Mapping[str, Any], name: str, value: str) -> bool:
    return str(_annotations(live).get(name) or "").lower() == value


async def _each(found: Sequence[Mapping[str, Any]], client: "kube.Client", marks: Mapping[str, str]) -> None:
    await asyncio.gather(*(_one(each, client, marks) for each in found))


async def _one(live: Mapping[str, Any], client: "kube.Client", marks: Mapping[str, str]) -> None:
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
