"""The loop of a run: order, branches, writes, refusals, trouble that passes."""

import asyncio
import dataclasses
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients import helm, kube
from firstlight.clients.kube import kube_errors
from firstlight.execute import loop
from firstlight.execute.overrides import override_end
from firstlight.execute.world import PendingChange, RunPrograms, World
from firstlight.gates.gate_parts import GateContext
from firstlight.model import event
from firstlight.model import work as model_work
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.event import Event
from firstlight.model.place import Place
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

CLUSTER = Cluster(name="home", place=Place("firstlight.yaml", 1))


async def no_secret(reference: str) -> Secret:
    raise AssertionError("nothing asks for secrets here")


@dataclasses.dataclass
class Stage:
    """A world that is a set of names: a step is done when its name is in it."""

    needs: Mapping[str, tuple[str, ...]]
    there: set[str] = dataclasses.field(default_factory=set)
    order: list[str] = dataclasses.field(default_factory=list)
    verdicts: Mapping[str, Verdict] = dataclasses.field(default_factory=dict)
    troubles: dict[str, list[errors.FirstlightError]] = dataclasses.field(default_factory=dict)
    dangers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    events: list[Event] = dataclasses.field(default_factory=list)
    left: frozenset[str] = frozenset()
    tasks: Mapping[str, model_work.Task] = dataclasses.field(default_factory=dict)
    phases: Mapping[str, Phase] = dataclasses.field(default_factory=dict)
    actions: Mapping[str, Action] = dataclasses.field(default_factory=dict)
    state: Path = Path("/nowhere")

    def task(self, name: str) -> model_work.Task:
        return model_work.Leave(why="later") if name in self.left else model_work.Watch()

    async def look(self, task: model_work.Task, world: World, step: str) -> PendingChange | None:
        if self.troubles.get(step):
            raise self.troubles[step].pop(0)
        if step in self.there:
            return None

        async def perform() -> None:
            await asyncio.sleep(0)
            self.order.append(step)
            self.there.add(step)

        return PendingChange(writes=(f"create {step}",), perform=perform, danger=self.dangers.get(step, ""))

    async def wait(self, step: Step, task: model_work.Task, world: World, **_: object) -> tuple[Verdict, str]:
        return self.verdicts.get(step.id, Passed()), "try this"

    def plan(self) -> Plan:
        steps = tuple(
            Step(
                id=name, phase=self.phases.get(name, Phase.CORE), name=name,
                action=self.actions.get(name, Action.APPLY_OBJECTS),
                needs=tuple(StepNeed(each, "needs", Tie.DECLARED) for each in needs),
            )
            for name, needs in self.needs.items()
        )  # fmt: skip
        return Plan(cluster="home", steps=steps)

    async def run(
        self, *, confirm: Callable[[str], bool] = lambda danger: False, parallel: int = 8, **options: object
    ) -> loop.RunResult:
        async def no_talos_secrets() -> Secret:
            raise AssertionError("nothing asks for secrets here")

        async def sleep(seconds: float) -> None:
            await asyncio.sleep(0)

        world = World(
            cluster=CLUSTER, programs=RunPrograms(), resolve=no_secret, state=self.state, parallel=parallel,
            talos_secrets=no_talos_secrets,
        )  # fmt: skip
        work = model_work.Work(
            cluster=CLUSTER,
            plan=self.plan(),
            tasks={name: self.tasks.get(name) or self.task(name) for name in self.needs},
        )
        one = loop.Loop(
            work, world, ground=GateContext(cluster=CLUSTER, revision="", objects={}),
            options=loop.RunOptions(holder="tests", **options),  # type: ignore[arg-type]
            tell=self.events.append, confirm=confirm, look=self.look, wait=self.wait, sleep=sleep,
        )  # fmt: skip
        try:
            return await one.run()
        finally:
            await world.close()


CHAIN = {"a": (), "b": ("a",), "c": ("b",), "side": ()}


async def test_steps_run_after_what_they_need_and_say_what_they_wrote() -> None:
    stage = Stage(CHAIN)

    result = await stage.run()

    assert [each for each in stage.order if each != "side"] == ["a", "b", "c"]
    assert result.is_complete
    assert result.writes == 4
    ended = [each for each in stage.events if isinstance(each, event.StepEnded)]
    assert {each.step: each.writes for each in ended} == dict.fromkeys(CHAIN, 1)


