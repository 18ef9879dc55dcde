"""A team's own rules: which files have them."""

from pathlib import Path

import pytest

from firstlight.commands.decide import team_rules
from firstlight.repo.work_tree import WorkTree

EXAMPLES = Path(__file__).parents[4] / "examples"
RULE = "rules: [{id: mine, title: Mine, side: none, risk: low, why: we say so, when: [{names: [x]}]}]\n"


@pytest.mark.parametrize("example", sorted(each.name for each in EXAMPLES.iterdir() if each.is_dir()))
def test_every_example_has_rules_that_can_be_read(example: str) -> None:
    assert team_rules.book(WorkTree(EXAMPLES / example)).rules


def test_what_stands_beside_the_rules_is_no_rule(tmp_path: Path) -> None:
    own = tmp_path / "firstlight-rules"
    own.mkdir()
    (own / "mine.yaml").write_text(RULE)
    (own / "owners.yaml").write_text("people: [{name: Ada, email: ada@example.org, roles: [lead]}]\n")
    (own / "drills.yaml").write_text("- {cluster: home, day: 2026-10-03, what: rebuilt}\n")
    (own / "mine.test.yaml").write_text("tests: []\n")

    assert team_rules.book(WorkTree(tmp_path)).own == {"mine"}
    assert team_rules.book(None, [own]).own == {"mine"}
