"""The proof that bootstrap has nothing left to do: what ``up --only`` would write of what moved, which must be nothing.

The steps are those of ``up`` itself, made from the files that the cluster has come to, and each is looked at by the
action that would carry it out. Nothing is written, whatever is found.
"""

from firstlight.execute.actions import looking
from firstlight.execute.change import Change
from firstlight.execute.handing import certifying, keeping_certificate
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.component import Phase
from firstlight.model.move import Seat
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.operate.changing import bootstrap_components
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.changing.carrying import Carrying
from firstlight.operate.moving import baseline
from firstlight.operate.moving.scene import Scene
from firstlight.plan import ground

_SHOWN = 3


def stages(scene: Scene, carrying: Carrying) -> tuple[Stage, ...]:
    """A second run has nothing to write of what moved; none where bootstrap brings nothing of it.

    Args:
        scene: What moved.
        carrying: The change.
    """
    names = [each.component.name for each in scene.moved if each.after is not Seat.GITOPS]
    if not names:
        return ()
    # What stands in the way of a whole run was there before the move, or has refused it.
    preparing = Preparing(carrying, scene.cluster, is_strict=False)
    is_handed = any((each.before, each.after) == (Seat.KEPT, Seat.HANDED_OVER) for each in scene.moved)
    return (*((_certified(scene, preparing),) if is_handed else ()), _stage(names, scene, preparing))


def _certified(scene: Scene, preparing: Preparing) -> Stage:
    """The certificate of the handover covers what came to the engine; none where the cluster has no certificate."""
    step = f"{scene.cluster.name}:certificate"

    async def look(world: World) -> Change | None:
        if await keeping_certificate.load_kept(world.kube, uid=await certifying.uid_of(world.kube)) is None:
            return None
        task = (await preparing.get(world)).work.tasks.get(ground.CERTIFICATE)
        return await looking.look(task, world, step) if task is not None else None

    return Stage(
        id=step, name="certificate", phase=Phase.HANDOVER, look=look,
        what="the certificate of the handover covers what came to the engine",
    )  # fmt: skip


def _stage(names: list[str], scene: Scene, preparing: Preparing) -> Stage:
    cluster = scene.cluster.name
    only = " ".join(f"--only {each}" for each in names)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        prepared = await preparing.get(world)
        looked = 0
        writes: list[str] = []
        unseen: dict[str, None] = {}
        for name in names:
            steps = bootstrap_components.steps_of(prepared, name)
            for step in steps:
                change = await looking.look(prepared.work.tasks[step.id], world, step.id)
                looked += 1
                writes += change.writes if change is not None else ()
            if left := bootstrap_components.left_of(steps, prepared):
                unseen[left] = None
        if writes:
            more = f" and {len(writes) - _SHOWN} more" if len(writes) > _SHOWN else ""
            return Failed(f"a second run would {', '.join(writes[:_SHOWN])}{more}"), (
                f"See: firstlight up {cluster} {only} --dry-run; then firstlight change resume"
            )
        baseline.forget(world, scene)
        besides = f"; {', '.join(unseen)} of the repo did not run" if unseen else ""
        return Passed(f"up {only} has nothing to write ({looked} step{'' if looked == 1 else 's'}){besides}"), ""

    return Stage(
        id=f"{cluster}:again", name="a second run", phase=Phase.HANDOVER, wait=wait,
        what="bootstrap's own steps for it would write nothing",
    )  # fmt: skip
