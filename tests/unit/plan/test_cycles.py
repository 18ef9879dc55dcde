"""Knots of steps that wait for each other: all of them, nothing else, told by the shortest way round."""

from typing import Any

import pytest
from hypothesis import given

from firstlight.model.component import Phase
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie
from firstlight.plan import build, cycles
from tests.unit.plan import platforms
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
        names = [link.where for link in problem.evidence]
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


CILIUM = {"phase": "core", "role": "cni", "chart": "cilium", "namespace": "kube-system"}
COREDNS = {"phase": "core", "role": "dns", "chart": "coredns", "namespace": "kube-system"}
FLUX = {"phase": "engine", "role": "engine", "namespace": "flux-system"}


def built(components: dict[str, Any], **more: Any) -> Plan:
    cluster = {"engine": "flux", "machines": {"controlplane": 1}, "network": {"cni": "none", "coreDns": False}}
    platform, _ = platforms.make({"clusters": {"home": cluster}, "components": components, **more})
    return build.build(platform, platform.clusters[0])


def circles(plan: Plan) -> list[Diagnostic]:
    return [each for each in plan.problems if each.code == "cycle"]


def ties(plan: Plan, name: str) -> dict[str, Tie]:
    return {need.step: need.tie for need in plan.by_id[name].needs}


@pytest.mark.parametrize(("declared", "place"), [(True, "firstlight.yaml"), (False, "bootstrap/cilium.yaml:3")])
def test_a_fact_stays_and_the_declared_need_is_to_go(declared: bool, place: str) -> None:
    components = {"cilium": {**CILIUM, "wishes": ["coredns"]}, "coredns": COREDNS, "flux": FLUX}

    (problem,) = circles(built(components, declared=declared))

    assert problem.fix == "Take away that cilium needs coredns: coredns cannot work without cilium."
    assert [(each.where, each.text, str(each.place)) for each in problem.evidence] == [
        ("cilium", "needs coredns", place),
        ("coredns", "needs cilium: pods get no network without it", "bootstrap/coredns.yaml:3"),
    ]


def test_a_need_of_gitops_that_no_origin_says_is_in_the_declaration() -> None:
    components = {"cilium": CILIUM, "coredns": COREDNS, "flux": FLUX, "a": {"wishes": ["b"]}, "b": {"needs": ["a"]}}

    (problem,) = circles(built(components, declared=True))

    assert [each.place for each in problem.evidence] == [Place("firstlight.yaml"), Place("gitops/b.yaml", 7)]


@pytest.mark.parametrize("phase", [Phase.CORE, Phase.GITOPS])
def test_a_thing_is_only_asked_of_bootstrap_where_bootstrap_does_not_bring_it(phase: Phase) -> None:
    def bound(name: str, other: str) -> Step:
        need = StepNeed(other, "the Secret a/b", Tie.FACT, thing="the Secret a/b")
        return Step(id=name, phase=phase, action=Action.WATCH, name=name, needs=(need,))

    (problem,) = cycles.problems((bound("one", "two"), bound("two", "one")))

    assert (
        problem.fix
        == {
            Phase.CORE: "Bring the Secret a/b in another way: one cannot work without.",
            Phase.GITOPS: "Let bootstrap bring the Secret a/b, or take one of the other needs away.",
        }[phase]
    )


@pytest.mark.parametrize(
    ("key", "spec", "step_id", "place"),
    [
        ("wishes", {"phase": "core"}, "core/odd", "firstlight.yaml"),
        ("needs", {"phase": "core"}, "core/odd", "bootstrap/odd.yaml:7"),
        ("wishes", {}, "gitops/odd", "firstlight.yaml"),
        ("needs", {}, "gitops/odd", "gitops/odd.yaml:7"),
    ],
)
def test_a_component_that_needs_itself_is_told(key: str, spec: dict[str, Any], step_id: str, place: str) -> None:
    components = {"cilium": CILIUM, "coredns": COREDNS, "flux": FLUX, "odd": {**spec, key: ["odd"]}}

    plan = built(components, declared=True)
    (problem,) = circles(plan)

    assert (problem.severity, problem.message) == (Severity.ERROR, "odd waits for itself")
    assert [(each.where, str(each.place)) for each in problem.evidence] == [("odd", place)]
    assert problem.fix == "Take the need away."
    assert step_id in {each.id for each in plan.stuck()}


def test_the_order_of_tasks_gives_way_also_where_a_helmfile_is_certain() -> None:
    cilium = {**CILIUM, "needs": ["flux"], "needsWhy": "task order"}

    plan = built({"cilium": cilium, "coredns": COREDNS, "flux": FLUX})

    assert circles(plan) == []
    assert ties(plan, "engine/flux")["core/cilium"] == Tie.FACT
    assert "engine/flux" not in ties(plan, "core/cilium")


def test_the_order_of_tasks_is_kept_where_nothing_speaks_against_it() -> None:
    late = {"phase": "core", "needs": ["flux"], "needsWhy": "task order"}

    plan = built({"cilium": CILIUM, "coredns": COREDNS, "flux": FLUX, "late": late})

    assert ties(plan, "core/late")["engine/flux"] == Tie.ORDER


def test_the_order_of_tasks_gives_way_for_what_is_left_to_gitops() -> None:
    # A script applies one first, and firstlight.yaml leaves it to GitOps: its needs are names of components by then.
    one = {"side": "hybrid", "bootstrapForm": "kubectl command", "needs": ["other"], "needsWhy": "task order"}

    plan = built(
        {"cilium": CILIUM, "coredns": COREDNS, "flux": FLUX, "one": {**one, "only": "bootstrap"}, "other": {}},
    )
    contrary = built(
        {
            "cilium": CILIUM, "coredns": COREDNS, "flux": FLUX,
            "one": {**one, "only": "bootstrap"}, "other": {"wishes": ["one"]},
        }
    )  # fmt: skip

    assert ties(plan, "gitops/one")["gitops/other"] == Tie.ORDER
    assert circles(contrary) == []


def test_the_order_of_tasks_is_no_error_where_the_first_one_is_missing() -> None:
    late = {"phase": "core", "needs": ["gone"], "needsWhy": "task order"}

    plan = built({"cilium": CILIUM, "coredns": COREDNS, "flux": FLUX, "late": late})

    assert [each.severity for each in plan.problems if each.code == "missing-need"] == [Severity.WARNING]


def test_the_reason_of_a_fact_is_not_what_bootstrap_is_to_bring() -> None:
    components = {
        "cilium": CILIUM, "coredns": COREDNS, "flux": FLUX, "host": {"needs": ["peers"]}, "peers": {"partOf": "host"},
    }  # fmt: skip

    (problem,) = circles(built(components))

    assert problem.fix == "Take away that host needs peers: peers cannot work without host."
