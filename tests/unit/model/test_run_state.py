"""How a run stands: the fold holds for any events, and says what blocks what."""

import itertools
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.model import run_state
from firstlight.model.component import Phase
from firstlight.model.event import Event, Judged, RunEnded, RunStarted, StepBrief, StepEnded, StepStarted, Told, Writing
from firstlight.model.run_state import RunState, SpanKind, StepState
from tests.unit.journal import stories
from tests.unit.journal.any_events import RUNS

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "runs"


def started(**needs: str) -> RunStarted:
    """A run with steps of these names, each with the names that it needs."""
    steps = (StepBrief(id=name, phase=Phase.CORE, name=name, needs=tuple(of.split())) for name, of in needs.items())
    return RunStarted(at=100, run="r", cluster="infra", steps=tuple(steps), who="me@desk:1")


def folded(*events: Event, is_alive: bool | None = True) -> RunState:
    return run_state.fold(events, is_alive=is_alive)


def scenario(name: str) -> RunState:
    story = stories.load(SCENARIOS / name / "story.yaml")
    return run_state.fold(story.events, is_alive=story.is_alive)


@settings(max_examples=80)
@given(RUNS, st.sampled_from([True, False, None]), st.sampled_from([0.0, 1794810650.0, 1e300]))
def test_any_events_fold(events: list[Event], is_alive: bool | None, now: float) -> None:
    state = run_state.fold(events, is_alive=is_alive)

    assert state == run_state.after(run_state.fold(events[:-1], is_alive=is_alive), events[-1]) if events else state
    assert state.seconds(now) >= 0
    path = state.critical_path(now)
    for one, other in itertools.pairwise(path):
        assert one.id in other.brief.needs
    assert sum(each.total for each in state.phases) == len(state.steps)
    for phase in state.phases:
        assert 0 <= phase.done <= phase.total
        assert phase.seconds(now) >= 0
    for step in state.steps:
        assert step.seconds(now) >= 0
        assert (step.state == StepState.BLOCKED) == bool(step.causes)
        assert all(state.by_id[each].state == StepState.FAILED for each in step.causes)
        assert all(span.end is not None for span in step.spans[:-1])
    assert {each.step.id for each in state.causes} == {each.id for each in state.steps if each.state == "failed"}


def test_a_step_through_its_states() -> None:
    events: list[Event] = [started(a="")]
    seen = []
    for event in (
        StepStarted(at=101, step="a"),
        Told(at=102, step="a", text="looks"),
        Writing(at=103, step="a", writes=("create it",)),
        Judged(at=105, step="a", gate="g", verdict="waiting", reason="0/1"),
        Judged(at=106, step="a", gate="h", verdict="waiting", reason="no CA"),
        Judged(at=107, step="a", gate="g", verdict="passed", reason="1/1"),
        StepEnded(at=110, step="a", verdict="passed", reason="ready", writes=1),
    ):
        events.append(event)
        step = folded(*events).by_id["a"]
        seen.append((step.state, step.since, step.reason))

    assert seen == [
        ("running", 101, ""),
        ("running", 101, ""),
        ("running", 101, ""),
        ("waiting", 105, "0/1"),
        ("waiting", 105, "0/1 (and 1 more)"),
        ("waiting", 105, "no CA"),
        ("passed", 110, "ready"),
    ]
    assert step.told == "looks"
    assert step.writes == ("create it",)
    assert step.written == 1
    assert [(each.kind, each.start, each.end) for each in step.spans] == [
        (SpanKind.WORK, 101, 105),
        (SpanKind.WAIT, 105, 110),
    ]
    assert [(each.name, each.seconds(110)) for each in step.gates] == [("g", 2), ("h", 4)]


def test_a_step_that_was_given_up_has_failed() -> None:
    state = folded(started(a="", b="a"), StepEnded(at=700, step="a", verdict="waiting", reason="0/1"))

    assert state.by_id["a"].state == StepState.FAILED
    assert state.by_id["a"].is_given_up
    assert state.by_id["b"].causes == ("a",)


