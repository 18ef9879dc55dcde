"""Decisions: which rule counts, which side, how much risk, and what is doubtful."""

import dataclasses
from typing import Any

import pytest

from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.judgement import NO_RULE, decide
from firstlight.model.change import Change, ChangeVerb, Level, Matter
from firstlight.model.component import ObjectId, Owner, Phase, Side
from firstlight.model.decision import Approval, Decision, Risk
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from tests.unit.commands.decide import books
from tests.unit.commands.decide.books import change, component, field, kustomization, platform, release

VERSION = field("spec.chart.spec.version", "1.2.3", "1.3.0")
CORE = {"phase": Phase.CORE, "owner": Owner.GITOPS}


def judged(*changes: Change, on: Platform | None = None, rules: str = "", **more: Any) -> Decision:
    book = books.book(rules) if rules else books.book()
    return decide(changes, platform=on or platform(component("web")), book=book, **more)


def rules_of(decision: Decision) -> list[str]:
    return [ruling.rule for item in decision.items for ruling in item.rulings]


def test_the_first_rule_that_fits_counts_for_each_field() -> None:
    found = judged(release("web", VERSION, field("spec.interval", "1m", "5m")))

    assert rules_of(found) == ["chart", "rest"]
    assert (found.side, found.risk, found.approval) == (Side.GITOPS, Risk.MEDIUM, Approval.PEER)


def test_a_teams_rule_comes_before_ours() -> None:
    own = "rules: [{id: mine, title: Mine, side: owner, risk: critical, why: we say so, when: [{paths: [spec.**]}]}]"

    assert rules_of(judged(release("web", VERSION), rules=own)) == ["mine"]


@pytest.mark.parametrize(
    ("facts", "side"),
    [
        ({"phase": Phase.GITOPS, "owner": Owner.GITOPS}, Side.GITOPS),
        ({"phase": Phase.CORE, "owner": Owner.GITOPS}, Side.HYBRID),
        ({"phase": Phase.INLINE, "owner": Owner.GITOPS}, Side.HYBRID),
        ({"phase": Phase.ENGINE, "owner": Owner.GITOPS}, Side.HYBRID),
        ({"phase": Phase.CORE, "owner": Owner.BOOTSTRAP}, Side.BOOTSTRAP),
        ({"phase": Phase.GITOPS, "owner": Owner.BOOTSTRAP}, Side.BOOTSTRAP),
    ],
)
def test_the_owner_in_the_end_decides_the_side(facts: dict[str, Any], side: Side) -> None:
    assert judged(release("web", VERSION), on=platform(component("web", **facts))).side is side


def test_a_file_of_two_clusters_gets_the_sides_of_both() -> None:
    both = platform(
        component("web"),
        component("web", cluster="away", phase=Phase.CORE, owner=Owner.BOOTSTRAP),
        names=("home", "away"),
    )
    found = judged(release("web", VERSION), on=both)

    assert found.side is Side.HYBRID
    assert {each.side for each in found.items[0].rulings} == {Side.BOOTSTRAP, Side.GITOPS}
    assert found.items[0].clusters == ("home", "away")
    assert [(each.cluster, each.component) for each in found.items[0].touched] == [("home", "web"), ("away", "web")]


def test_the_whole_is_as_grave_as_its_gravest_part_and_that_stands_first() -> None:
    docs = change("README.md", matter=Matter.DOCUMENTATION)
    network = change("talos/patch.yaml", field("machine.network.x", 1, 2), matter=Matter.MACHINE, kind="v1alpha1")
    found = judged(docs, release("web", VERSION), network)

    assert [each.risk for each in found.items] == [Risk.HIGH, Risk.MEDIUM, Risk.LOW]
    assert (found.side, found.risk, found.approval) == (Side.HYBRID, Risk.HIGH, Approval.LEAD)
    assert found.items[0].rulings[0].criteria == ("network-foundation",)


def test_what_no_cluster_sees_has_no_side_and_no_tree() -> None:
    found = judged(change("README.md", matter=Matter.DOCUMENTATION))

    assert found.side is None
    assert found.items[0].rulings[0].trees == ()
    assert found.checks == ()
    assert found.doubts == ()


