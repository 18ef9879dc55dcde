"""How the objects and pods of a component were before it moved: kept beside the journal until that is proven."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.commands.change.bootstrap import bootstrap_stages
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.moves.move_context import MoveContext, is_bootstraps
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.execute import durable_store
from firstlight.execute.actions import dispatch
from firstlight.execute.handover import baseline, certificate_store, certification, live_evidence
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.journal import state_files
from firstlight.model.certificate import OF_PODS, Certificate, CertificateClaim, CertificateStage, ObjectProof
from firstlight.model.component import ObjectId, Phase
from firstlight.model.handover import Baseline, Passing
from firstlight.model.move import Seat
from firstlight.model.owner import Party
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.ownership import certificate_seal
from firstlight.plan import plan_context

DIRECTORY = "moves"


def baseline_path(world: World, scene: MoveContext) -> Path:
    """Where it is; one for what moves together."""
    return baseline_place(world, scene) / "baseline.json"


def baseline_place(world: World, scene: MoveContext) -> Path:
    """The directory of what is kept of a move."""
    name = "-".join(each.replace("/", "-") for each in scene.names)[:100]
    return world.state / scene.cluster.name / DIRECTORY / name


def is_baseline_kept(world: World, scene: MoveContext) -> bool:
    """Whether a move was begun and not proven so far."""
    return state_files.is_file(baseline_path(world, scene))


async def keep_baseline(world: World, scene: MoveContext, ids: Sequence[ObjectId]) -> None:
    """Write down how everything is now; once, since later it is not as it was before the move.

    Raises:
        errors.FirstlightError: It cannot be written.
        errors.ClientError: The API does not answer.
    """
    if is_baseline_kept(world, scene):
        return
    taken = await baseline.take(ids, world.kube)
    known = dataclasses.replace(taken, cluster=await certification.uid_of(world.kube))
    file = baseline_path(world, scene)
    try:
        durable_store.write_beside_journal(msgspec.json.encode(known), file)
    except OSError as error:
        raise errors.FirstlightError(f"{file} cannot be written: {error.strerror or error}") from error


async def load_baseline(world: World, scene: MoveContext) -> Baseline:
    """How everything was; empty where nobody has written it down, so that nothing can be said of pods."""
    file = baseline_path(world, scene)
    if not state_files.is_file(file):
        return Baseline(cluster=await certification.uid_of(world.kube))
    return msgspec.json.decode(state_files.read(file), type=Baseline)


def forget_baseline(world: World, scene: MoveContext) -> None:
    """The move is proven: what comes next begins anew."""
    durable_store.remove(baseline_path(world, scene))


# The proof of a move: the same objects, the same pods, one owner, and another apply that would change nothing.


FILE = "certificate.json"
_SHOWN = 3


def proof_stage(scene: MoveContext, *, revision: str, is_last: bool = True) -> WalkStage:
    """Everything that moved is proven, and a certificate of it kept beside the journal.

    Args:
        scene: What moved.
        revision: The commit.
        is_last: Whether no other proof follows: until then it is kept how everything was, for whoever goes on.
    """
    step = f"{scene.cluster.name}:prove"

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        passing = await scene.passing()
        own = await scene.to_engine()
        if own:
            settled = await live_evidence.engine_settled(own, world, step=step)
            if not isinstance(settled, Passed):
                return settled, "What is wrong: firstlight doctor; then firstlight change resume"
        made = await _certified(passing, scene, world, revision=revision)
        path = _kept(made, world, scene)
        if not made.is_complete:
            return Failed(_flaws(made)), f"All of it is in {path}; then firstlight change resume"
        if is_last:
            forget_baseline(world, scene)
        return Passed(_says(made, path)), ""

    return WalkStage(
        id=step, name="proof", phase=Phase.HANDOVER, wait=wait,
        what="the same objects and pods, one owner, nothing left to write",
    )  # fmt: skip


async def _certified(passing: Sequence[Passing], scene: MoveContext, world: World, *, revision: str) -> Certificate:
    known = await load_baseline(world, scene)
    held = await live_evidence.holders((each.owner for each in passing if not is_bootstraps(each.owner)), world.kube)
    proofs = await certification.prove(
        passing, held, world.kube, baseline=known, is_final=True, is_repeated=False
    )  # fmt: skip
    kept = {str(each.owner) for each in passing if is_bootstraps(each.owner)}
    helms = {each.component for each in passing if each.owner.party == Party.HELM}
    objects = tuple(
        _of_bootstrap(each, is_helms=each.component in helms) if each.owner in kept else each for each in proofs
    )
    made = Certificate(
        cluster=scene.cluster.name, uid=known.cluster, engine=str(scene.cluster.engine or ""), revision=revision,
        run=world.run, at=round(time.time()), baseline_at=round(known.at), stage=CertificateStage.FINAL,
        objects=objects, missing=tuple(str(each.id) for each in objects if not each.uid),
        kept=tuple(sorted({each.component for each in passing if is_bootstraps(each.owner)})),
    )  # fmt: skip
    return certificate_seal.seal(made)


def _of_bootstrap(proof: ObjectProof, *, is_helms: bool) -> ObjectProof:
    """Of what bootstrap keeps no engine's mark is claimed; CRDs of a release both firstlight and Helm may have."""
    left = {CertificateClaim.MARKED}
    if is_helms and proof.id.kind == "CustomResourceDefinition":
        left |= {CertificateClaim.ALONE, CertificateClaim.VANISHES}
    return dataclasses.replace(proof, proofs=tuple(each for each in proof.proofs if each.claim not in left))


