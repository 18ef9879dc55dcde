"""On which branch a change is made, and what is staged for it."""

import dataclasses

import pytest

from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.git_names import Branches, branches
from firstlight.commands.decide.placeholders import changed_files
from firstlight.model.change import Change, ChangeVerb, Level, Matter
from firstlight.model.component import ObjectId
from firstlight.model.decision import DecisionItem, Risk, Ruling, Touched
from tests.unit.commands.decide import repos
from tests.unit.commands.decide.books import change, field, release

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: whoami, namespace: whoami}
spec: {replicas: 2, template: {spec: {containers: [{name: web, image: example.org/whoami:1.0.0}]}}}
"""
FILES = {
    repos.FLUX: repos.SYNC,
    "clusters/home/apps.yaml": repos.kustomization("whoami", "apps/whoami"),
    "apps/whoami/all.yaml": DEPLOYMENT,
}


def item(one: Change, *touched: str) -> DecisionItem:
    fields = one.fields or (None,)
    rulings = tuple(Ruling(rule="a", side=None, risk=Risk.LOW, why="", field=each) for each in fields)
    names = tuple(Touched(cluster="home", component=each) for each in touched)
    return DecisionItem(change=one, side=None, risk=Risk.LOW, rulings=rulings, touched=names)


def part(name: str, verb: ChangeVerb = ChangeVerb.ADDED) -> Change:
    """A part of a component that comes or goes."""
    found = ObjectId("networking.k8s.io", "NetworkPolicy", "whoami", name)
    return change("apps/whoami/policy.yaml", object=found, kind="NetworkPolicy", verb=verb)


@pytest.mark.parametrize(
    ("one", "touched", "expected"),
    [
        (release("whoami", field("spec.replicas", 1, 2)), ["whoami"], "whoami-replicas"),
        (release("whoami", field("spec.targetPort", 1, 2)), ["kustomization/whoami"], "whoami-target-port"),
        (release("whoami"), ["whoami"], "whoami"),
        (release("whoami", verb=ChangeVerb.ADDED), ["whoami"], "add-whoami"),
        (release("whoami", verb=ChangeVerb.REMOVED), [], "remove-whoami"),
        (part("whoami"), ["whoami"], "add-whoami-network-policy"),
        (
            change("h.yaml", field("releases.[name=dns].name", "dns", verb=ChangeVerb.REMOVED)),
            ["dns", "b"],
            "remove-dns",
        ),
        (change("t.yaml", field("nodes.[hostname=w-1].hostname", None, 1, verb=ChangeVerb.ADDED)), [], "add-w-1"),
        (part("allow-network-policy", ChangeVerb.REMOVED), ["whoami"], "remove-allow-network-policy"),
        (
            change("firstlight.yaml", field("clusters.home.kubernetes", 1, 2), matter=Matter.PLATFORM),
            [],
            "home-kubernetes",
        ),
        (
            change("firstlight.yaml", field("secrets.[name=sops-age].data.key", 1, 2), matter=Matter.PLATFORM),
            [],
            "sops-age-key",
        ),
        (change("a.yaml", field("spec.containers.[name=web].image", 1, 2)), ["a", "b"], "a-image"),
        (change("README.md", matter=Matter.DOCUMENTATION), [], "add-readme"),
        (change("main.tf", field("line 3"), matter=Matter.UNKNOWN), [], "main-change"),
        (change("🦘", field("line 3"), matter=Matter.UNKNOWN), [], "change"),
    ],
)
def test_a_new_branch_has_the_name_of_what_changes(one: Change, touched: list[str], expected: str) -> None:
    found = branches([item(one, *touched)], DecisionFacts(), followed=["trunk"])

    assert found == Branches(topic=expected, fresh=expected, undo=f"revert-{expected}")


def test_what_a_component_is_made_of_is_not_what_comes() -> None:
    """Nor is the line in a kustomization by which it does."""
    listed = item(change("apps/kustomization.yaml", field("resources.[1]"), matter=Matter.KUSTOMIZE), "flux-system")
    parts = [listed, item(part("whoami"), "whoami"), item(part("other"), "whoami")]

    assert branches(parts, DecisionFacts(), followed=[]).fresh == "add-whoami"
    assert branches(parts[:1], DecisionFacts(), followed=[]).fresh == "flux-system-resources"


@pytest.mark.parametrize("current", ["main", "master", "trunk", "origin/trunk", "", "HEAD~2", "v1.2.3", "--evil;"])
def test_nobody_works_on_a_branch_that_is_followed(current: str) -> None:
    one = item(release("web", field("spec.replicas", 1, 2)), "web")
    found = branches([one], DecisionFacts(topic=current), followed=["trunk"])

    assert found == Branches(topic="web-replicas", fresh="web-replicas", undo="revert-web-replicas")


def test_who_is_on_a_branch_of_their_own_stays_there() -> None:
    one = item(release("web", field("spec.replicas", 1, 2)), "web")

    mine = Branches(topic="more-pods", undo="revert-more-pods")
    assert branches([one], DecisionFacts(topic="more-pods"), followed=["trunk"]) == mine
    assert branches([one], DecisionFacts(topic="more-pods", is_committed=True), followed=[]) == mine


def test_of_commits_on_no_branch_nothing_is_said() -> None:
    one = item(release("web", field("spec.replicas", 1, 2)), "web")

    nowhere = Branches(undo="revert-web-replicas")
    assert branches([one], DecisionFacts(is_committed=True), followed=[]) == nowhere
    assert branches([one], DecisionFacts(is_committed=True, topic="0123abcd"), followed=[]) == nowhere
    assert branches([], DecisionFacts(), followed=[]).fresh == "change"


def commands(facts: DecisionFacts) -> list[str]:
    found = repos.judged(FILES, {"apps/whoami/all.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 3")}, facts=facts)
    return [each.command for each in found.procedure if each.command.startswith(("git", "firstlight decide"))]


def test_a_change_on_the_followed_branch_gets_one_of_its_own() -> None:
    assert commands(DecisionFacts(topic="trunk", since="abc")) == [
        "git switch -c whoami-replicas",
        "git add -- apps/whoami/all.yaml",
        "git commit",
        "firstlight decide --diff trunk...whoami-replicas --cluster home --check pre",
        "git push -u origin whoami-replicas",
        "firstlight decide --diff abc..whoami-replicas --cluster home --check post",
    ]


def test_a_change_on_a_topic_branch_stays_there() -> None:
    assert commands(DecisionFacts(topic="more-pods"))[:4] == [
        "git add -- apps/whoami/all.yaml",
        "git commit",
        "firstlight decide --diff trunk...more-pods --cluster home --check pre",
        "git push -u origin more-pods",
    ]


def test_what_is_staged_is_not_added_again() -> None:
    assert commands(DecisionFacts(topic="more-pods", is_staged=True))[0] == "git commit"


def test_a_patch_is_applied() -> None:
    assert commands(DecisionFacts(topic="more-pods", asked=("--patch", "-a b.patch")))[:2] == [
        "git apply --index './-a b.patch'",
        "git commit",
    ]


def test_commits_are_neither_staged_nor_committed_again() -> None:
    pushed = "git push -u origin whoami-replicas"
    check = "firstlight decide --diff a..b --cluster home --check pre"
    known = DecisionFacts(topic="trunk", is_committed=True, asked=("--diff", "a..b"))

    assert commands(known)[:3] == ["git switch -c whoami-replicas", check, pushed]
    nowhere = dataclasses.replace(known, topic="")
    assert commands(nowhere)[0] == check
    assert not any("push" in each for each in commands(nowhere))


def test_what_is_merged_is_neither_committed_nor_pushed_again() -> None:
    known = DecisionFacts(topic="trunk", is_committed=True, asked=("--diff", "a..b"), branches=frozenset({"trunk"}))

    for held in ({"trunk"}, {"trunk", "origin/trunk"}):
        merged = dataclasses.replace(known, branches=frozenset(held), holding=frozenset(held))
        assert commands(merged) == ["firstlight decide --diff a..b --cluster home --check post"]
    unpushed = dataclasses.replace(known, branches=known.branches | {"origin/trunk"}, holding=known.branches)
    assert "git push -u origin whoami-replicas" in commands(unpushed)


def test_a_branch_that_is_there_is_not_made_again() -> None:
    known = DecisionFacts(topic="trunk", branches=frozenset({"trunk", "whoami-replicas", "origin/whoami-replicas-2"}))

    assert commands(known)[0] == "git switch -c whoami-replicas-3"


def test_only_what_differs_is_staged() -> None:
    """A rendering leads to the file that declares the component, which has not changed."""
    one = release("web", field("spec.replicas", 1, 2), path="apps/web/release.yaml")
    seen = dataclasses.replace(one, place=dataclasses.replace(one.place, path="clusters/a.yaml"), level=Level.RENDERED)
    items = [item(seen, "web"), item(one, "web")]

    assert branches(items, DecisionFacts(), followed=[]).fresh == "web-replicas"
    assert changed_files(items) == ["apps/web/release.yaml"]