def test_nothing_at_all() -> None:
    found = judged()

    assert (found.side, found.risk, found.items, found.checks) == (None, Risk.LOW, (), ())


def test_machine_configuration_is_never_gitops_whatever_a_rule_says() -> None:
    found = judged(change("talos/patch.yaml", field("machine.wrong", 1, 2), matter=Matter.MACHINE, kind="v1alpha1"))

    assert found.side is Side.BOOTSTRAP
    (doubt,) = found.doubts
    assert "wrong-side" in doubt
    assert "no engine reaches machine configuration" in doubt


@pytest.mark.parametrize("word", ["none", "gitops"])
def test_not_even_if_it_is_the_teams_own(word: str) -> None:
    own = f"rules: [{{id: mine, title: M, side: {word}, risk: low, why: x, when: [{{}}]}}]"
    machine = change("talos/patch.yaml", field("machine.a", 1, 2), matter=Matter.MACHINE)

    assert judged(machine, rules=own).side is Side.BOOTSTRAP


def test_an_object_in_a_file_of_machines_is_not_gitops_either() -> None:
    own = "rules: [{id: mine, title: M, side: gitops, risk: low, why: x, when: [{}]}]"

    assert judged(change("talos/patch.yaml", field("spec.a", 1, 2)), rules=own).side is Side.BOOTSTRAP


def test_an_inline_component_is_only_meant_where_it_stands() -> None:
    both = platform(books.inline("cilium", 0), books.inline("argocd", 1))

    def touched(*steps: str) -> list[str]:
        fields = (dataclasses.replace(field("a", 1, 2), steps=steps),)
        found = judged(change("talos/patch.yaml", *fields, matter=Matter.MACHINE, kind="v1alpha1"), on=both)
        return [each.component for each in found.items[0].touched] + [str(found.side)]

    assert touched("cluster", "inlineManifests", "[name=cilium]", "contents") == ["cilium", "hybrid"]
    assert touched("cluster", "inlineManifests", "[1]", "contents") == ["argocd", "hybrid"]
    assert touched("machine", "network", "hostname") == ["bootstrap"]


def test_the_trees_are_walked_and_overruled_where_they_differ() -> None:
    label = field("machine.nodeLabels.zone", None, "a", verb=ChangeVerb.ADDED)
    ruling = judged(change("talos/patch.yaml", label, matter=Matter.MACHINE)).items[0].rulings[0]

    assert ruling.rule == "node-label"
    assert {each.tree: (each.side, each.is_overruled) for each in ruling.trees} == {
        "architecture": (Side.GITOPS, True),
        "framework": (Side.GITOPS, True),
    }


def test_facts_answer_what_rules_leave_open() -> None:
    machine = change("talos/patch.yaml", field("machine.network.a", 1, 2), matter=Matter.MACHINE)
    found = {each.tree: each for each in judged(machine).items[0].rulings[0].trees}

    assert [(each.question, each.answer) for each in found["framework"].steps] == [
        ("operational", True),
        ("foundation", True),
        ("os-access", True),
    ]
    assert not any(each.is_overruled for each in found.values())


def test_a_component_of_bootstrap_is_of_the_foundation() -> None:
    found = judged(release("web", VERSION), on=platform(component("web", **CORE)))
    framework = found.items[0].rulings[0].trees[1]

    assert [each.question for each in framework.steps] == ["operational", "foundation", "os-access", "kubernetes-api"]


def test_a_cluster_that_does_not_work_is_recovered_first() -> None:
    found = judged(release("web", VERSION), facts=DecisionFacts(operational=False, says="the API does not answer"))

    assert found.items[0].rulings[0].trees[1].side is Side.BOOTSTRAP
    assert found.doubts[0].startswith("the cluster does not work (the API does not answer): recover it by bootstrap")
    assert found.procedure[0].command == "firstlight up home --check"
    assert "the engine does not work" in judged(facts=DecisionFacts(engine_works=False)).doubts[0]


def test_factors_raise_the_risk_to_at_least_their_own() -> None:
    ruling = judged(release("web", field("spec.privileged", False, True))).items[0].rulings[0]

    assert (ruling.rule, ruling.risk) == ("rest", Risk.CRITICAL)
    assert [each.id for each in ruling.factors] == ["privileged"]


