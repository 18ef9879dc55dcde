"""In which order changes are done: whatever changes, nothing is written before it is pushed, reviewed and approved."""

import re

import pytest

from tests.scenarios.decide.changes.test_changes import CLASSES, answered

WRITES = re.compile(
    r"firstlight (up|down|handover|node|override)\b(?!.*--(dry-run|check))|firstlight drift .*--correct|kubectl patch"
    r"|talosctl (upgrade|upgrade-k8s|patch|rollback)\b(?!.*--dry-run)|omnictl|flux (reconcile|suspend|resume)"
    r"|argocd app set"
)


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_is_written_before_it_is_approved(name: str) -> None:
    for case, decision in answered(name).values():
        if decision.side is None:
            continue
        commands = [each.command for each in decision.procedure]
        writes = [at for at, each in enumerate(commands) if WRITES.search(each)]
        pushed = [at for at, each in enumerate(commands) if each.startswith("git push")]
        approved = [at for at, each in enumerate(commands) if each.endswith("--approvals")]

        assert len(pushed) == 1, case.name
        assert len(approved) == (decision.approval != "self"), case.name
        assert all(at > max([*pushed, *approved]) for at in writes), case.name


@pytest.mark.parametrize("name", CLASSES)
def test_a_revert_is_pushed(name: str) -> None:
    for case, decision in answered(name).values():
        commands = [each.command for each in decision.rollback]
        reverts = [at for at, each in enumerate(commands) if each.startswith("git revert")]
        if reverts:
            assert any(each.startswith("git pull --ff-only origin ") for each in commands[: reverts[0]]), case.name
            assert commands[reverts[0] + 1].startswith("git push -u origin revert-"), case.name
