"""Files of cards: what they must have, and that all of the product are found."""

import pytest

from firstlight.document import diagnostic_cards
from firstlight.document.diagnostic_cards import CardsWrong
from firstlight.model.diagnostic import Severity

CARD = """
patch-target-missing:
  title: Patch target not found
  why: kustomize stops.
  fix: Correct the name.
"""


def test_a_card() -> None:
    (card,) = diagnostic_cards.read(CARD.encode(), home="repo/kustomize")

    assert (card.code, card.title, card.why) == ("patch-target-missing", "Patch target not found", "kustomize stops.")
    assert (card.fix, card.severity, card.home) == ("Correct the name.", None, "repo/kustomize")


def test_a_card_with_a_severity() -> None:
    (card,) = diagnostic_cards.read(f"{CARD}  severity: error\n".encode(), home="repo")

    assert card.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (CARD.replace("  why: kustomize stops.\n", ""), "why must be a text"),
        (CARD.replace("kustomize stops.", "''"), "why must be a text"),
        (CARD.replace("why: kustomize stops.", "why: 1"), "why must be a text"),
        (CARD + "  hint: Read it.\n", "hint is not a key"),
        (CARD + "  severity: bad\n", "bad is not a severity"),
        (CARD + CARD, "given twice"),
        ("- a\n", "not a mapping"),
        ("a: b\n", "not a mapping"),
        ("a: [\n", "diagnostics.yaml"),
    ],
)  # fmt: skip
def test_wrong_cards(text: str, named: str) -> None:
    with pytest.raises(CardsWrong, match=named):
        list(diagnostic_cards.read(text.encode(), home="repo"))


def test_rules_of_the_audit_are_cards() -> None:
    rules = (
        "rules: [{id: a, title: T, why: W, fix: F, severity: note, group: g, find: [], sources: [RFC]}]\npatterns: []\n"
    )

    (card,) = diagnostic_cards.read_rules(rules.encode(), home="commands/audit")

    assert (card.code, card.severity, card.sources) == ("a", Severity.NOTE, ("RFC",))
    with pytest.raises(CardsWrong, match="fix"):
        list(diagnostic_cards.read_rules(b"rules: [{id: a, title: T, why: W}]", home="commands/audit"))


def test_cards_of_the_product() -> None:
    found = diagnostic_cards.cards()

    assert found["cni-missing"].home == "commands/audit/rules"
    assert found["crash-loop"].home == "commands/doctor"
    assert len(found) > 100
