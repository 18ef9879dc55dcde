"""The checklist as a whole: what is run, what is left for people, and what a failure does."""

import dataclasses
import random
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.decide import rule_files
from firstlight.commands.decide.checks import checklist
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput
from firstlight.model.decision import ChangeCheck, CheckState, Decision, Moment, Risk
from tests.unit.commands.decide import scenes

BUMPED = {"apps/web/web.yaml": scenes.deployment(image="web:1.1.0")}


@pytest.mark.parametrize("moment", Moment)
async def test_every_usual_check_of_the_rules_is_run(tmp_path: Path, moment: Moment) -> None:
    decision, scene = scenes.made(tmp_path, BUMPED)

    made = await checklist.run(decision, moment, scene)

    usual = {each.id for each in rule_files.book().checks if each.usual and each.moment == moment}
    known = checklist.PRE if moment is Moment.PRE else checklist.POST
    assert usual <= set(known)
    assert {each.id for each in made} >= usual
    assert all(each.moment == moment and each.state != CheckState.OPEN and each.says for each in made)


def test_everything_that_a_program_looks_at_is_asked_for_by_some_rule() -> None:
    assert set(checklist.MORE) <= {each.id for each in rule_files.book().checks}


async def test_what_no_program_can_look_at_is_for_people(tmp_path: Path) -> None:
    decision, scene = scenes.made(tmp_path, BUMPED)
    own = ChangeCheck(id="window", moment=Moment.PRE, title="A maintenance window", says="it is agreed")
    other = ChangeCheck(id="later", moment=Moment.POST, title="Later")

    made = await checklist.run(dataclasses.replace(decision, checks=(own, other)), Moment.PRE, scene)

    assert [(each.state, each.says) for each in made if each.id == "window"] == [(CheckState.PERSON, "it is agreed")]
    assert not any(each.id == "later" for each in made)


async def test_what_a_program_could_not_look_at_is_for_people_too(tmp_path: Path) -> None:
    decision, scene = scenes.made(tmp_path, BUMPED)
    own = ChangeCheck(id="node-joined", moment=Moment.POST, title="The node is Ready", says="it takes pods")

    made = await checklist.run(dataclasses.replace(decision, checks=(own,)), Moment.POST, scene)

    (found,) = (each for each in made if each.id == "node-joined")
    assert (found.state, found.says) == (CheckState.PERSON, "it takes pods")
    assert found.details == ("not looked at: no cluster was asked",)


async def test_a_check_that_cannot_be_made_has_failed_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
        raise errors.Unreachable("nothing answers", hint="is it on?")

    monkeypatch.setattr(checklist, "PRE", {**checklist.PRE, "syntax": ("syntax", broken)})
    decision, scene = scenes.made(tmp_path, BUMPED)

    made = {each.id: each for each in await checklist.run(decision, Moment.PRE, scene)}

    assert made["syntax"].state == CheckState.FAILED
    assert made["syntax"].says == "it could not be looked at: nothing answers; is it on?"
    assert made["render"].state == CheckState.PASSED


async def test_without_a_change_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    _, scene = scenes.made(tmp_path, BUMPED)

    made = await checklist.run(Decision(side=None, risk=Risk.LOW, items=()), Moment.PRE, scene)

    assert {each.state for each in made} == {CheckState.SKIPPED}


BITS = [
    "- a\n", "kind: Secret\n", "apiVersion: v1\nkind: Secret\nmetadata: {name: 1}\ndata: [a]\n", "a: &x [*x]\n",
    "{{ .Values.x }}\n", "kind: [a]\n", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: 3\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: [x]\nspec: {template: {spec: {containers: [1]}}}\n", "\x00",
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {versions: [1]}\n",
    "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: x}\nspec: {groups: 3}\n",
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [3], tls: 3}\n",
    "kind: Kustomization\nresources: [nope.yaml]\n", scenes.deployment(), "sops: {}\nkind: Secret\napiVersion: v1\n",
]  # fmt: skip
PATHS = [
    *scenes.REPO,
    "apps/web/kustomization.yaml",
    "README.md",
    "talos/talconfig.yaml",
    "firstlight-rules/owners.yaml",
]


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_changes_every_check_has_an_answer(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    after = {
        path: None if draw.random() < 0.1 and path in scenes.REPO else "---\n".join(draw.choices(BITS, k=2))
        for path in draw.sample(PATHS, 3)
    }
    decision, scene = scenes.made(tmp_path, after, is_rendered=bool(seed % 3))

    for moment in Moment:
        made = await checklist.run(decision, moment, scene)
        assert all(each.state != CheckState.OPEN and each.says for each in made)
