"""Hooks of components in a run: after the gates, allowed, once, and proven by what they were to bring about."""

from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.execute import command_digest, loop
from firstlight.execute.actions import dispatch
from firstlight.execute.masks import Masks
from firstlight.execute.repo_commands import AllowedCommands, RepoCommands
from firstlight.execute.world import PendingChange, RunPrograms, World
from firstlight.gates.gate_parts import GateContext
from firstlight.model import event, work
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.event import Event
from firstlight.model.own_gates import Hook
from firstlight.model.place import Place
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

CLUSTER = Cluster(name="home", place=Place("firstlight.yaml", 1))
PLACE = Place("firstlight.yaml", 9, 5)
SEED = "echo the token is hunter2; echo seeded >>seeded"


class Claiming(loop.Loop):
    """A run that says when it would take the lease; there is no API here."""

    def __init__(self, claims: list[str], *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._claims = claims

    async def _claimed(self, step: Step) -> bool:
        self._claims.append(step.id)
        return False


class Repo:
    """A repo with one component that has a hook, and another one that needs it."""

    def __init__(self, root: Path, run: str = SEED, unless: str = "test -e seeded", *, timeout: float = 10) -> None:
        self.root = root
        self.script("seed", run)
        self.script("seeded-already", unless)
        self.hook = Hook(place=PLACE, run=("./seed", "all"), unless=("./seeded-already",), timeout=timeout)
        self.events: list[Event] = []
        self.claims: list[str] = []

    def script(self, name: str, text: str) -> None:
        path = self.root / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def commands(self, *allowed: tuple[str, ...]) -> RepoCommands:
        masks = Masks()
        masks.add(Secret("hunter2"))
        known = frozenset((command_digest.command_digest(each, self.root).value, str(self.root)) for each in allowed)
        return RepoCommands(self.root, cluster="home", allowed=AllowedCommands(known), masks=masks)

    @property
    def seeds(self) -> int:
        """How often the hook has run."""
        path = self.root / "seeded"
        return len(path.read_text().splitlines()) if path.exists() else 0

    @property
    def told(self) -> list[str]:
        return [each.text for each in self.events if isinstance(each, event.Told)]

    async def up(
        self, commands: RepoCommands | None = None, *, verdict: Verdict | None = None, is_dry_run: bool = False
    ) -> loop.RunResult:
        def told(step: str, text: str) -> None:
            self.events.append(event.Told(at=0, step=step, text=text))

        async def resolve(reference: str) -> Secret:
            raise AssertionError("nothing asks for secrets here")

        async def look(task: work.Task, world: World, step: str) -> PendingChange | None:
            return None

        async def wait(step: Step, *_: object, **__: object) -> tuple[Verdict, str]:
            self.events.append(event.Told(at=0, step=step.id, text="gates"))
            return verdict or Passed(), ""

        world = World(
            cluster=CLUSTER, programs=RunPrograms(), resolve=resolve, state=Path("/nowhere"), tell=told,
            commands=commands or self.commands(self.hook.run, self.hook.unless),
        )  # fmt: skip
        steps = (
            Step(id="core/db", phase=Phase.CORE, action=Action.APPLY_OBJECTS, name="db", hooks=(self.hook,)),
            Step(
                id="core/app", phase=Phase.CORE, action=Action.APPLY_OBJECTS, name="app",
                needs=(StepNeed("core/db", "needs", Tie.DECLARED),),
            ),
        )  # fmt: skip
        plan = Plan(cluster="home", steps=steps)
        self.events.clear()
        one = Claiming(
            self.claims,
            work.Work(cluster=CLUSTER, plan=plan, tasks={each.id: work.Watch() for each in steps}), world,
            ground=GateContext(cluster=CLUSTER, revision="", objects={}), tell=self.events.append,
            options=loop.RunOptions(holder="tests", is_dry_run=is_dry_run), confirm=lambda danger: False,
            look=look, wait=wait,
        )  # fmt: skip
        return await one.run()


async def test_a_hook_runs_after_the_gates_and_before_what_needs_its_component(tmp_path: Path) -> None:
    repo = Repo(tmp_path)

    result = await repo.up()

    assert result.is_complete
    assert result.writes == 1
    assert repo.seeds == 1
    assert repo.claims == ["core/db"]
    assert repo.told == ["gates", "the token is •••", "gates"]
    (writing,) = [each for each in repo.events if isinstance(each, event.Writing)]
    assert (writing.step, writing.writes) == ("core/db", ("run ./seed all",))
    assert repo.events.index(writing) < repo.events.index(
        next(each for each in repo.events if isinstance(each, event.StepEnded) and each.step == "core/db")
    )
    assert "hunter2" not in str(repo.events)


async def test_a_second_run_has_nothing_to_do_and_writes_nothing(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    await repo.up()
    repo.claims.clear()

    result = await repo.up()

    assert result.is_complete
    assert result.writes == 0
    assert repo.seeds == 1
    assert repo.claims == []
    assert not [each for each in repo.events if isinstance(each, event.Writing)]


async def test_a_repo_that_wants_to_run_a_command_is_refused(tmp_path: Path) -> None:
    repo = Repo(tmp_path)

    result = await repo.up(repo.commands(repo.hook.unless))

    assert result.is_refused
    assert repo.seeds == 0
    assert isinstance(failed := result.outcomes["core/db"], Failed)
    assert "./seed all" in failed.reason
    assert command_digest.command_digest(repo.hook.run, tmp_path).value in failed.reason
    assert result.outcomes["core/app"] == Waiting("needs core/db")
    assert not [each for each in repo.events if isinstance(each, event.Writing)]
    (ended,) = [each for each in repo.events if isinstance(each, event.StepEnded) and each.step == "core/db"]
    assert "--allow-commands" in ended.hint


async def test_also_the_question_whether_there_is_anything_to_do_must_be_allowed(tmp_path: Path) -> None:
    repo = Repo(tmp_path, unless="touch asked")

    result = await repo.up(repo.commands(repo.hook.run))

    assert result.is_refused
    assert not (tmp_path / "asked").exists()


async def test_a_changed_script_is_refused_until_it_is_allowed(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    commands = repo.commands(repo.hook.run, repo.hook.unless)
    repo.script("seed", f"{SEED}; curl https://example.org/")

    assert (await repo.up(commands)).is_refused
    assert repo.seeds == 0


@pytest.mark.parametrize("verdict", [Failed("it broke"), Waiting("for ever")])
async def test_a_hook_runs_only_after_success(tmp_path: Path, verdict: Verdict) -> None:
    repo = Repo(tmp_path)

    result = await repo.up(verdict=verdict)

    assert repo.seeds == 0
    assert result.outcomes["core/db"] == verdict


async def test_a_dry_run_only_tells(tmp_path: Path) -> None:
    repo = Repo(tmp_path, unless="touch asked; false")

    result = await repo.up(is_dry_run=True)

    assert repo.told == ["then the hook: ./seed all, unless ./seeded-already"]
    assert (repo.seeds, result.writes) == (0, 0)
    assert not (tmp_path / "asked").exists()


async def test_a_hook_that_fails_stops_what_needs_its_component_and_is_not_tried_again(tmp_path: Path) -> None:
    repo = Repo(tmp_path, run="echo tried >>seeded; echo no hunter2 >&2; exit 7", unless="false")

    result = await repo.up()

    assert result.outcomes["core/db"] == Failed("the hook ./seed all exited with 7: no •••")
    assert result.outcomes["core/app"] == Waiting("needs core/db")
    assert not result.is_refused
    assert repo.seeds == 1


async def test_a_hook_that_brings_nothing_about_has_failed(tmp_path: Path) -> None:
    repo = Repo(tmp_path, unless="echo 0 of 3 rows; false")

    result = await repo.up()

    said = "the hook ./seed all ran, and ./seeded-already still says no: 0 of 3 rows"
    assert result.outcomes["core/db"] == Failed(said)
    (ended,) = [each for each in repo.events if isinstance(each, event.StepEnded) and each.step == "core/db"]
    assert ended.hint == "The hook is declared at firstlight.yaml:9:5."


async def test_a_hook_that_takes_too_long_is_killed_and_not_tried_again(tmp_path: Path) -> None:
    repo = Repo(tmp_path, run="echo tried >>seeded; sleep 60", unless="false", timeout=0.5)

    result = await repo.up()

    assert isinstance(failed := result.outcomes["core/db"], Failed)
    assert "./seed did not finish within 0.5 s, and was killed" in failed.reason
    assert repo.seeds == 1


async def test_where_commands_have_no_place_none_runs(tmp_path: Path) -> None:
    repo = Repo(tmp_path)

    async def resolve(reference: str) -> Secret:
        raise AssertionError

    world = World(cluster=CLUSTER, programs=RunPrograms(), resolve=resolve, state=tmp_path)
    with pytest.raises(errors.Refused, match="are not run here"):
        await dispatch.look_hook(repo.hook, world, "core/db")
