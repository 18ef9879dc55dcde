"""Audit rules as people read them."""

from firstlight.commands.audit import rule_cards
from firstlight.drawing import table
from tests.unit.commands.audit import audits


def test_a_rule_whole() -> None:
    card = audits.card(
        finds=("objects of kind apps/Deployment",),
        sets=("spec.prune: false",),
        sources=("the manual",),
        patterns=("Row",),
    )

    assert rule_cards.card_text(card, columns=80).splitlines() == [
        "range-differs   error, multi-cluster",
        "  Ranges differ",
        "  why        Pods are not reached.",
        "  finds      objects of kind apps/Deployment",
        "  fix        Write one range.",
        "  --fix      spec.prune: false",
        "  row        Row",
        "  sources    the manual",
    ]


def test_a_rule_of_the_team_s_own_says_so() -> None:
    assert rule_cards.card_text(audits.card(is_own=True), columns=80).startswith(
        "range-differs   error, multi-cluster, the team's"
    )


def test_all_rules_by_group() -> None:
    cards = [audits.card("a"), audits.card("b", group="data", title="Long " * 40), audits.card("c")]

    lines = rule_cards.card_list(cards, columns=80).splitlines()

    assert [line for line in lines if line and not line.startswith(" ")][:2] == ["multi-cluster", "data"]
    assert all(table.width(line) <= 80 for line in lines)
    assert sum(line.startswith("  a ") or line.startswith("  c ") for line in lines) == 2


def test_data_has_all_of_it() -> None:
    data = rule_cards.card_data(audits.card(is_own=True, sets=("a: 1",)))

    assert data["id"] == "range-differs"
    assert data["own"]
    assert data["sets"] == ["a: 1"]
