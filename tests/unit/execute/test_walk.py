"""A walk goes stage by stage, stops where one is given up, and asks before what is dangerous."""

import dataclasses
from pathlib import Path

from firstlight.execute import walk
from firstlight.execute.loop import RunOptions, RunResult
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, RunPrograms, World
from firstlight.model.cluster import Cluster
from firstlight.model.event import Event, Judged, StepEnded
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Verdict, Waiting


async def no_secret(reference: str) -> Secret:
    raise AssertionError(reference)


@dataclasses.dataclass
class Trail:
    """Machines that are to be written to, one after the other."""

    home: Path
    lost: str = ""
    done: list[str] = dataclasses.field(default_factory=list)
    events: list[Event] = dataclasses.field(default_factory=list)
    asked: list[str] = dataclasses.field(default_factory=list)

    def stage(self, name: str, *, danger: str = "") -> WalkStage:
        async def look(world: World) -> PendingChange | None:
            async def perform() -> None:
                self.done.append(name)

            return (
                None if name in self.done else PendingChange(writes=(f"reboot {name}",), perform=perform, danger=danger)
            )

        async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
            verdict = Waiting(f"{name} does not answer") if name == self.lost else Passed(f"{name} is back")
            on_verdict(verdict)
            return verdict, "Look at its console."

        return WalkStage(id=name, name=f"reboot {name}", look=look, wait=wait)

    async def walk(self, *stages: WalkStage, is_yes: bool = True) -> RunResult:
        def confirm(danger: str) -> bool:
            self.asked.append(danger)
            return is_yes

        world = World(
            cluster=Cluster(name="infra", place=Place("a", 1)),
            programs=RunPrograms(),
            resolve=no_secret,
            state=self.home,
        )
        return await walk.run_stages(
            stages, world, options=RunOptions(holder="a"), tell=self.events.append, confirm=confirm, now=lambda: 0.0
        )


async def test_a_stage_that_is_given_up_stops_the_rest(tmp_path: Path) -> None:
    trail = Trail(tmp_path, lost="b")

    result = await trail.walk(*map(trail.stage, "abc"))

    assert trail.done == ["a", "b"]
    assert not result.is_complete
    assert result.outcomes["b"] == Waiting("b does not answer")
    assert result.outcomes["c"] == Waiting("needs b")
    assert Judged(at=0.0, step="a", gate="reboot a", verdict="passed", reason="a is back") in trail.events
    ended = [each for each in trail.events if isinstance(each, StepEnded)]
    assert [each.hint for each in ended if each.step == "b"] == ["Look at its console."]


async def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    trail = Trail(tmp_path, done=["a"])

    result = await trail.walk(*map(trail.stage, "ab"))

    assert trail.done == ["a", "b"]
    assert (result.is_complete, result.writes) == (True, 1)


async def test_danger_that_is_not_confirmed_is_refused(tmp_path: Path) -> None:
    trail = Trail(tmp_path)

    result = await trail.walk(trail.stage("a", danger="cp-1 reboots"), trail.stage("b"), is_yes=False)

    assert (trail.done, trail.asked, result.is_refused) == ([], ["cp-1 reboots"], True)


def test_stages_that_name_their_needs_run_beside_each_other() -> None:
    found = walk.briefs(
        [WalkStage(id="a", name="a"), WalkStage(id="b", name="b"), WalkStage(id="c", name="c", needs=("a",))]
    )

    assert [each.needs for each in found] == [(), ("a",), ("a",)]
