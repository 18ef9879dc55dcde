"""Which steps of a plan a run is about."""

import pytest

from firstlight import errors
from firstlight.model.component import Phase
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie
from firstlight.operate import selecting


def step(id: str, action: Action, *needs: str, component: str = "", phase: Phase = Phase.CORE) -> Step:
    return Step(
        id=id, phase=phase, action=action, name=id, component=component,
        needs=tuple(StepNeed(each, "needs", Tie.FACT) for each in needs),
    )  # fmt: skip


PLAN = Plan(
    cluster="home",
    steps=(
        step("machine:etcd", Action.BOOTSTRAP_ETCD, phase=Phase.MACHINE),
        step("machine:kubeconfig", Action.FETCH_KUBECONFIG, "machine:etcd", phase=Phase.MACHINE),
        step("core:namespaces", Action.CREATE_NAMESPACES, "machine:kubeconfig"),
        step("core:secret/a/b", Action.CREATE_SECRET, "core:namespaces"),
        step("core/cilium", Action.INSTALL_CHART, "core:namespaces", component="cilium"),
        step("core/web", Action.APPLY_OBJECTS, "core/cilium", component="web"),
        step("gitops/web", Action.WATCH, "core/web", component="web", phase=Phase.GITOPS),
    ),
)


def needs(plan: Plan) -> dict[str, set[str]]:
    return {each.id: {one.step for one in each.needs} for each in plan.steps}


def test_a_component_alone_needs_the_api_and_its_own_steps() -> None:
    chosen = selecting.only(PLAN, ("web",))

    assert needs(chosen) == {
        "machine:kubeconfig": set(),
        "core/web": {"machine:kubeconfig"},
        "gitops/web": {"core/web", "machine:kubeconfig"},
    }
    assert [each.id for each in chosen.order()] == ["machine:kubeconfig", "core/web", "gitops/web"]


def test_secrets_come_with_their_namespaces() -> None:
    assert needs(selecting.only(PLAN, ("secrets",))) == {
        "machine:kubeconfig": set(),
        "core:namespaces": {"machine:kubeconfig"},
        "core:secret/a/b": {"core:namespaces", "machine:kubeconfig"},
    }


def test_nothing_named_is_everything() -> None:
    assert selecting.only(PLAN, ()) is PLAN


def test_a_component_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(errors.UsageError, match="there is no component webb in home") as caught:
        selecting.only(PLAN, ("webb",))
    assert "cilium, secrets, web" in caught.value.hint


def test_a_phase_is_the_last_one() -> None:
    assert [each.id for each in selecting.until(PLAN, Phase.MACHINE).steps] == ["machine:etcd", "machine:kubeconfig"]
    assert selecting.until(PLAN, None) is PLAN
