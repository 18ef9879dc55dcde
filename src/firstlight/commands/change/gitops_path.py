"""The path through the engine: it fetches the merged commit, reconciles what the change passes through, and is checked.

The emergency path of an engine that works has the same stages; what differs is how its change was merged.
"""

from firstlight.commands.change import change_checks, engine_objects, reconcile
from firstlight.commands.change.ongoing_change import OngoingChange, PathStages
from firstlight.commands.change.reconcile import FollowedObjects, FollowedRevision
from firstlight.document import conditions
from firstlight.document.within import text
from firstlight.engines import adapters
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Phase
from firstlight.model.observation import GateView
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting


def stages(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """Fetched, reconciled, checked; where no engine follows the repo only checked."""
    checks = change_checks.stage(carrying, cluster)
    return (*engine_stages(carrying, cluster), checks)


def engine_stages(carrying: OngoingChange, cluster: Cluster) -> tuple[WalkStage, ...]:
    """What the engine does with the merged commit."""
    repository = carrying.repository
    target = change_checks.target(carrying)
    if cluster.engine is None or repository is None or not target:
        return ()
    objects = engine_objects.of(
        carrying.decided.decision, carrying.before, carrying.after, cluster=cluster.name
    )  # fmt: skip
    if not objects:
        return ()
    followed = FollowedObjects(
        cluster=cluster, objects=objects, revision=FollowedRevision(target, repository)
    )  # fmt: skip
    has_sources = any(adapters.KINDS[each.id.kind].has_source for each in objects)
    found = [_fetch(carrying, cluster, followed)] if has_sources else []
    return (*found, _reconcile(carrying, cluster, followed))


def _fetch(carrying: OngoingChange, cluster: Cluster, followed: FollowedObjects) -> WalkStage:
    commit = followed.revision.commit[:7]

    async def look(world: World) -> PendingChange | None:
        mine = await reconcile.followed_sources(followed, world.kube)
        late = await reconcile.unfetched_sources(mine, followed, world.kube)
        return _asking(late, world, f"fetch {commit}") if late else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        mine = await reconcile.followed_sources(followed, world.kube)
        return await _fetched(mine, followed, world, on_verdict, patience=carrying.patience)

    return WalkStage(
        id=f"{cluster.name}:fetch{_again(carrying)}", name=f"fetch {commit}", phase=Phase.GITOPS, look=look, wait=wait,
        what=f"the engine of {cluster.name} fetches the merged commit",
    )  # fmt: skip


def _reconcile(carrying: OngoingChange, cluster: Cluster, followed: FollowedObjects) -> WalkStage:
    commit = followed.revision.commit[:7]

    async def look(world: World) -> PendingChange | None:
        late = await reconcile.objects_behind(followed, world.kube)
        return _asking(late, world, f"reconcile {commit}") if late else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await reconcile.wait_reconciled(followed, world, on_verdict, patience=carrying.patience)

    return WalkStage(
        id=f"{cluster.name}:reconcile{_again(carrying)}", name=f"reconcile {commit}", phase=Phase.GITOPS, look=look,
        wait=wait, what=f"the engine of {cluster.name} applies it, and all that it passes through is ready",
    )  # fmt: skip


def _asking(ids: tuple[ObjectId, ...], world: World, what: str) -> PendingChange:
    async def perform() -> None:
        await reconcile.request_reconcile(ids, world.kube)

    return PendingChange(writes=tuple(f"ask {each} to {what}" for each in ids), perform=perform)


async def _fetched(
    ids: tuple[ObjectId, ...], followed: FollowedObjects, world: World, on_verdict: OnVerdict, *, patience: float
) -> tuple[Verdict, str]:  # fmt: skip
    looks = tuple(gate_parts.look_at(each) for each in ids)

    def judge(view: GateView) -> Verdict:
        for id, look in zip(ids, looks, strict=True):
            found = view.one(look)
            have = text(found, "status", "artifact", "revision")
            if not followed.revision.is_in(have):
                refused = conditions.condition(found or {}, "Ready")
                is_refused = text(refused, "status") == "False"
                why = f": {conditions.said(text(refused, 'message'))}" if is_refused else ""
                return Waiting(f"{id} has {have.rpartition(':')[2][:7] or 'nothing'} so far{why}")
        return Passed(", ".join(map(str, ids)))

    if not ids:
        return Passed("no GitRepository follows the repo itself"), ""
    question = GateQuestion(
        gate=Gate(Subject.SOURCE), name=f"sources of {followed.cluster.name}", looks=looks, judge=judge,
        timeout=patience,
    )  # fmt: skip
    async with followed.revision.learning():
        verdict = await world.watching.wait(question, on_verdict=on_verdict)
    space = ids[0].namespace
    return verdict, "" if isinstance(verdict, Passed) else f"See: kubectl -n {space} describe gitrepository"


def _again(carrying: OngoingChange) -> str:
    return "-back" if carrying.is_reverting else ""


GITOPS_PATH = PathStages(stages=stages)
