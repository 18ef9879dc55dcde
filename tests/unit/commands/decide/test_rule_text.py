"""A rule as people read it."""

import dataclasses

import pytest

from firstlight.commands.decide import rule_text
from firstlight.commands.decide.rule_card import RuleCard, RuleTest, Suggestion
from firstlight.drawing import table
from firstlight.model.decision import ProcedureStep

CARD = RuleCard(
    id="node-label", title="A label of a node", side="bootstrap", risk="medium", approval="peer",
    why="Talos puts labels on its node", fits=("machine · field machine.nodeLabels.**",), asks=("Which node?",),
    words=("add node labels",), sources=("001 matrix",), place="rules/20-machines.yaml:3:5",
)  # fmt: skip


def test_a_rule() -> None:
    assert rule_text.text(CARD, columns=80).splitlines() == [
        "node-label   bootstrap, medium risk: peer approval",
        "  A label of a node",
        "  why        Talos puts labels on its node",
        "  fits       machine · field machine.nodeLabels.**",
        "  said       add node labels",
        "  asks       Which node?",
        "  sources    001 matrix",
        "  written    firstlight's, rules/20-machines.yaml:3:5",
    ]


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ("owner", "by its owner, medium risk: peer approval"),
        ("none", "touches no cluster, medium risk: peer approval"),
        ("", "at least medium risk: peer approval"),
    ],
)
def test_sides_that_are_none(side: str, expected: str) -> None:
    assert rule_text.answer(dataclasses.replace(CARD, side=side)) == expected


def test_suggestions_say_that_they_are_about_words() -> None:
    near = Suggestion(card=CARD, score=0.5, about=("cp-1 is one",), open_questions=("Which node?",))

    lines = rule_text.suggestions("label \x1b[31mnodes", [near], columns=80).splitlines()

    assert lines[0] == "“label \\x1b[31mnodes” by its words alone, no file was looked at"
    assert lines[2] == "bootstrap, medium risk: peer approval"
    assert "  here       cp-1 is one" in lines
    assert "  asks       Which node?" in lines
    assert max(map(table.width, lines)) <= 80
    assert rule_text.suggestions_data("x", [near])["side"] == "bootstrap"
    assert rule_text.suggestions_data("x", [])["side"] is None


def test_tests_of_rules_are_counted() -> None:
    found = [RuleTest(name="a", place="t.yaml:2"), RuleTest(name="b", place="t.yaml:9", wrong=("side: expected x",))]

    assert rule_text.tests(found, columns=80).splitlines() == [
        "✘ b t.yaml:9",
        "    side: expected x",
        "1 of 2 tests passed",
    ]


def test_of_a_procedure_only_what_is_the_rules_own_is_told() -> None:
    usual, own = (ProcedureStep(side=None, text=each, command=each) for each in ("git push", "talosctl upgrade"))
    card = dataclasses.replace(CARD, ways=("Another system",), procedure=(usual, own), own_steps=(own,))

    text = rule_text.text(card, columns=80)

    assert "way        Another system: 1 usual step, and these of its own." in text
    assert "talosctl upgrade" in text
    assert "git push" not in text
    assert [each["command"] for each in rule_text.data(card)["procedure"]] == ["git push", "talosctl upgrade"]