@dataclasses.dataclass
class Silent(Stage):
    """A machine gives a kubeconfig, and the API does not answer until its config is written."""

    async def look(self, task: model_work.Task, world: World, step: str) -> PendingChange | None:
        if isinstance(task, model_work.FetchKubeconfig):
            if "config" not in self.there:
                await world.connect(kube.ClientConfig(server="https://127.0.0.1:1"))
                raise errors.Unreachable("connection refused")
            return None
        return await super().look(task, world, step)


async def test_a_machine_gets_the_config_without_which_the_api_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "identity.json").write_text("{}")
    tasks = {"kubeconfig": model_work.FetchKubeconfig(control_planes=())}
    stage = Silent({"config": (), "kubeconfig": ("config",)}, tasks=tasks, state=tmp_path)

    result = await stage.run()

    assert result.is_complete, result.outcomes
    assert stage.order == ["config"]
    told = [each.text for each in stage.events if isinstance(each, event.Told)]
    assert told == ["the API does not answer: only the lock of this computer guards against a second run"]


async def test_a_second_run_writes_nothing() -> None:
    stage = Stage(CHAIN)
    await stage.run()
    stage.events.clear()

    result = await stage.run()

    assert result.is_complete
    assert result.writes == 0
    assert not [each for each in stage.events if isinstance(each, event.Writing)]


@pytest.mark.parametrize("bad", [Failed("it broke"), Waiting("for ever")])
async def test_a_step_that_does_not_pass_stops_its_branch_and_no_other(bad: Verdict) -> None:
    stage = Stage(CHAIN, verdicts={"a": bad})

    result = await stage.run()

    assert sorted(stage.order) == ["a", "side"]
    assert not result.is_complete
    assert result.outcomes["a"] == bad
    assert result.outcomes["b"] == Waiting("needs a")
    assert result.outcomes["c"] == Waiting("needs a")
    assert result.outcomes["side"] == Passed()


async def test_what_is_left_to_others_lets_the_rest_go_on() -> None:
    stage = Stage(CHAIN, left=frozenset({"a"}))

    result = await stage.run()

    assert result.outcomes["a"] == Skipped("later")
    assert sorted(stage.order) == ["b", "c", "side"]


async def test_a_dry_run_says_what_would_be_written_and_writes_nothing() -> None:
    stage = Stage(CHAIN)

    result = await stage.run(is_dry_run=True)

    assert stage.order == []
    assert result.writes == 0
    writing = [each for each in stage.events if isinstance(each, event.Writing)]
    assert [each.writes for each in writing if each.step == "c"] == [("create c",)]


async def test_a_dry_run_does_not_wait_for_machines_that_it_does_not_configure() -> None:
    stage = Stage(CHAIN, phases={"a": Phase.MACHINE})

    result = await stage.run(is_dry_run=True)

    assert result.outcomes["b"] == Skipped("dry run: known only when what it needs is there")
    assert result.outcomes["c"] == result.outcomes["b"]
    assert {each.step for each in stage.events if isinstance(each, event.Writing)} == {"a", "side"}


async def test_a_dry_run_does_not_guess_what_an_engine_would_do_that_was_pointed_at_nothing_yet() -> None:
    stage = Stage(CHAIN, actions={"a": Action.CREATE_ROOT})

    result = await stage.run(is_dry_run=True)

    assert result.outcomes["b"] == Skipped("dry run: known only when what it needs is there")


async def test_a_mistake_in_a_step_is_its_failure_and_nobody_elses() -> None:
    @dataclasses.dataclass
    class Mistaken(Stage):
        async def look(self, task: model_work.Task, world: World, step: str) -> PendingChange | None:
            if step == "a":
                raise KeyError("hunter2")
            return await super().look(task, world, step)

    stage = Mistaken(CHAIN)
    result = await stage.run()

    assert result.outcomes["a"] == Failed("a mistake in firstlight: KeyError")
    assert result.outcomes["side"] == Passed()
    assert "hunter2" not in str(stage.events)
    assert "test_loop.py" in str(stage.events)


