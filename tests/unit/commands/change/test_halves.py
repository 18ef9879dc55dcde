"""What bootstrap has to do of a change, and which half comes first: tests/scenarios/change-halves."""

from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from firstlight import errors
from firstlight.commands.change import change as change_room
from firstlight.commands.change import path_choice
from firstlight.commands.change.bootstrap import bootstrap_path
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.decide import rule_files
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import World
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.decision import Decision, DecisionItem, Risk, Ruling, Touched
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.source import DirectorySource

FILES = sorted((Path(__file__).parents[3] / "scenarios" / "change-halves").glob("*.yaml"))
READ = [yaml.safe_load(each.read_text()) for each in FILES]
CASES = [(each["components"], case) for each in READ for case in each["cases"]]
PLACE = Place("a.yaml", 1)


def platform(declared: dict[str, Any]) -> Platform:
    def component(name: str, given: dict[str, Any]) -> Component:
        owner = Owner(given["owner"])
        sides = [Side.BOOTSTRAP] if owner is Owner.BOOTSTRAP else [Side.GITOPS]
        sides += [Side.BOOTSTRAP] if given.get("began") else []
        origins = tuple(
            Origin(form=SourceForm.KUSTOMIZATION, side=each, place=PLACE, name=name, source=DirectorySource(path=name))
            for each in sides
        )
        side = Side.HYBRID if len(sides) > 1 else sides[0]
        return Component(
            name=name, cluster="home", phase=Phase.CORE, side=side, owner=owner, why="", origins=origins
        )  # fmt: skip

    found = tuple(component(name, given) for name, given in declared.items())
    return Platform(name="a", root=Path("/"), engine=None, clusters=(), components=found)


def item(given: dict[str, Any]) -> DecisionItem:
    fields = tuple(
        ChangedField(
            steps=("a",), verb=ChangeVerb.REMOVED if each.get("gone") else ChangeVerb.CHANGED, place=PLACE,
            before=each.get("before"), after=each.get("after"),
        )
        for each in given.get("fields", ())
    )  # fmt: skip
    change = Change(
        matter=Matter(given.get("matter", "object")), verb=ChangeVerb(given.get("verb", "changed")), place=PLACE,
        title=given["title"], fields=fields,
    )  # fmt: skip
    side = Side(given["side"])
    ruling = Ruling(rule="a", side=side, risk=Risk.LOW, why="", procedure=given.get("procedure", ""))
    touched = tuple(
        Touched(cluster="home", component=each, dependents=tuple(given.get("dependents", ())))
        for each in given.get("of", ())
    )
    return DecisionItem(change=change, side=side, risk=Risk.LOW, rulings=(ruling,), touched=touched, clusters=("home",))


@pytest.mark.parametrize(("declared", "case"), CASES, ids=[each["name"] for _, each in CASES])
def test_halves(declared: dict[str, Any], case: dict[str, Any]) -> None:
    decision = Decision(side=Side.HYBRID, risk=Risk.LOW, items=tuple(map(item, case["items"])))
    expect = case["expect"]

    scope = bootstrap_path.bootstrap_scope(decision, "home", platform(declared))

    assert scope.has_machines is expect.get("machines", False)
    assert scope.has_secrets is expect.get("secrets", False)
    assert scope.is_empty is expect.get("empty", False)
    for word in ("components", "followed", "gone"):
        if word in expect:
            assert list(getattr(scope, word)) == expect[word]
    assert expect.get("elsewhere", "") in " ".join(bootstrap_path.not_walked(decision.items))
    if "refused" in expect:
        with pytest.raises(errors.Refused) as caught:
            path_choice.hybrid_order(decision, scope)
        assert expect["refused"] in caught.value.hint
        return
    order = path_choice.hybrid_order(decision, scope)
    assert (order.first, expect.get("why", "") in order.why) == (Side(expect["first"]), True), order


def test_what_reaches_another_cluster_alone_is_not_of_this_one() -> None:
    one = item({"side": "bootstrap", "matter": "machine", "title": "machine config"})
    decision = Decision(side=Side.BOOTSTRAP, risk=Risk.LOW, items=(one,))

    assert bootstrap_path.bootstrap_scope(decision, "apps", platform({})).is_empty


class Taken:
    """A change that is taken back, and was never merged."""

    def __init__(self, decision: Decision, known: Platform) -> None:
        self.decided = self
        self.decision = decision
        self.before = self.after = known
        self.record = self
        self.reverted = self.merged = ""
        self.is_reverting = True
        self.held: tuple[str, ...] = ()
        self.patience = 1.0
        self.keeper = self
        self.means = self
        self.state = Path("/nowhere")
        self.begun = 0.0


def test_of_what_was_never_merged_only_bootstrap_s_half_is_taken_back() -> None:
    secret = item({"side": "bootstrap", "matter": "platform", "title": "a", "procedure": "foundation-secrets"})
    decision = Decision(side=Side.HYBRID, risk=Risk.LOW, items=(secret, item({"side": "gitops", "title": "b"})))
    carrying = cast(OngoingChange, Taken(decision, platform({})))

    found = path_choice.stages(carrying, Cluster(name="home", place=PLACE), cast(World, None))

    assert [each.id for each in found] == [
        "home:order", "home:backup", "home:component:secrets", "home:verify", "home:checks-again",
    ]  # fmt: skip


def test_what_change_does_not_do_is_not_offered_to_it() -> None:
    """What decide prints, and what change refuses, are the same list."""
    ours = {each.id for each in rule_files.book().procedures.values() if not each.carried}
    of_no_rule = {each for each in ours if each.startswith("emergency-")} | {"node-maintenance", "cluster-gone"}

    assert ours - of_no_rule == set(bootstrap_path.ELSEWHERE)


def test_a_cluster_whose_turn_has_not_come_gets_bootstrap_s_half_with_git_s() -> None:
    secret = item({"side": "bootstrap", "matter": "platform", "title": "a", "procedure": "foundation-secrets"})
    decision = Decision(side=Side.HYBRID, risk=Risk.LOW, items=(secret, item({"side": "gitops", "title": "b"})))
    taken = Taken(decision, platform({}))
    taken.is_reverting = False
    carrying, home = cast(OngoingChange, taken), Cluster(name="home", place=PLACE)

    def halves() -> list[list[str]]:
        made = (each(carrying, home, cast(World, None)) for each in (path_choice.early, path_choice.stages))
        return [[each.id.removeprefix("home:") for each in stages] for stages in made]

    brought = ["backup", "component:secrets", "verify"]
    assert halves() == [["order", "fit", "approval", *brought], ["checks"]]
    taken.held = ("home",)
    assert halves() == [["order", "fit"], [*brought, "checks"]]


def test_what_rests_is_let_go_when_bootstrap_s_half_is_there_and_the_commit_is_fetched() -> None:
    taken = Taken(Decision(side=Side.HYBRID, risk=Risk.LOW, items=()), platform({}))
    taken.held, taken.is_reverting = ("home",), False
    carrying, home = cast(OngoingChange, taken), Cluster(name="home", place=PLACE)

    def ids(*given: str) -> list[str]:
        stages = change_room.with_release(lambda *_: tuple(WalkStage(id=each, name="") for each in given), carrying)
        return [each.id for each in stages(carrying, home, cast(World, None))]

    assert ids("home:verify", "home:fetch", "home:reconcile", "home:checks")[2:4] == ["home:release", "home:reconcile"]
    assert ids("home:verify", "home:reconcile") == ["home:verify", "home:release", "home:reconcile"]
    assert ids("home:checks") == ["home:release", "home:checks"]
