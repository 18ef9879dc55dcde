"""The path of a change that moves components: guards, the merge, the passing of owners, the proof, guards off.

    to bootstrap    guards on → merge → the engine rests → bootstrap takes the fields → proofs → guards off
    to the engine   guards on → fields pass while the engine rests → merge → it goes on → proofs → guards off

Of a release it is known before what Helm would make of it, and once its fields are bootstrap's Helm writes a revision.

Where the owner stays the same and only the next cold start is another, the engine is followed and the proof made.
The last proof is of a second run, which is only looked at: bootstrap's own steps for what moved would write nothing.
"""

from firstlight import errors
from firstlight.document.within import sequence
from firstlight.execute.actions import owners
from firstlight.execute.change import Change
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.move import Seat
from firstlight.model.work import MigrateOwners
from firstlight.operate.changing import checking, gitops
from firstlight.operate.changing.carrying import Carrying, Way
from firstlight.operate.handover import argocd_checks
from firstlight.operate.moving import (
    guarding,
    owned_objects,
    proving,
    quieting,
    repeating,
    taking,
    taking_releases,
    waking,
    waking_releases,
)
from firstlight.operate.moving.scene import Scene

_FINALIZER = argocd_checks.FINALIZER


def early(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """Before the merge: nothing can be pruned, and what the engine is to get is the engine's while it still rests."""
    scene = Scene(carrying, cluster)
    if not scene.changing_owner:
        return ()
    _check_gone(carrying, cluster)
    return (
        *((taking_releases.foresee(scene),) if scene.is_releasing else ()),
        guarding.on(scene),
        *((_pass(scene, "owners", is_before=True),) if scene.is_from_bootstrap else ()),
    )


def _check_gone(carrying: Carrying, cluster: Cluster) -> None:
    """See that an owner that goes takes nothing with it: a guard against pruning does not stop Argo CD's finalizer.

    Raises:
        errors.Refused: It would.
    """
    for origin in owned_objects.gone(carrying.before, carrying.after, cluster.name):
        if any(str(each).startswith(_FINALIZER) for each in sequence(origin.definition, "metadata", "finalizers")):
            raise errors.Refused(
                f"{origin.form} {origin.name} goes, and by its finalizer {_FINALIZER} all that it has would be deleted",
                hint="Take the finalizer out of Git first, and let that be applied; then move it.",
            )


def stages(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """After the merge."""
    scene = Scene(carrying, cluster)
    found = list(gitops.engine_stages(carrying, cluster))
    if not scene.names:
        return tuple(found)
    if scene.is_from_bootstrap:
        # Before it is watched whether all is well: what rests would fail that at once.
        after = next((at + 1 for at, each in enumerate(found) if ":fetch" in each.id), 0)
        found.insert(after, waking.stage(scene, patience=carrying.patience))
        # Where it was merged before its turn, or is taken back, fields pass now; else there is nothing to do.
        found.append(_pass(scene, "owners-after"))
    if scene.is_releasing:
        found.append(quieting.stage(scene, patience=carrying.patience))
    if scene.is_to_bootstrap:
        found.append(taking.stage(scene))
    if scene.is_releasing:
        found.append(taking_releases.write(scene))
    again = repeating.stages(scene, carrying)
    found.append(proving.stage(scene, revision=checking.target(carrying), is_last=not again))
    found += again
    return (*found, guarding.off(scene)) if scene.changing_owner else tuple(found)


def _pass(scene: Scene, name: str, *, is_before: bool = False) -> Stage:
    """What bootstrap owns passes to the engine's manager, as in a handover; mostly before the engine goes on."""
    id = f"{scene.cluster.name}:{name}"
    names = {each.component.name for each in scene.moved if each.before is Seat.KEPT}

    async def look(world: World) -> Change | None:
        if is_before:
            await waking_releases.check(scene, world)
        mine = tuple(each for each in await scene.to_engine() if each.component in names)
        return await owners.look(MigrateOwners(passing=mine, is_again=True), world, id)

    return Stage(
        id=id, name="owners", phase=Phase.HANDOVER, look=look, what="fields pass from bootstrap to the engine"
    )  # fmt: skip


WAY = Way(stages=stages, early=early, early_back=early)
