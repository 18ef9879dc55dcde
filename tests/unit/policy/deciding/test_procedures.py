"""Procedures: the repo's own names in them, their order, and the way back."""

import dataclasses
import shlex
from typing import Any

from firstlight.model.change import Change, Matter, Verb
from firstlight.model.cluster import Engine
from firstlight.model.component import Form, Owner, Phase
from firstlight.model.decision import Decision
from firstlight.model.platform import Platform
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.judging import decide
from tests.unit.policy.deciding import books
from tests.unit.policy.deciding.books import change, component, field, kustomization, platform, release

VERSION = field("spec.chart.spec.version", "1.2.3", "1.3.0")
WEB = (component("web", parent="kustomization/web"), kustomization("web", "apps/web", namespace="flux"))


def judged(*changes: Change, on: Platform | None = None, **more: Any) -> Decision:
    return decide(changes, platform=on or platform(*WEB), book=books.book(), **more)


def commands(decision: Decision) -> list[str]:
    return [each.command for each in decision.procedure]


def machine(path: str) -> Change:
    return change(path, field("machine.network.a", 1, 2), matter=Matter.MACHINE, kind="v1alpha1")


def test_steps_come_in_the_order_of_their_stages_with_names_of_the_repo() -> None:
    found = judged(release("web", VERSION))

    assert commands(found) == [
        "git add apps/web/release.yaml",
        "git push origin change-web",
        "flux reconcile kustomization web -n flux",
    ]
    assert found.procedure[1].text == "merged to trunk"
    assert [each.command for each in found.rollback] == ["git revert --no-edit HEAD"]


def test_what_git_has_already_is_not_committed_again() -> None:
    facts = Facts(is_committed=True, topic="net", revert="abc..def", since="abc")
    found = judged(release("web", VERSION), facts=facts)

    assert commands(found)[0] == "git push origin net"
    assert found.rollback[0].command == "git revert --no-edit abc..def"


def test_argo_cd_gets_its_own_commands() -> None:
    origin = dataclasses.replace(WEB[0].origins[0], form=Form.APPLICATION)
    on = platform(dataclasses.replace(WEB[0], origins=(origin,), parent=""), engine=Engine.ARGOCD)

    assert commands(judged(release("web", VERSION), on=on))[-1] == "argocd app sync web"


def test_bootstraps_half_stands_before_the_merge() -> None:
    on = platform(dataclasses.replace(WEB[0], phase=Phase.CORE), WEB[1], component("api", needs=("web",)))
    found = judged(release("web", VERSION), on=on)

    assert commands(found)[1:4] == ["", "firstlight up home --only web", "git push origin change-web"]
    assert found.procedure[1].text.startswith("bootstrap's half comes first")
    assert found.procedure[2].text == "web, which api need"


def test_machines_are_those_whose_files_change() -> None:
    one = commands(judged(machine("talos/cp-2.yaml")))
    all_of_them = commands(judged(machine("talos/patch.yaml")))

    assert one == ["firstlight up home --dry-run", "talosctl -n 10.0.0.2 health"]
    assert all_of_them == [
        "firstlight up home --dry-run",
        "talosctl -n 10.0.0.1 health",
        "talosctl -n 10.0.0.2 health",
    ]
    assert commands(judged(machine("talos/cp-2.yaml"), machine("talos/patch.yaml"))) == all_of_them


def test_a_rules_own_procedure_stands_in_place_of_the_usual_one_and_has_what_it_is_like() -> None:
    found = judged(release("web", field("spec.chart.spec.version", "1.0.0", "2.0.0")))

    assert commands(found)[0] == "talosctl etcd snapshot db"
    assert commands(found)[-1] == "flux reconcile kustomization web -n flux"
    assert [(each.text, each.command) for each in found.rollback] == [("this cannot be taken back", "")]


def test_two_changes_of_one_thing_need_its_steps_once() -> None:
    found = judged(release("web", VERSION), change("apps/web/a.yaml", field("data.a", 1, 2)))

    assert len(commands(found)) == len(set(commands(found)))
    assert "git add apps/web/a.yaml apps/web/release.yaml" in commands(found)


def test_a_command_of_both_halves_stands_once_and_belongs_to_neither() -> None:
    own = """
procedures:
  - {id: one, title: One, steps: [{stage: verify, side: gitops, text: a, command: look}, {stage: verify, text: words}]}
  - {id: two, title: Two, steps: [{stage: prepare, side: bootstrap, text: b, command: look},
                                  {stage: verify, text: words}]}
rules:
  - {id: first, title: F, side: gitops, risk: low, why: x, when: [{paths: [a]}], procedure: one}
  - {id: second, title: S, side: bootstrap, risk: low, why: x, when: [{paths: [b]}], procedure: two}
"""
    both = release("web", field("a", 1, 2), field("b", 1, 2))
    found = decide([both], platform=platform(*WEB), book=books.book(own))

    assert [(each.side, each.text, each.command) for each in found.procedure] == [
        (None, "b", "look"),
        (None, "words", ""),
    ]


def test_what_was_asked_can_be_asked_again() -> None:
    own = """
procedures:
  - {id: one, title: One, steps: [{stage: verify, text: a, command: "firstlight decide {asked} --check post"}]}
rules: [{id: first, title: F, side: gitops, risk: low, why: x, when: [{}], procedure: one}]
"""
    asked = Facts(asked=("--diff", "main...my branch"))
    found = decide([release("web", VERSION)], platform=platform(*WEB), book=books.book(own), facts=asked)

    assert commands(found) == ["firstlight decide --diff 'main...my branch' --check post"]
    again = decide([release("web", VERSION)], platform=platform(*WEB), book=books.book(own))
    assert commands(again) == ["firstlight decide --staged --check post"]


def test_names_are_quoted_for_a_shell() -> None:
    evil = "a b;$(rm -rf ~)`'\"\n"
    on = platform(component(evil, path="x.yaml", phase=Phase.CORE, owner=Owner.BOOTSTRAP))
    item = change(f"apps/{evil}/a.yaml", field("data.a", 1, 2))
    found = judged(item, on=on, facts=Facts(topic="--evil;"))

    (command,) = commands(found)
    assert shlex.split(command) == ["firstlight", "up", "home", "--only", evil]


def test_something_gone_still_has_a_name() -> None:
    found = judged(release("web", verb=Verb.REMOVED), on=platform(WEB[1]), before=platform(*WEB))

    assert "flux reconcile kustomization web -n flux" in commands(found)


def test_a_loop_of_likes_ends() -> None:
    own = "procedures: [{id: a, title: A, like: [b]}, {id: b, title: B, like: [a]}]\n"
    own += "rules: [{id: mine, title: M, side: gitops, risk: low, why: x, when: [{}], procedure: a}]"

    assert decide([release("web", VERSION)], platform=platform(*WEB), book=books.book(own)).procedure == ()
