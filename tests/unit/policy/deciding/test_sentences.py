"""Sentences, and the rules that they mean."""

import pytest

from firstlight.policy.deciding.sentences import nearest
from tests.unit.policy.deciding import books


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("add node labels", "node-label"),
        ("I want to label my nodes", "node-label"),
        ("Please add labels to the new machines", "node-label"),
        ("change node networking", "machine-network"),
        ("bump the chart", "chart"),
        ("upgrading a chart", "chart"),
        ("add a chart", "chart"),
        ("major upgrade of the chart", "chart-major"),
        ("write some documentation", "nothing"),
    ],
)
def test_the_nearest_rule_comes_first(text: str, rule: str) -> None:
    assert nearest(text, books.book())[0].rule.id == rule


@pytest.mark.parametrize("text", ["", "   ", "?!", "the of and", "wombat quokka", "🦘"])
def test_what_says_nothing_is_near_to_nothing(text: str) -> None:
    assert nearest(text, books.book()) == ()


def test_open_questions_are_the_rules_or_who_owns_it() -> None:
    assert nearest("label a node", books.book())[0].questions == ("Which nodes?",)
    assert "who owns" in nearest("upgrade a chart", books.book())[0].questions[0]


def test_few_are_named_and_the_best_first() -> None:
    found = nearest("upgrade a chart", books.book())

    assert [each.rule.id for each in found][:2] == ["chart", "chart-major"]
    assert len(found) <= 5
    assert all(0 < each.score <= 1 for each in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_a_very_long_sentence() -> None:
    assert isinstance(nearest("node label " * 10_000, books.book()), tuple)
