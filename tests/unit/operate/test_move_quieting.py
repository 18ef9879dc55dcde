"""A HelmRelease at rest: what its controller had begun is done once it has seen that."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from firstlight.gates import looking
from firstlight.gates.question import Question
from firstlight.model.component import Form, Origin, Side
from firstlight.model.move import Seat
from firstlight.model.observation import View
from firstlight.model.place import Place
from firstlight.model.source import Chart
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.operate.moving import quieting
from firstlight.plan import asking

RELEASE = Origin(
    form=Form.HELM_RELEASE, side=Side.GITOPS, place=Place("web.yaml"), name="web", namespace="shop",
    source=Chart(name="web"),
)  # fmt: skip


def judged(live: dict[str, Any] | None) -> Verdict:
    """What is said of a HelmRelease as it is."""
    asked: list[Question] = []

    async def wait(question: Question, **_: object) -> Verdict:
        asked.append(question)
        return Passed("")

    moved = SimpleNamespace(after=Seat.KEPT, helm_releases=(RELEASE,))
    scene: Any = SimpleNamespace(cluster=SimpleNamespace(name="home"), moved=[moved])
    world: Any = SimpleNamespace(watching=SimpleNamespace(wait=wait))

    async def asks() -> None:
        await quieting.stage(scene, patience=1.0).wait(world, lambda _: None)

    asyncio.run(asks())
    id = asking.declared_by(RELEASE)
    assert id is not None
    return asked[0].judge(View(now=0.0, objects={looking.at(id): (live,)} if live is not None else {}))


@pytest.mark.parametrize(
    ("suspend", "seen", "says"),
    [
        (False, 2, "does not rest so far"),
        (True, 1, "has not seen so far"),
        (True, 2, ""),
    ],
)
def test_it_rests_once_its_controller_knows(suspend: bool, seen: int, says: str) -> None:
    found = judged(
        {"metadata": {"generation": 2}, "spec": {"suspend": suspend}, "status": {"observedGeneration": seen}}
    )

    assert isinstance(found, Waiting) == bool(says)
    assert says in (found.reason if isinstance(found, Waiting) else "")


def test_one_that_is_not_there_is_waited_for() -> None:
    assert judged(None) == Waiting("HelmRelease shop/web is not there")
