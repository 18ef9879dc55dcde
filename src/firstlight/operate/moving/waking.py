"""What rested while bootstrap kept a component goes on: what is above it brings what Git says now."""

from firstlight.clients import kube
from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import looking
from firstlight.gates.question import Question
from firstlight.model.component import Component, ObjectId, Phase
from firstlight.model.move import Seat
from firstlight.model.observation import View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.operate.changing import engine_objects, following
from firstlight.operate.moving.scene import Scene
from firstlight.ownership import engine_marks


def stage(scene: Scene, *, patience: float) -> Stage:
    """Nothing rests any more that the engine is to have again."""
    resting = [id for each in scene.moved if each.before is Seat.KEPT for id in _declaring(each.component)]
    above = [id for each in scene.moved if each.before is Seat.KEPT for id in _above(scene, each.component)]

    async def look(world: World) -> Change | None:
        held = [each for each in resting if await _rests(each, world.kube)]
        if not held:
            return None

        async def perform() -> None:
            await following.ask(above, world.kube)

        return Change(writes=tuple(f"ask {each} to reconcile" for each in above), perform=perform)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        looks = tuple(looking.at(each) for each in resting)

        def judge(view: View) -> Verdict:
            for id, one in zip(resting, looks, strict=True):
                found = view.one(one)
                if found is None or engine_marks.is_suspended(found):
                    return Waiting(f"{id} rests so far: what brings it has not applied the commit")
            return Passed(", ".join(map(str, resting)))

        question = Question(
            gate=Gate(Subject.RECONCILED), name="the engine goes on", looks=looks, judge=judge, timeout=patience
        )
        verdict = await world.watching.wait(question, on_verdict=on_verdict)
        return verdict, "" if isinstance(verdict, Passed) else "What is wrong: firstlight doctor"

    return Stage(
        id=f"{scene.cluster.name}:wake", name="the engine goes on", phase=Phase.GITOPS, look=look, wait=wait
    )  # fmt: skip


def _declaring(component: Component) -> list[ObjectId]:
    return [
        ObjectId(engine_objects.GROUPS[each.form], each.form.value, each.namespace, each.name)
        for each in component.halves[1]
        if each.form in engine_objects.GROUPS
    ]


def _above(scene: Scene, component: Component) -> list[ObjectId]:
    """What brings it, the outermost first."""
    found: list[ObjectId] = []
    seen = {component.name}
    parent = scene.component(component.parent)
    while parent is not None and parent.name not in seen:
        seen.add(parent.name)
        found = [*_declaring(parent), *found]
        parent = scene.component(parent.parent)
    return found


async def _rests(id: ObjectId, client: "kube.Client") -> bool:
    try:
        live = await client.get(looking.at(id).api_version, id.kind, id.name, namespace=id.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return False
    return engine_marks.is_suspended(live)
