"""The proof of a move: the same objects, the same pods, one owner, and another apply that would change nothing."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from firstlight.execute import stowing
from firstlight.execute.handing import awaiting, certifying, evidence, keeping_certificate
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.certificate import OF_PODS, Certificate, Claim, ObjectProof
from firstlight.model.certificate import Stage as CertificateStage
from firstlight.model.component import Phase
from firstlight.model.handover import Passing
from firstlight.model.owner import Party
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.operate.moving import baseline
from firstlight.operate.moving.scene import Scene, is_bootstraps
from firstlight.ownership import sealing

FILE = "certificate.json"
_SHOWN = 3


def stage(scene: Scene, *, revision: str, is_last: bool = True) -> Stage:
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
            settled = await awaiting.settled(own, world, step=step)
            if not isinstance(settled, Passed):
                return settled, "What is wrong: firstlight doctor; then firstlight change resume"
        made = await _certified(passing, scene, world, revision=revision)
        path = _kept(made, world, scene)
        if not made.is_complete:
            return Failed(_flaws(made)), f"All of it is in {path}; then firstlight change resume"
        if is_last:
            baseline.forget(world, scene)
        return Passed(_says(made, path)), ""

    return Stage(
        id=step, name="proof", phase=Phase.HANDOVER, wait=wait,
        what="the same objects and pods, one owner, nothing left to write",
    )  # fmt: skip


async def _certified(passing: Sequence[Passing], scene: Scene, world: World, *, revision: str) -> Certificate:
    known = await baseline.load(world, scene)
    held = await evidence.holders((each.owner for each in passing if not is_bootstraps(each.owner)), world.kube)
    proofs = await certifying.prove(
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
    return sealing.seal(made)


def _of_bootstrap(proof: ObjectProof, *, is_helms: bool) -> ObjectProof:
    """Of what bootstrap keeps no engine's mark is claimed; CRDs of a release both firstlight and Helm may have."""
    left = {Claim.MARKED}
    if is_helms and proof.id.kind == "CustomResourceDefinition":
        left |= {Claim.ALONE, Claim.VANISHES}
    return dataclasses.replace(proof, proofs=tuple(each for each in proof.proofs if each.claim not in left))


def _kept(made: Certificate, world: World, scene: Scene) -> Path:
    path = baseline.place(world, scene) / FILE
    stowing.write(keeping_certificate.encoded(made), path)
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
