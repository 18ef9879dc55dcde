"""The path of a change that is a move and nothing else, whoever wrote it; and its prune guards.

While objects change hands, no engine may delete one, whatever Git or an inventory says of it. Of a release it is the
HelmRelease that is guarded: nothing else deletes objects of it, and that only with all of them. A guard is an
annotation that engines obey on what is live. It is applied under a name of its own, so that it is known again, and goes
without a trace.

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
from firstlight.commands.change import change_checks, gitops_path
from firstlight.commands.change.moves import proof, repo_comparison, suspension, take_back
from firstlight.commands.change.moves.move_context import MoveContext, moved_components
from firstlight.commands.change.ongoing_change import OngoingChange, PathStages
from firstlight.document.within import sequence, text
from firstlight.engines import engine_directives
from firstlight.engines.adapter import Guard
from firstlight.execute.actions import migrate_owners
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model import argocd_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Phase
from firstlight.model.move import MoveRequest, Seat
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object
from firstlight.model.work import MigrateOwners
from firstlight.observe.live_objects import LiveObject, observe_objects


def is_move(before: Platform, after: Platform) -> bool:
    """Whether a component is elsewhere after it, or objects have another owner, and all else is as before."""
    return _is_relocation(before, after) or _is_move(before, after)


def _is_relocation(before: Platform, after: Platform) -> bool:
    """Whether objects only pass from one owner to another."""
    is_any = any(repo_comparison.relocated(before, after, each.name) for each in after.clusters)
    return is_any and not any(repo_comparison.relocation_differences(before, after))


def _is_move(before: Platform, after: Platform) -> bool:
    """Whether one component is elsewhere after it, in one cluster or wherever it is."""
    if before.declared is None or after.declared is None:
        return False
    found = {each.name: moved_components(before, after, each.name) for each in after.clusters}
    seats = {(each.component.name, each.after) for mine in found.values() for each in mine}
    if len(seats) != 1:
        return False
    name, seat = next(iter(seats))
    where = [cluster for cluster, mine in found.items() if mine]
    everywhere = {each.cluster for each in after.components if each.name == name}
    if set(where) != everywhere and len(where) > 1:
        return False
    wish = MoveRequest(component=name, seat=seat, cluster="" if set(where) == everywhere else where[0])
    then = {(each.cluster, each.name): each for each in after.components}
    eased = [
        each.name
        for each in before.components
        if (each.cluster, each.name) in then and set(each.needs) ^ set(then[each.cluster, each.name].needs) == {name}
    ]
    return not any(repo_comparison.move_differences(before, after, wish, eased=eased))


# The path of a change that moves components: guards, the merge, the passing of owners, the proof, guards off.
#
#     to bootstrap    guards on → merge → the engine rests → bootstrap takes the fields → proofs → guards off
#     to the engine   guards on → fields pass while the engine rests → merge → it goes on → proofs → guards off
#
# Of a release it is known before what Helm would make of it, and once its fields are bootstrap's Helm writes a
# revision.
#
# Where the owner stays the same and only the next cold start is another, the engine is followed and the proof made.
# The last proof is of a second run, which is only looked at: bootstrap's own steps for what moved would write nothing.


def early(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """Before the merge: nothing can be pruned, and what the engine is to get is the engine's while it still rests."""
    scene = MoveContext(carrying, cluster)
    if not scene.changing_owner:
        return ()
    _check_gone(carrying, cluster)
    return (
        *((take_back.foresee_releases(scene),) if scene.is_releasing else ()),
        guards_on(scene),
        *((_pass(scene, "owners", is_before=True),) if scene.is_from_bootstrap else ()),
    )


def _check_gone(carrying: OngoingChange, cluster: Cluster) -> None:
    """See that an owner that goes takes nothing with it: a guard against pruning does not stop Argo CD's finalizer.

    Raises:
        errors.Refused: It would.
    """
    for origin in repo_comparison.gone(carrying.before, carrying.after, cluster.name):
        if any(
            str(each).startswith(argocd_names.RESOURCES_FINALIZER)
            for each in sequence(origin.definition, "metadata", "finalizers")
        ):
            raise errors.Refused(
                f"{origin.form} {origin.name} goes, and by its finalizer {argocd_names.RESOURCES_FINALIZER} "
                "all that it has would be deleted",
                hint="Take the finalizer out of Git first, and let that be applied; then move it.",
            )


def stages(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """After the merge."""
    scene = MoveContext(carrying, cluster)
    found = list(gitops_path.engine_stages(carrying, cluster))
    if not scene.names:
        return tuple(found)
    if scene.is_from_bootstrap:
        # Before it is watched whether all is well: what rests would fail that at once.
        after = next((at + 1 for at, each in enumerate(found) if ":fetch" in each.id), 0)
        found.insert(after, suspension.resume_stage(scene, patience=carrying.patience))
        # Where it was merged before its turn, or is taken back, fields pass now; else there is nothing to do.
        found.append(_pass(scene, "owners-after"))
    if scene.is_releasing:
        found.append(suspension.quiet_stage(scene, patience=carrying.patience))
    if scene.is_to_bootstrap:
        found.append(take_back.take_back_stage(scene))
    if scene.is_releasing:
        found.append(take_back.write_releases(scene))
    again = proof.repeat_stages(scene, carrying)
    found.append(proof.proof_stage(scene, revision=change_checks.target(carrying), is_last=not again))
    found += again
    return (*found, guards_off(scene)) if scene.changing_owner else tuple(found)


def _pass(scene: MoveContext, name: str, *, is_before: bool = False) -> WalkStage:
    """What bootstrap owns passes to the engine's manager, as in a handover; mostly before the engine goes on."""
    id = f"{scene.cluster.name}:{name}"
    names = {each.component.name for each in scene.moved if each.before is Seat.KEPT}

    async def look(world: World) -> PendingChange | None:
        if is_before:
            await suspension.check_releases(scene, world)
        mine = tuple(each for each in await scene.to_engine() if each.component in names)
        return await migrate_owners.look(MigrateOwners(passing=mine, is_again=True), world, id)

    return WalkStage(
        id=id, name="owners", phase=Phase.HANDOVER, look=look, what="fields pass from bootstrap to the engine"
    )  # fmt: skip


WAY = PathStages(stages=stages, early=early, early_back=early)


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
