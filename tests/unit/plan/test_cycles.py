"""Knots of steps that wait for each other: all of them, nothing else, told by the shortest way round."""

from hypothesis import given

from firstlight.model.plan import Plan
from firstlight.plan import cycles
from tests.unit.plan.graphs import plans, step


def graph(plan: Plan) -> dict[str, list[str]]:
    return {each.id: [need.step for need in each.needs if need.step in plan.by_id] for each in plan.steps}


@given(plans())
def test_a_step_is_in_a_knot_if_and_only_if_it_leads_back_to_itself(plan: Plan) -> None:
    edges = graph(plan)
    leads_back = {name for name in edges if any(cycles.reaches(each, name, edges) for each in edges[name])}

    found = cycles.knots(edges)

    assert {name for knot in found for name in knot} == leads_back
    for knot in found:
        assert all(cycles.reaches(one, other, edges) for one in knot for other in knot)


@given(plans())
def test_there_is_a_problem_if_and_only_if_there_is_a_circle(plan: Plan) -> None:
    found = list(cycles.problems(plan.steps))

    assert len(found) == len(cycles.knots(graph(plan)))
    for problem in found:
        names = [link.name for link in problem.chain]
        for name, after in zip(names, [*names[1:], names[0]], strict=True):
            assert after in graph(plan)[name]


def test_the_shortest_way_round_is_told() -> None:
    steps = (step("a", "b"), step("b", "c"), step("c", "a", "b"))

    (problem,) = cycles.problems(steps)

    assert problem.message == "b and c wait for each other"


def test_a_step_that_needs_itself_is_told() -> None:
    (problem,) = cycles.problems((step("a", "a"),))

    assert problem.message == "a waits for itself"


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    number = 5000
    steps = [step(f"s{index}", f"s{index - 1}") for index in range(1, number)]

    assert list(cycles.problems([step("s0"), *steps])) == []
    assert len(list(cycles.problems([step("s0", f"s{number - 1}"), *steps]))) == 1
