"""Which steps of a plan a run is about."""

import dataclasses

import pytest

from firstlight import errors
from firstlight.model.component import Phase
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie
from firstlight.plan import selection


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
    chosen = selection.only(PLAN, ("web",))

    assert needs(chosen) == {
        "machine:kubeconfig": set(),
        "core/web": {"machine:kubeconfig"},
        "gitops/web": {"core/web", "machine:kubeconfig"},
    }
    assert [each.id for each in chosen.order()] == ["machine:kubeconfig", "core/web", "gitops/web"]


def test_secrets_come_with_their_namespaces() -> None:
    assert needs(selection.only(PLAN, ("secrets",))) == {
        "machine:kubeconfig": set(),
        "core:namespaces": {"machine:kubeconfig"},
        "core:secret/a/b": {"core:namespaces", "machine:kubeconfig"},
    }


def test_nothing_named_is_everything() -> None:
    assert selection.only(PLAN, ()) is PLAN


def test_a_component_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(errors.UsageError, match="there is no component webb in home") as caught:
        selection.only(PLAN, ("webb",))
    assert "cilium, secrets, web" in caught.value.hint


def test_a_phase_is_the_last_one() -> None:
    assert [each.id for each in selection.until(PLAN, Phase.MACHINE).steps] == ["machine:etcd", "machine:kubeconfig"]
    assert selection.until(PLAN, None) is PLAN


HANDOVER = Plan(
    cluster="home",
    steps=(
        *PLAN.steps,
        step("handover:baseline", Action.SAVE_BASELINE, "core/web", phase=Phase.HANDOVER),
        dataclasses.replace(
            step("handover:owners", Action.MIGRATE_OWNERS, "handover:baseline", phase=Phase.HANDOVER),
            targets=("cilium", "web"),
        ),
        step("handover:root", Action.CREATE_ROOT, "handover:owners", phase=Phase.HANDOVER),
        step("handover/cilium", Action.WATCH_ADOPTION, "handover:root", component="cilium", phase=Phase.HANDOVER),
        step("handover/web", Action.WATCH_ADOPTION, "handover:root", component="web", phase=Phase.HANDOVER),
        dataclasses.replace(
            step("handover:release", Action.RELEASE, "handover/cilium", phase=Phase.HANDOVER), targets=("cilium",)
        ),
        step("handover:certificate", Action.CERTIFY, "handover:release", "handover/web", phase=Phase.HANDOVER),
    ),
)


def test_the_handover_alone_takes_what_bootstrap_installs_to_be_there() -> None:
    assert needs(selection.handover(HANDOVER)) == {
        "machine:kubeconfig": set(),
        "handover:baseline": {"machine:kubeconfig"},
        "handover:owners": {"handover:baseline", "machine:kubeconfig"},
        "handover:root": {"handover:owners", "machine:kubeconfig"},
        "handover/cilium": {"handover:root", "machine:kubeconfig"},
        "handover/web": {"handover:root", "machine:kubeconfig"},
        "handover:release": {"handover/cilium", "machine:kubeconfig"},
        "handover:certificate": {"handover:release", "handover/web", "machine:kubeconfig"},
    }


def test_the_handover_of_a_component_is_about_no_other_one() -> None:
    chosen = selection.handover(HANDOVER, ("web",))

    assert chosen.by_id.keys() == {
        "machine:kubeconfig", "handover:baseline", "handover:owners", "handover:root", "handover/web",
        "handover:certificate",
    }  # fmt: skip
    assert chosen.by_id["handover:owners"].targets == ("web",)
    assert selection.handover(HANDOVER, ("cilium",)).by_id["handover:release"].targets == ("cilium",)


def test_a_component_that_the_engine_does_not_take_over_is_said_with_those_that_it_does() -> None:
    with pytest.raises(errors.UsageError, match="takes over no component coredns in home") as caught:
        selection.handover(HANDOVER, ("coredns",))
    assert caught.value.hint == "There is cilium, web."


def test_without_an_engine_there_is_nobody_to_hand_over_to() -> None:
    with pytest.raises(errors.Refused, match="home has no engine"):
        selection.handover(PLAN)


def test_what_was_chosen_stands_in_the_whole_plan_as_it_was_chosen() -> None:
    chosen = selection.handover(HANDOVER, ("web",))

    whole = selection.within(HANDOVER, chosen)

    assert [each.id for each in whole.steps] == [each.id for each in HANDOVER.steps]
    assert whole.by_id["handover:owners"].targets == ("web",)
    assert whole.by_id["core/web"] is HANDOVER.by_id["core/web"]