def test_what_comes_is_seen_whole_by_rules_and_leaf_by_leaf_by_factors() -> None:
    leaves = (field("spec.chart.spec.version", None, "2.0.0"), field("spec.privileged", None, True))
    found = judged(release("web", *leaves, verb=ChangeVerb.ADDED))

    assert rules_of(found) == ["rest"]
    assert found.items[0].rulings[0].field is None
    assert found.risk is Risk.CRITICAL


def test_a_crd_that_goes() -> None:
    crd = ObjectId("apiextensions.k8s.io", "CustomResourceDefinition", "", "a.example.org")
    found = judged(change("apps/web/crd.yaml", object=crd, kind=crd.kind, verb=ChangeVerb.REMOVED))

    assert (rules_of(found), found.risk) == (["goes"], Risk.HIGH)


def test_a_change_without_fields_is_still_answered() -> None:
    found = judged(change("apps/web/a.yaml", verb=ChangeVerb.CHANGED, doubt="it is broken"))

    assert rules_of(found) == ["rest"]
    assert found.doubts == ("apps/web/a.yaml:1: it is broken",)


def test_where_no_rule_fits_the_owner_decides_and_it_is_said() -> None:
    found = judged(change("apps/web/thing.bin", matter=Matter.UNKNOWN))

    assert rules_of(found) == [NO_RULE]
    assert (found.side, found.risk) == (Side.GITOPS, Risk.MEDIUM)
    assert "no rule fits" in found.doubts[0]


@pytest.mark.parametrize(
    ("matter", "side"),
    [
        (Matter.OBJECT, Side.GITOPS),
        (Matter.VALUES, Side.GITOPS),
        (Matter.KUSTOMIZE, Side.GITOPS),
        (Matter.SCRIPT, Side.BOOTSTRAP),
        (Matter.RELEASE, Side.BOOTSTRAP),
        (Matter.MACHINE, Side.BOOTSTRAP),
    ],
)
def test_what_no_cluster_leads_to_is_decided_by_what_it_is_and_doubted(matter: Matter, side: Side) -> None:
    found = judged(change("examples/lost.yaml", matter=matter))

    assert found.side is side
    assert any("no cluster's" in each for each in found.doubts)


def test_but_a_teams_own_rule_may_know_better() -> None:
    own = "rules: [{id: mine, title: M, side: none, risk: low, why: x, when: [{files: ['examples/**']}]}]"
    team = dataclasses.replace(books.book(own), own=frozenset({"mine"}))
    ours = dataclasses.replace(team, own=frozenset())
    lost = change("examples/lost.yaml")

    assert decide([lost], platform=platform(), book=team).side is None
    assert decide([lost], platform=platform(), book=ours).side is Side.GITOPS


def test_what_is_gone_belongs_to_what_it_belonged_to() -> None:
    gone = release("web", verb=ChangeVerb.REMOVED)
    found = judged(gone, on=platform(), before=platform(component("web", **CORE)))

    assert found.side is Side.HYBRID
    assert [each.component for each in found.items[0].touched] == ["web"]


def test_dependents_are_named_nearest_first_and_through_parents() -> None:
    on = platform(
        component("db", parent="kustomization/db"),
        kustomization("db", "apps/db"),
        component("api", needs=("kustomization/db",), parent="kustomization/api"),
        kustomization("api", "apps/api"),
        component("web", needs=("kustomization/api",)),
        component("part", part_of="db"),
        component("other"),
    )
    found = judged(release("db", VERSION), on=on)

    assert found.items[0].touched[0].dependents == ("api", "part", "web")
    assert found.affected == ("home/api", "home/part", "home/web")


def test_a_change_of_the_engine_affects_all_that_it_brings() -> None:
    on = platform(
        component("flux", role="engine", phase=Phase.ENGINE),
        component("cilium", phase=Phase.CORE),
        component("web"),
        component("far", cluster="other"),
    )

    assert judged(release("flux", VERSION), on=on).affected == ("home/web",)
    assert judged(release("cilium", VERSION), on=on).affected == ()


