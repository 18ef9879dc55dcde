"""On which branch a change is made, and what is staged for it."""

import dataclasses

import pytest

from firstlight.model.change import Change, Level, Matter, Verb
from firstlight.model.decision import Item, Risk, Ruling, Touched
from firstlight.policy.deciding.branch_names import Branches, branches
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.placeholders import changed_files
from tests.unit.policy.deciding import repos
from tests.unit.policy.deciding.books import change, field, release

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


def item(one: Change, *touched: str) -> Item:
    fields = one.fields or (None,)
    rulings = tuple(Ruling(rule="a", side=None, risk=Risk.LOW, why="", field=each) for each in fields)
    names = tuple(Touched(cluster="home", component=each) for each in touched)
    return Item(change=one, side=None, risk=Risk.LOW, rulings=rulings, touched=names)


@pytest.mark.parametrize(
    ("one", "touched", "expected"),
    [
        (release("whoami", field("spec.replicas", 1, 2)), ["whoami"], "whoami-replicas"),
        (release("whoami", field("spec.targetPort", 1, 2)), ["kustomization/whoami"], "whoami-target-port"),
        (release("whoami"), ["whoami"], "whoami"),
        (release("whoami", verb=Verb.ADDED), ["whoami"], "add-whoami"),
        (release("whoami", verb=Verb.REMOVED), [], "remove-whoami"),
        (change("a.yaml", field("spec.containers.[name=web].image", 1, 2)), ["a", "b"], "a-image"),
        (change("README.md", matter=Matter.DOCUMENTATION), [], "add-readme"),
        (change("main.tf", field("line 3"), matter=Matter.UNKNOWN), [], "main-change"),
        (change("🦘", field("line 3"), matter=Matter.UNKNOWN), [], "change"),
    ],
)
def test_a_new_branch_has_the_name_of_what_changes(one: Change, touched: list[str], expected: str) -> None:
    found = branches([item(one, *touched)], Facts(), followed=["trunk"])

    assert found == Branches(topic=expected, fresh=expected)


@pytest.mark.parametrize("current", ["main", "master", "trunk", "origin/trunk", "", "HEAD~2", "v1.2.3", "--evil;"])
def test_nobody_works_on_a_branch_that_is_followed(current: str) -> None:
    one = item(release("web", field("spec.replicas", 1, 2)), "web")
    found = branches([one], Facts(topic=current), followed=["trunk"])

    assert found == Branches(topic="web-replicas", fresh="web-replicas")


def test_who_is_on_a_branch_of_their_own_stays_there() -> None:
    one = item(release("web", field("spec.replicas", 1, 2)), "web")

    assert branches([one], Facts(topic="more-pods"), followed=["trunk"]) == Branches(topic="more-pods")
    assert branches([one], Facts(topic="more-pods", is_committed=True), followed=[]) == Branches(topic="more-pods")


def test_of_commits_on_no_branch_nothing_is_said() -> None:
    one = item(release("web", field("spec.replicas", 1, 2)), "web")

    assert branches([one], Facts(is_committed=True), followed=[]) == Branches()
    assert branches([one], Facts(is_committed=True, topic="0123abcd"), followed=[]) == Branches()
    assert branches([], Facts(), followed=[]).fresh == "change"


def commands(facts: Facts) -> list[str]:
    found = repos.judged(FILES, {"apps/whoami/all.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 3")}, facts=facts)
    return [each.command for each in found.procedure if each.command.startswith(("git", "firstlight decide"))]


def test_a_change_on_the_followed_branch_gets_one_of_its_own() -> None:
    assert commands(Facts(topic="trunk", since="abc")) == [
        "git switch -c whoami-replicas",
        "git add -- apps/whoami/all.yaml",
        "firstlight decide --staged --check pre",
        "git commit",
        "git push -u origin whoami-replicas",
        "firstlight decide --diff abc --check post",
    ]


def test_a_change_on_a_topic_branch_stays_there() -> None:
    assert commands(Facts(topic="more-pods"))[:4] == [
        "git add -- apps/whoami/all.yaml",
        "firstlight decide --staged --check pre",
        "git commit",
        "git push -u origin more-pods",
    ]


def test_commits_are_neither_staged_nor_committed_again() -> None:
    pushed = "git push -u origin whoami-replicas"
    check = "firstlight decide --staged --check pre"

    assert commands(Facts(topic="trunk", is_committed=True))[:3] == ["git switch -c whoami-replicas", check, pushed]
    assert commands(Facts(is_committed=True))[0] == check
    assert not any("push" in each for each in commands(Facts(is_committed=True)))


def test_only_what_differs_is_staged() -> None:
    """A rendering leads to the file that declares the component, which has not changed."""
    one = release("web", field("spec.replicas", 1, 2), path="apps/web/release.yaml")
    seen = dataclasses.replace(one, place=dataclasses.replace(one.place, path="clusters/a.yaml"), level=Level.RENDERED)
    items = [item(seen, "web"), item(one, "web")]

    assert branches(items, Facts(), followed=[]).fresh == "web-replicas"
    assert changed_files(items) == ["apps/web/release.yaml"]
