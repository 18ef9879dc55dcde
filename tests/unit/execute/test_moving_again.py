"""The last proof of a move: bootstrap's own steps, looked at and never carried out."""

import asyncio
import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from firstlight.commands.change.bootstrap import bootstrap_stages
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.moves import proof
from firstlight.execute.actions import dispatch
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange
from firstlight.model.move import Seat
from firstlight.model.verdict import Failed, Passed, Verdict


@dataclasses.dataclass
class World:
    """What the steps would write, by their ids."""

    writes: dict[str, tuple[str, ...]]
    performed: list[str] = dataclasses.field(default_factory=list)
    is_over: bool = False
    """Whether it is forgotten how everything was."""


@pytest.fixture
def second_run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks at what moved, in a world in which steps would write this."""

    async def get(self: PreparedBootstrap, world: World) -> Any:
        assert not self._is_strict
        return SimpleNamespace(work=SimpleNamespace(tasks={step: step for step in world.writes}))

    async def look(task: str, world: World, step: str) -> PendingChange | None:
        async def perform() -> None:
            world.performed.append(step)

        return PendingChange(writes=world.writes[step], perform=perform) if world.writes[step] else None

    def steps_of(prepared: Any, name: str) -> list[Any]:
        return [SimpleNamespace(id=each) for each in prepared.work.tasks if each.endswith(name)]

    monkeypatch.setattr(PreparedBootstrap, "get", get)
    monkeypatch.setattr(dispatch, "look", look)
    monkeypatch.setattr(bootstrap_stages, "steps_of", steps_of)
    monkeypatch.setattr(bootstrap_stages, "left_of", lambda steps, prepared: "")
    monkeypatch.setattr(proof, "forget_baseline", lambda world, scene: setattr(world, "is_over", True))

    def run(seats: dict[str, Seat], writes: dict[str, tuple[str, ...]]) -> tuple[Verdict, str] | None:
        found = _stages(Seat.GITOPS, seats)
        if not found:
            return None
        world = World(writes)
        told = asyncio.run(_walked(found[-1], world))
        assert world.performed == []
        assert world.is_over == isinstance(told[0], Passed), "whoever goes on must know how everything was"
        return told

    return run


def _stages(before: Seat, seats: dict[str, Seat]) -> tuple[WalkStage, ...]:
    moved = [
        SimpleNamespace(component=SimpleNamespace(name=name), before=before, after=seat) for name, seat in seats.items()
    ]
    scene: Any = SimpleNamespace(cluster=SimpleNamespace(name="home"), moved=moved)
    carrying: Any = None
    return proof.repeat_stages(scene, carrying)


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (Seat.KEPT, Seat.HANDED_OVER, ["home:certificate", "home:again"]),
        (Seat.GITOPS, Seat.HANDED_OVER, ["home:again"]),
        (Seat.HANDED_OVER, Seat.KEPT, ["home:again"]),
    ],
)
def test_the_handover_covers_what_the_engine_gets_from_bootstrap(before: Seat, after: Seat, names: list[str]) -> None:
    assert [each.id for each in _stages(before, {"web": after})] == names


async def _walked(stage: WalkStage, world: Any) -> tuple[Verdict, str]:
    assert await stage.look(world) is None, "it writes nothing"
    return await stage.wait(world, lambda _: None)


def test_nothing_is_left(second_run: Any) -> None:
    verdict, hint = second_run({"web": Seat.KEPT}, {"crds:web": (), "core:web": ()})

    assert verdict == Passed("up --only web has nothing to write (2 steps)")
    assert hint == ""


@pytest.mark.parametrize("seat", [Seat.KEPT, Seat.HANDED_OVER])
def test_something_is_left(seat: Seat, second_run: Any) -> None:
    verdict, hint = second_run({"web": seat}, {"crds:web": (), "core:web": ("a", "b", "c", "d"), "core:other": ("e",)})

    assert verdict == Failed("a second run would a, b, c and 1 more")
    assert "firstlight up home --only web --dry-run" in hint


def test_what_bootstrap_does_not_bring_is_not_looked_at(second_run: Any) -> None:
    assert second_run({"web": Seat.GITOPS}, {}) is None
