"""Which rules have a remedy."""

from pathlib import Path

from firstlight.commands.audit import rule_remedy, rulebook
from tests.unit.commands.audit import remedy_scenes


def test_rules_that_promise_a_remedy_have_one() -> None:
    promised = {rule.id for rule in rulebook.read_rulebook().rules.values() if f"--remedy {rule.id}" in rule.fix}
    assert promised
    assert promised <= set(rule_remedy.known_remedies())
    assert set(rule_remedy.known_remedies()) <= set(rulebook.read_rulebook().rules)


def test_there_is_none_for_other_rules(tmp_path: Path) -> None:
    assert rule_remedy.remedy_of("no-such-rule", remedy_scenes.made(tmp_path, {})) is None
