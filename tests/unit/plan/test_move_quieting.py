"""A HelmRelease at rest: what its controller had begun is done once it has seen that."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from firstlight.commands.change.moves import suspension
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.component import Origin, Side, SourceForm
from firstlight.model.move import Seat
from firstlight.model.observation import GateView
from firstlight.model.place import Place
from firstlight.model.source import ChartSource
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.plan import plan_context

RELEASE = Origin(
    form=SourceForm.HELM_RELEASE, side=Side.GITOPS, place=Place("web.yaml"), name="web", namespace="shop",
    source=ChartSource(name="web"),
)  # fmt: skip


def judged(live: dict[str, Any] | None) -> Verdict:
    """What is said of a HelmRelease as it is."""
    asked: list[GateQuestion] = []

    async def wait(question: GateQuestion, **_: object) -> Verdict:
        asked.append(question)
        return Passed("")

    moved = SimpleNamespace(after=Seat.KEPT, helm_releases=(RELEASE,))
    scene: Any = SimpleNamespace(cluster=SimpleNamespace(name="home"), moved=[moved])
    world: Any = SimpleNamespace(watching=SimpleNamespace(wait=wait))

    async def asks() -> None:
        await suspension.quiet_stage(scene, patience=1.0).wait(world, lambda _: None)

    asyncio.run(asks())
    id = plan_context.declared_gates(RELEASE)
    assert id is not None
    return asked[0].judge(GateView(now=0.0, objects={gate_parts.look_at(id): (live,)} if live is not None else {}))


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
