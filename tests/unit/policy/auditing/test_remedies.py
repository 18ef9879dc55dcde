"""Which rules have a remedy."""

from pathlib import Path

from firstlight.policy.auditing import loading, remedies, remedying
from tests.unit.policy.auditing import remedy_scenes


def test_rules_that_promise_a_remedy_have_one() -> None:
    promised = {rule.id for rule in loading.book().rules.values() if f"--remedy {rule.id}" in rule.fix}
    assert promised
    assert promised <= set(remedying.known())
    assert set(remedying.known()) <= set(loading.book().rules)


def test_there_is_none_for_other_rules(tmp_path: Path) -> None:
    assert remedies.of("no-such-rule", remedy_scenes.made(tmp_path, {})) is None