async def test_what_was_confirmed_is_looked_at_again_before_it_is_performed() -> None:
    stage = Stage({"a": ()}, dangers={"a": "cp-1 reboots"})

    def confirm(danger: str) -> bool:
        stage.there.add("a")  # somebody else did it meanwhile
        return True

    result = await stage.run(confirm=confirm)

    assert result.is_complete
    assert stage.order == []


async def test_ctrl_c_at_a_question_does_not_wait_for_the_answer() -> None:
    asked, forever = threading.Event(), threading.Event()

    def confirm(danger: str) -> bool:
        asked.set()
        return forever.wait(10)

    run = asyncio.create_task(Stage({"a": ()}, dangers={"a": "cp-1 reboots"}).run(confirm=confirm))
    assert await asyncio.to_thread(asked.wait, 10)
    run.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, 5)
    forever.set()


async def test_what_cannot_be_undone_is_confirmed_or_refused() -> None:
    asked: list[str] = []

    def confirm(danger: str) -> bool:
        asked.append(danger)
        return False

    stage = Stage(CHAIN, dangers={"b": "cp-1 reboots"})
    result = await stage.run(confirm=confirm)

    assert asked == ["cp-1 reboots"]
    assert "b" not in stage.order
    assert result.is_refused
    assert isinstance(result.outcomes["b"], Failed)
    assert (await stage.run(confirm=lambda danger: True)).is_complete


@pytest.mark.parametrize(
    "trouble",
    [
        kube.AmbiguousWrite(kube_errors.ApiTarget(verb="patch", server="x"), because="the answer was lost"),
        helm.HelmError("install", detail="the server is currently unable to handle the request"),
        helm.HelmUnauthorised("install", detail="Unauthorized"),
    ],
    ids=["lost", "vague", "unauthorised"],
)
async def test_what_may_be_a_moment_of_the_api_is_looked_at_again(trouble: errors.ClientError) -> None:
    stage = Stage(CHAIN, troubles={"b": [trouble] * 3})

    result = await stage.run()

    assert result.is_complete
    assert stage.order.count("b") == 1


async def test_what_helm_says_again_and_again_is_believed() -> None:
    stage = Stage(CHAIN, troubles={"b": [helm.HelmError("install", detail="no")] * 50})

    result = await stage.run()

    assert result.outcomes["b"] == Failed("helm install: no")
    assert len(stage.troubles["b"]) == 50 - len(loop.PAUSES) - 1


async def test_what_helm_is_sure_of_is_not_tried_again() -> None:
    stage = Stage(CHAIN, troubles={"b": [helm.SchemaViolation("install", detail="no"), errors.Refused("twice")]})

    result = await stage.run()

    assert result.outcomes["b"] == Failed("helm install: no")


async def test_a_machine_that_comes_up_while_it_is_waited_for_gets_its_config() -> None:
    stage = Stage({"a": ()}, there={"a"}, tasks={"a": model_work.Configure(drafts=())})
    verdicts: list[Verdict] = [Passed("1 of 1 up"), Waiting("a is in maintenance mode, without a config")]

    async def wait(step: Step, task: model_work.Task, world: World, **_: object) -> tuple[Verdict, str]:
        stage.there.clear()
        return verdicts.pop(), ""

    stage.wait = wait  # type: ignore[method-assign]
    result = await stage.run()

    assert result.outcomes["a"] == Passed("1 of 1 up")
    assert stage.order == ["a"]
    assert result.writes == 1


async def test_trouble_that_passes_is_outlived_and_told() -> None:
    stage = Stage(CHAIN, troubles={"b": [errors.Unreachable("the API is away", target="x")] * 3})

    result = await stage.run()

    assert result.is_complete
    told = [each.text for each in stage.events if isinstance(each, event.Told)]
    assert told == ["tried again: the API is away"] * 3


async def test_what_is_wrong_is_said_with_the_way_out_and_refusals_are_remembered() -> None:
    stage = Stage(CHAIN, troubles={"b": [errors.Refused("another cluster", hint="Look at the address.")]})

    result = await stage.run()

    assert result.is_refused
    (ended,) = [each for each in stage.events if isinstance(each, event.StepEnded) and each.step == "b"]
    assert (ended.verdict, ended.reason, ended.hint) == ("failed", "another cluster", "Look at the address.")


