"""What is done before anything else."""

import dataclasses

import pytest

from firstlight.commands.decide import procedures
from firstlight.model.change import Change, ChangedField, ChangeVerb, Level, Matter
from firstlight.model.component import Side
from firstlight.model.decision import DecisionItem, Risk, RiskFactor, Ruling
from firstlight.model.place import Place

CLEAR = ChangedField(
    steps=("stringData", "a"), verb=ChangeVerb.ADDED, place=Place("a.yaml", 4), is_secret=True, is_clear=True
)


def item(**changed: object) -> DecisionItem:
    given: dict[str, object] = {
        "matter": Matter.OBJECT,
        "verb": ChangeVerb.ADDED,
        "place": Place("a.yaml", 1),
        "title": "a",
        **changed,
    }
    ruling = Ruling(rule="r", side=Side.GITOPS, risk=Risk.HIGH, why="w")
    return DecisionItem(change=Change(**given), side=Side.GITOPS, risk=Risk.HIGH, rulings=(ruling,))  # type: ignore[arg-type]


def test_what_is_broken_is_repaired_first() -> None:
    broken = item(place=Place("b.yaml", 3, 7), broken="a '[' is not closed")

    found = procedures.first_steps([item(fields=(CLEAR,)), broken, broken])

    assert [each.text for each in found] == [
        "repair b.yaml:3:7: a '[' is not closed",
        "a.yaml is encrypted, or an ExternalSecret takes its place; until then nothing is pushed",
    ]


def test_what_moves_to_another_component_is_kept() -> None:
    moves = RiskFactor(id="moves-component", risk=Risk.HIGH, why="it moves from a to b")
    ruling = Ruling(rule="moved", side=Side.GITOPS, risk=Risk.HIGH, why="w", factors=(moves,))
    moved = [
        dataclasses.replace(item(title=f"Deployment {each}", verb=ChangeVerb.MOVED), rulings=(ruling,))
        for each in "abbcde"
    ]

    (found,) = procedures.first_steps(moved)

    assert found.text.startswith("Deployment a, Deployment b, Deployment c, Deployment d and 1 more: whoever")
    assert "prune: disabled" in found.text
    assert "Prune=false" in found.text


def test_nothing_to_do_first() -> None:
    assert procedures.first_steps([item(), item(matter=Matter.DOCUMENTATION, broken="no YAML")]) == ()
    assert procedures.first_steps([item(fields=(CLEAR,), level=Level.RENDERED)]) == ()


@pytest.mark.parametrize(
    ("rules", "command", "more"),
    [
        ([""], "sops --encrypt --in-place 'a b.yaml'", False),
        ([r"x/.*", r".*\.yaml$"], "sops --encrypt --in-place 'a b.yaml'", False),
        ([r".*\.sops\.yaml$"], "", True),
        (["(?P<broken"], "", False),
        (["(a+)+$"], "", True),
        ([".*.*.*.*x"], "", True),
        ([], "", False),
    ],
)
def test_sops_where_it_has_a_rule(rules: list[str], command: str, more: bool) -> None:
    (found,) = procedures.first_steps([item(place=Place("a b.yaml", 1), fields=(CLEAR,))], sops=rules)

    assert found.command == command
    assert found.text.endswith("(.sops.yaml has no rule for this path)") is more


def test_a_kustomization_is_not_encrypted() -> None:
    (found,) = procedures.first_steps([item(matter=Matter.KUSTOMIZE, fields=(CLEAR,))], sops=[""])

    assert (found.command, found.text[:13]) == ("", "what a.yaml m")