def test_a_circle_of_needs_ends() -> None:
    on = platform(component("a", needs=("b",), parent="b"), component("b", needs=("a",), parent="a"))

    assert judged(release("a", VERSION), on=on).items[0].touched[0].dependents == ()


def test_an_object_that_another_kustomization_applies_may_be_pruned() -> None:
    on = platform(kustomization("one", "apps/one"), kustomization("two", "apps/two"))
    moved = ObjectId("", "ConfigMap", "web", "settings")
    where: dict[str, Any] = {"object": moved, "kind": "ConfigMap", "old_path": "apps/one/a.yaml"}

    whole = judged(change("apps/two/a.yaml", verb=ChangeVerb.MOVED, **where), on=on, before=on)
    edited = judged(change("apps/two/a.yaml", field("data.a", 1, 2), **where), on=on, before=on)
    within = judged(change("apps/one/b.yaml", verb=ChangeVerb.MOVED, **where), on=on, before=on)

    for found in (whole, edited):
        assert [each.id for each in found.items[0].rulings[0].factors] == ["moves-component"]
        assert found.risk is Risk.HIGH
    assert within.items[0].rulings[0].factors == ()


def test_an_object_that_one_more_kustomization_applies_does_not_move() -> None:
    both = platform(kustomization("one", "apps/one"), kustomization("two", "apps/one"))
    shared = change("apps/one/b.yaml", verb=ChangeVerb.MOVED, old_path="apps/one/a.yaml", kind="ConfigMap")
    found = judged(shared, on=both, before=platform(kustomization("one", "apps/one")))

    assert found.items[0].rulings[0].factors == ()


def test_what_the_engine_needs_must_not_go() -> None:
    on = platform(
        component("flux", role="engine", phase=Phase.ENGINE, needs=("cni",)),
        component("cni", phase=Phase.CORE, needs=("kernel",)),
        component("kernel", phase=Phase.CORE),
        component("web", needs=("cni",)),
    )
    found = judged(release("kernel", verb=ChangeVerb.REMOVED), on=platform(), before=on)
    other = judged(release("web", verb=ChangeVerb.REMOVED), on=platform(), before=on)

    assert [each.id for each in found.items[0].rulings[0].factors] == ["engine-needs", "needed-by-others"]
    assert found.risk is Risk.CRITICAL
    assert other.items[0].rulings[0].factors == ()


def test_many_dependents_make_a_new_version_medium() -> None:
    on = platform(component("db"), *(component(f"c{number}", needs=("db",)) for number in range(10)))
    image = judged(release("db", field("spec.image", "a:1.0.0", "a:1.0.1")), on=on)
    replicas = judged(release("db", field("spec.replicas", 1, 2)), on=on)

    assert [each.id for each in image.items[0].rulings[0].factors] == ["many-dependents"]
    assert image.risk is Risk.MEDIUM
    assert replicas.risk is Risk.LOW


def test_what_was_rendered_belongs_to_its_component() -> None:
    rendered = change("", field("spec.replicas", 1, 2), level=Level.RENDERED, cluster="home", component="web")

    assert [each.component for each in judged(rendered).items[0].touched] == ["web"]


def test_what_declares_a_component_is_not_of_the_root_that_applies_it() -> None:
    on = platform(component("web"), component("flux-system", role="engine"))
    rendered = release("web", verb=ChangeVerb.REMOVED, level=Level.RENDERED, cluster="home", component="flux-system")
    gone = judged(rendered, on=platform(component("flux-system", role="engine")), before=on)

    assert [each.component for each in gone.items[0].touched] == ["web"]


def test_checks_are_the_usual_ones_of_the_side_and_those_that_rules_name() -> None:
    gitops = judged(release("web", VERSION))
    bootstrap = judged(change("talos/patch.yaml", field("machine.network.a", 1, 2), matter=Matter.MACHINE))

    assert [(each.id, each.moment) for each in gitops.checks] == [("syntax", "pre"), ("extra", "post")]
    assert [each.id for each in bootstrap.checks] == ["syntax", "etcd"]


def test_a_place_without_a_file_is_no_trouble() -> None:
    odd = Change(matter=Matter.UNKNOWN, verb=ChangeVerb.MOVED, place=Place(""), title="")

    assert judged(odd).items[0].rulings