async def test_no_more_steps_write_at_once_than_was_asked_for() -> None:
    busy = peak = 0

    @dataclasses.dataclass
    class Slow(Stage):
        async def look(self, task: model_work.Task, world: World, step: str) -> PendingChange | None:
            nonlocal busy, peak
            busy += 1
            peak = max(peak, busy)
            await asyncio.sleep(0.001)
            busy -= 1
            return None

    await Slow({str(number): () for number in range(9)}).run(parallel=3)

    assert peak == 3


async def test_an_interrupted_run_leaves_no_task_behind() -> None:
    begun = asyncio.Event()

    @dataclasses.dataclass
    class Endless(Stage):
        async def wait(self, step: Step, task: model_work.Task, world: World, **_: object) -> tuple[Verdict, str]:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

    run = asyncio.create_task(Endless(CHAIN).run())
    await begun.wait()
    run.cancel()

    with pytest.raises(asyncio.CancelledError):
        await run
    assert asyncio.all_tasks() == {asyncio.current_task()}


@given(data=st.data())
def test_any_graph_ends_with_every_step_passed_or_blocked_by_one_that_failed(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    needs = {
        str(number): tuple(map(str, data.draw(st.sets(st.integers(0, number - 1))))) if number else ()
        for number in range(count)
    }
    broken = data.draw(st.sets(st.sampled_from(sorted(needs))))
    stage = Stage(needs, verdicts={each: Failed("broken") for each in broken})

    result = asyncio.run(stage.run())

    def hindered(name: str) -> bool:
        return any(each in broken or hindered(each) for each in needs[name])

    assert set(result.outcomes) == set(needs)
    for name, outcome in result.outcomes.items():
        if hindered(name):
            assert isinstance(outcome, Waiting)
            assert name not in stage.order
        else:
            assert outcome == (Failed("broken") if name in broken else Passed())
            assert all(stage.order.index(each) < stage.order.index(name) for each in needs[name])


class Waking:
    """In place of what wakes CRDs: writes at once, and says whether it was asked to."""

    started = False

    def __init__(self, world: World, *, write: Callable[[PendingChange], Awaitable[None]], **_: object) -> None:
        self._write = write

    async def watch(self) -> None:
        type(self).started = True
        await asyncio.sleep(0.01)  # a step has begun to look

        async def perform() -> None:
            pass

        await self._write(PendingChange(writes=("wake CRD widgets.example.org",), perform=perform))


class Claimed:
    """A lease that nobody else wants."""

    def __init__(self, *_: object, **__: object) -> None:
        self.is_held = False
        self.lost: asyncio.Future[errors.Refused] = asyncio.get_running_loop().create_future()

    async def claim(self) -> bool:
        is_new, self.is_held = not self.is_held, True
        return is_new

    async def release(self) -> None:
        self.is_held = False


@pytest.fixture
def waking(monkeypatch: pytest.MonkeyPatch) -> type[Waking]:
    """CRDs are woken at once, by a run that has found its API."""

    async def nothing(*_: object, **__: object) -> int:
        return 0

    monkeypatch.setattr(loop, "CrdWaking", Waking)
    monkeypatch.setattr(loop, "Lease", Claimed)
    monkeypatch.setattr(override_end, "attempt_finish", nothing)
    monkeypatch.setattr(World, "kube", None)
    monkeypatch.setattr(Waking, "started", False)
    return Waking


async def test_what_a_step_saw_before_a_crd_was_woken_is_looked_at_again(waking: type[Waking]) -> None:
    """Whoever wakes the CRD takes the lease; to the step it is not new then, though it has looked before."""

    @dataclasses.dataclass
    class Slow(Stage):
        looks: int = 0

        async def look(self, task: model_work.Task, world: World, step: str) -> PendingChange | None:
            self.looks += 1
            change = await super().look(task, world, step)
            await asyncio.sleep(0.05)
            return change

    stage = Slow({"a": ()})
    result = await stage.run()

    assert stage.looks == 2
    assert result.writes == 2, "the CRD and the step"


async def test_a_dry_run_wakes_no_crd(waking: type[Waking]) -> None:
    await Stage(CHAIN).run(is_dry_run=True)

    assert not waking.started
