"""The plan as a graph: what may begin, what is held up and by whom, the longest chain."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from firstlight.model.plan import Plan, Step
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting
from tests.unit.plan import graphs
from tests.unit.plan.graphs import plans

DIAMOND = Plan(
    cluster="home", steps=(graphs.step("d", "b", "c"), graphs.step("b", "a"), graphs.step("c", "a"), graphs.step("a"))
)


def names(steps: tuple[Step, ...]) -> list[str]:
    return [each.id for each in steps]


def test_only_what_has_everything_is_ready() -> None:
    assert names(DIAMOND.ready({})) == ["a"]
    assert names(DIAMOND.ready({"a": Passed()})) == ["b", "c"]
    assert names(DIAMOND.ready({"a": Passed(), "b": Passed()})) == ["c"]
    assert names(DIAMOND.ready({"a": Passed(), "b": Passed(), "c": Skipped()})) == ["d"]


def test_a_step_that_waits_or_failed_lets_nothing_on() -> None:
    assert names(DIAMOND.ready({"a": Waiting("for a node")})) == []
    assert names(DIAMOND.ready({"a": Failed("no disk")})) == []


def test_a_blocked_step_names_what_is_at_the_bottom() -> None:
    blocked = {each.step.id: each for each in DIAMOND.why_blocked({"a": Passed(), "b": Failed("no image")})}

    assert list(blocked) == ["d"]
    assert [need.step for need in blocked["d"].by] == ["b", "c"]
    assert blocked["d"].root == ("b", "c")  # b failed, c could begin


def test_steps_that_hold_each_other_up_are_the_bottom() -> None:
    plan = Plan(cluster="home", steps=(graphs.step("a", "b"), graphs.step("b", "a"), graphs.step("c", "b")))

    assert {each.step.id: each.root for each in plan.why_blocked({})} == {
        "a": ("a", "b"),
        "b": ("a", "b"),
        "c": ("a", "b"),
    }
    assert names(plan.stuck()) == ["a", "b", "c"]


def test_waves_are_what_runs_at_once() -> None:
    assert [names(each) for each in DIAMOND.waves()] == [["a"], ["b", "c"], ["d"]]


def test_durations_decide_the_critical_path() -> None:
    assert names(DIAMOND.critical_path()) == ["a", "b", "d"]
    assert names(DIAMOND.critical_path({"a": 1, "b": 1, "c": 9, "d": 1})) == ["a", "c", "d"]


@given(plans())
def test_the_order_respects_needs_and_leaves_out_what_can_never_run(plan: Plan) -> None:
    order = names(plan.order())
    position = {name: index for index, name in enumerate(order)}

    for each in plan.order():
        assert all(position[need.step] < position[each.id] for need in each.needs)
    assert sorted(order + names(plan.stuck())) == sorted(names(plan.steps))
    assert {each.id for each in plan.stuck()} == _never(plan)


def _never(plan: Plan) -> set[str]:
    """What leads to a circle or to nothing, found by following every way."""

    def is_bad(name: str, above: tuple[str, ...]) -> bool:
        if name in above or name not in plan.by_id:
            return True
        return any(is_bad(need.step, (*above, name)) for need in plan.by_id[name].needs)

    return {each.id for each in plan.steps if is_bad(each.id, ())}


@given(plans(), st.data())
def test_running_what_is_ready_runs_everything_that_can_run(plan: Plan, data: st.DataObject) -> None:
    outcomes: dict[str, Verdict] = {}
    while ready := plan.ready(outcomes):
        chosen = data.draw(st.sampled_from(ready))
        outcomes[chosen.id] = Passed()

    assert set(outcomes) == {each.id for each in plan.order()}
    assert {each.step.id for each in plan.why_blocked(outcomes)} == {each.id for each in plan.stuck()}


@given(plans(), st.data())
def test_every_step_has_an_outcome_is_ready_or_is_blocked(plan: Plan, data: st.DataObject) -> None:
    choices: list[Verdict] = [Passed(), Waiting("x"), Failed("y"), Skipped()]
    verdict = st.sampled_from(choices)
    outcomes = {each.id: data.draw(verdict) for each in plan.steps if data.draw(st.booleans())}

    ready = {each.id for each in plan.ready(outcomes)}
    blocked = {each.step.id for each in plan.why_blocked(outcomes)}

    assert ready | blocked | set(outcomes) == {each.id for each in plan.steps}
    assert not ready & blocked
    assert all(each.root for each in plan.why_blocked(outcomes))


@given(plans(acyclic=True, largest=7), st.data())
def test_no_chain_is_longer_than_the_critical_path(plan: Plan, data: st.DataObject) -> None:
    durations = {each.id: float(data.draw(st.integers(1, 9))) for each in plan.steps}
    path = plan.critical_path(durations)

    assert all(below.id in {need.step for need in above.needs} for below, above in itertools.pairwise(path))
    assert sum(durations[each.id] for each in path) == max(
        (_longest(plan, each, durations) for each in plan.steps), default=0
    )


def _longest(plan: Plan, step: Step, durations: dict[str, float]) -> float:
    deeper = [_longest(plan, plan.by_id[need.step], durations) for need in step.needs]
    return durations[step.id] + max(deeper, default=0.0)