def _kept(made: Certificate, world: World, scene: MoveContext) -> Path:
    path = baseline_place(world, scene) / FILE
    durable_store.write_beside_journal(certificate_store.encoded(made), path)
    return path


def _flaws(made: Certificate) -> str:
    """What does not hold, the first few."""
    found = [
        f"{each.id}: {proof.claim}: {proof.says}" for each in made.objects for proof in each.proofs if not proof.is_fine
    ]
    found = [*(f"{each} is not there" for each in made.missing), *found]
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more


def _says(made: Certificate, path: Path) -> str:
    count = len(made.objects)
    untried = sum(not each.is_tried for one in made.objects for each in one.proofs if each.claim in OF_PODS)
    owners = ", ".join(dict.fromkeys(each.owner for each in made.objects))
    pods = "; of pods nothing is known" if untried else ", 0 pods replaced"
    return f"{count} object{'' if count == 1 else 's'} of {owners}{pods}: certificate {made.digest[:4]}… in {path}"


# The proof that bootstrap has nothing left to do: what ``up --only`` would write of what moved, which must be nothing.
#
# The steps are those of ``up`` itself, made from the files that the cluster has come to, and each is looked at by the
# action that would carry it out. Nothing is written, whatever is found.


def repeat_stages(scene: MoveContext, carrying: OngoingChange) -> tuple[WalkStage, ...]:
    """A second run has nothing to write of what moved; none where bootstrap brings nothing of it.

    Args:
        scene: What moved.
        carrying: The change.
    """
    names = [each.component.name for each in scene.moved if each.after is not Seat.GITOPS]
    if not names:
        return ()
    # What stands in the way of a whole run was there before the move, or has refused it.
    preparing = PreparedBootstrap(carrying, scene.cluster, is_strict=False)
    is_handed = any((each.before, each.after) == (Seat.KEPT, Seat.HANDED_OVER) for each in scene.moved)
    return (*((_repeating_certified(scene, preparing),) if is_handed else ()), _stage(names, scene, preparing))


def _repeating_certified(scene: MoveContext, preparing: PreparedBootstrap) -> WalkStage:
    """The certificate of the handover covers what came to the engine; none where the cluster has no certificate."""
    step = f"{scene.cluster.name}:certificate"

    async def look(world: World) -> PendingChange | None:
        if await certificate_store.load_kept(world.kube, uid=await certification.uid_of(world.kube)) is None:
            return None
        task = (await preparing.get(world)).work.tasks.get(plan_context.CERTIFICATE)
        return await dispatch.look(task, world, step) if task is not None else None

    return WalkStage(
        id=step, name="certificate", phase=Phase.HANDOVER, look=look,
        what="the certificate of the handover covers what came to the engine",
    )  # fmt: skip


def _stage(names: list[str], scene: MoveContext, preparing: PreparedBootstrap) -> WalkStage:
    cluster = scene.cluster.name
    only = " ".join(f"--only {each}" for each in names)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        prepared = await preparing.get(world)
        looked = 0
        writes: list[str] = []
        unseen: dict[str, None] = {}
        for name in names:
            steps = bootstrap_stages.steps_of(prepared, name)
            for step in steps:
                change = await dispatch.look(prepared.work.tasks[step.id], world, step.id)
                looked += 1
                writes += change.writes if change is not None else ()
            if left := bootstrap_stages.left_of(steps, prepared):
                unseen[left] = None
        if writes:
            more = f" and {len(writes) - _SHOWN} more" if len(writes) > _SHOWN else ""
            return Failed(f"a second run would {', '.join(writes[:_SHOWN])}{more}"), (
                f"See: firstlight up {cluster} {only} --dry-run; then firstlight change resume"
            )
        forget_baseline(world, scene)
        besides = f"; {', '.join(unseen)} of the repo did not run" if unseen else ""
        return Passed(f"up {only} has nothing to write ({looked} step{'' if looked == 1 else 's'}){besides}"), ""

    return WalkStage(
        id=f"{cluster}:again", name="a second run", phase=Phase.HANDOVER, wait=wait,
        what="bootstrap's own steps for it would write nothing",
    )  # fmt: skip