def test_the_cause_that_blocks_most_is_on_top() -> None:
    state = scenario("gave-up")

    assert [(each.step.id, len(each.blocks)) for each in state.causes] == [
        ("core/cert-manager", 10),
        ("core:secret/flux-system/sops-age", 9),
    ]
    assert state.by_id["gitops/grafana"].causes == ("core/cert-manager", "core:secret/flux-system/sops-age")
    assert state.by_id["core/external-secrets"].causes == ("core/cert-manager",)


def test_what_only_waits_blocks_nothing_yet() -> None:
    state = scenario("goes-on")

    assert state.causes == ()
    assert state.by_id["engine/flux"].state == StepState.PENDING
    assert state.unmet(state.by_id["engine/flux"]) == ("core/cert-manager",)


def test_steps_that_need_each_other_are_pending() -> None:
    state = folded(started(a="b", b="a", c="a"))

    assert [each.state for each in state.steps] == ["pending"] * 3
    assert state.critical_path(100)


def test_outcomes() -> None:
    start = started(a="")

    assert folded(start).outcome == "running"
    assert folded(start, is_alive=False).outcome == "killed"
    assert folded(start, is_alive=None).outcome == "unknown"
    assert folded(start, RunEnded(at=105, verdict="passed"), is_alive=False).outcome == "passed"
    assert folded(start, RunEnded(at=105, verdict="failed"), is_alive=True).outcome == "failed"
    assert folded(start, RunEnded(at=105, verdict="waiting"), is_alive=True).outcome == "interrupted"


def test_writes_of_ended_steps_count_also_where_the_end_says_none() -> None:
    ended = StepEnded(at=104, step="a", verdict="passed", writes=3)

    assert folded(started(a=""), ended).writes == 3
    assert folded(started(a=""), ended, RunEnded(at=105, verdict="waiting")).writes == 3


def test_a_killed_run_ends_with_its_last_event_and_one_that_goes_on_now() -> None:
    events = (started(a=""), StepStarted(at=120, step="a"))

    assert folded(*events, is_alive=False).seconds(5000) == 20
    assert folded(*events, is_alive=True).seconds(5000) == 4900
    assert folded(*events, RunEnded(at=130, verdict="passed")).seconds(5000) == 30


def test_the_critical_path_follows_what_took_longest() -> None:
    def both(first: float, second: float) -> tuple[str, ...]:
        state = folded(
            started(a="", b="", c="a b", d="c"),
            StepStarted(at=100, step="a"),
            StepStarted(at=100, step="b"),
            StepEnded(at=100 + first, step="a", verdict="passed"),
            StepEnded(at=100 + second, step="b", verdict="passed"),
            StepStarted(at=120, step="c"),
        )
        return tuple(each.id for each in state.critical_path(125))

    assert both(3, 9) == ("b", "c", "d")
    assert both(9, 3) == ("a", "c", "d")


def test_the_critical_path_of_a_run_that_is_over_has_only_what_began() -> None:
    state = scenario("gave-up")

    assert [each.brief.name for each in state.critical_path(0)][-2:] == ["coredns", "cert-manager"]


def test_phases() -> None:
    found = {str(each.phase): (each.state, each.done, each.total) for each in scenario("gave-up").phases}

    assert found["machine"] == ("passed", 4, 4)
    assert found["core"] == ("failed", 2, 5)
    assert found["engine"] == ("blocked", 0, 2)


def test_a_step_nobody_announced_is_shown_where_its_id_says() -> None:
    state = folded(started(), StepStarted(at=101, step="engine:source"), StepStarted(at=101, step="odd"))

    assert [(each.brief.phase, each.brief.name) for each in state.steps] == [("engine", "source"), ("gitops", "odd")]
