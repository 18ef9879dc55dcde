"""Rules as cards: what a card shows is what a decision would say."""

import pytest

from firstlight import errors
from firstlight.commands.decide import graph_factors, procedure_choice, procedures, rule_card, rule_files
from firstlight.commands.decide.rule_form import DecisionRule, SideWord, When
from firstlight.model.change import Matter
from firstlight.model.component import Side
from tests.scenarios.decide.changes.deciding import REPOS, base

BOOK = rule_files.book()


def rule(side: SideWord, *matter: str, kinds: tuple[str, ...] = ()) -> DecisionRule:
    return DecisionRule(id="x", title="t", side=side, risk="low", why="w", when=(When(matter=matter, kinds=kinds),))


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (rule("bootstrap", "object"), ["bootstrap"]),
        (rule("bootstrap", "machine"), ["machine"]),
        (rule("bootstrap", kinds=("talos/*",)), ["machine"]),
        (rule("gitops", "object"), ["gitops"]),
        (rule("gitops", "machine"), ["machine"]),
        (rule("hybrid", "values"), ["hybrid"]),
        (rule("none", "tooling"), ["none"]),
        (rule("owner", "object"), ["bootstrap", "gitops", "hybrid"]),
    ],
    ids=lambda each: f"{each.side} {each.when[0].matter}" if isinstance(each, DecisionRule) else " ".join(each),
)
def test_a_card_has_the_steps_that_a_decision_has(found: DecisionRule, names: list[str]) -> None:
    card = rule_card.card_of_rule(BOOK, found)

    assert card.procedure == procedures.unfilled(names, BOOK, "steps")
    assert card.rollback == procedures.unfilled(names, BOOK, "rollback")
    assert card.procedure


def test_what_a_procedure_is_like_counts_over_all_levels() -> None:
    commands = [each.command for each in rule_card.card_of_rule(BOOK, rule("hybrid", "object")).procedure]

    assert any(each.startswith("firstlight boundary") for each in commands)
    assert any(each.startswith("flux reconcile") for each in commands), "of gitops"
    assert any(each.startswith("git push") for each in commands), "of none, which gitops is like"


def test_a_rule_has_the_usual_procedure_of_its_side_and_of_what_it_is_about() -> None:
    usual = [
        list(procedure_choice.procedure_names("", BOOK, side=side, matter=matter))
        for side, matter in ((None, Matter.OBJECT), (Side.BOOTSTRAP, Matter.MACHINE), (Side.HYBRID, Matter.MACHINE))
    ]

    assert usual == [["none"], ["machine"], ["hybrid"]]
    assert list(procedure_choice.procedure_names("to-gitops", BOOK, side=None, matter=Matter.OBJECT)) == ["to-gitops"]


def test_what_a_rule_is_about_answers_questions_of_the_trees() -> None:
    machine, workload = (rule_card.card_of_rule(BOOK, rule("gitops", each)).trees for each in ("machine", "object"))

    assert [(each.side, each.is_overruled) for each in machine] == [(Side.BOOTSTRAP, True)] * 2
    assert [(each.side, each.is_overruled) for each in workload] == [(Side.GITOPS, False)] * 2


@pytest.mark.parametrize("name", graph_factors.KNOWN)
def test_what_no_condition_tells_is_explained_too(name: str) -> None:
    card = rule_card.card(BOOK, name)

    assert (card.id, card.side, card.risk) == (name, "", str(graph_factors.KNOWN[name].risk))
    assert card.fits == (graph_factors.BY_ITSELF,)


def test_a_name_that_is_nearly_one_of_them() -> None:
    with pytest.raises(errors.UsageError, match="there is no rule engine-need") as raised:
        rule_card.card(BOOK, "engine-need")
    assert "engine-needs" in str(raised.value.hint)


def test_a_card_has_the_steps_of_its_own_apart_from_the_usual_ones() -> None:
    card = rule_card.card(BOOK, "talos-version")

    assert card.ways == (BOOK.procedures["talos-upgrade"].title,)
    commands = [each.command for each in card.own_steps]
    assert any(each.startswith("talosctl upgrade") for each in commands)
    assert not any(each.startswith("git ") for each in commands)
    assert set(card.own_steps) < set(card.procedure)
    assert [each.command.split()[:2] for each in card.own_rollback] == [["talosctl", "rollback"]]
    assert rule_card.card(BOOK, "kernel").own_steps == ()


@pytest.mark.parametrize(
    ("sentence", "about"),
    [
        (
            "remove the player app",
            ["player of namespaces comes in phase gitops, and gitops owns it in the end: gitops"],
        ),
        ("remove an app", []),  # and not the root that applies all of them
    ],
)
def test_who_names_a_component_means_that(sentence: str, about: list[str]) -> None:
    first, *_ = rule_card.suggested_rules(sentence, BOOK, base(REPOS / "namespaces").platform)

    assert first.card.id == "engine-object-removed"
    assert [*first.about] == about
