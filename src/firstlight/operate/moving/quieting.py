"""What helm-controller had begun is done, and it has seen that its HelmRelease rests: it begins nothing any more.

A HelmRelease that is told to rest while it is upgraded is upgraded to the end. Its controller works on it once at a
time, and notes the generation also of one that rests: so once that is noted, nothing is under way.
"""

from firstlight.document.within import at
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import looking
from firstlight.gates.question import Question
from firstlight.model.component import Phase
from firstlight.model.move import Seat
from firstlight.model.observation import View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.operate.moving.scene import Scene
from firstlight.ownership import engine_marks
from firstlight.plan import asking


def stage(scene: Scene, *, patience: float) -> Stage:
    """Every HelmRelease whose release bootstrap is to keep rests."""
    ids = [
        id
        for each in scene.moved
        if each.after is Seat.KEPT
        for origin in each.helm_releases
        if (id := asking.declared_by(origin)) is not None
    ]

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        looks = tuple(looking.at(each) for each in ids)

        def judge(view: View) -> Verdict:
            for id, one in zip(ids, looks, strict=True):
                found = view.one(one)
                if found is None:
                    return Waiting(f"{id} is not there")
                if not engine_marks.is_suspended(found):
                    return Waiting(f"{id} does not rest so far: what brings it has not applied the commit")
                if at(found, "status", "observedGeneration") != at(found, "metadata", "generation"):
                    return Waiting(f"helm-controller has not seen so far that {id} rests")
            return Passed(", ".join(map(str, ids)))

        question = Question(
            gate=Gate(Subject.RECONCILED), name="the engine rests", looks=looks, judge=judge, timeout=patience
        )
        verdict = await world.watching.wait(question, on_verdict=on_verdict)
        return verdict, "" if isinstance(verdict, Passed) else "What is wrong: firstlight doctor"

    return Stage(id=f"{scene.cluster.name}:rest", name="the engine rests", phase=Phase.GITOPS, wait=wait)
