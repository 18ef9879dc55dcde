"""What an audit says beside its findings, so that reports need nobody else: reasons, remedies, what was asked."""

import datetime
from pathlib import Path

import pytest

from firstlight.model.finding import Audit
from firstlight.operate.auditing import auditing, team_rules
from firstlight.operate.auditing.wishes import Wishes
from firstlight.policy.auditing import remedying
from firstlight.policy.auditing.scene import Live, Scene
from firstlight.repo import platform
from firstlight.repo.work_tree import WorkTree
from tests.unit.operate.auditing import repos

TODAY = datetime.date(2026, 11, 1)


def judged(root: Path, *rules: str, live: bool = False) -> Audit:
    tree = WorkTree(root)
    scene = Scene(
        platform=platform.read_tree(tree), files=tree, today=TODAY, live={"home": Live(objects={})} if live else {}
    )
    return auditing.judge(scene, team_rules.book(tree), Wishes(today=TODAY, rules=rules)).audit


def test_reasons_are_those_of_rules_that_found_something_excused_or_not(tmp_path: Path) -> None:
    repo = repos.make(tmp_path)

    assert judged(repo, repos.RULE, "cluster-id-shared").reasons == {repos.RULE: "one is none."}

    web = repo / "clusters/home/web.yaml"
    web.write_text(repos.WEB.replace("# for now", f"# firstlight: ignore {repos.RULE} until 2026-11-01: for now"))
    excused = judged(repo, repos.RULE)
    assert (excused.findings, excused.reasons) == ((), {repos.RULE: "one is none."})


def test_remedies_are_those_for_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repos.make(tmp_path)
    monkeypatch.setattr(remedying, "known", lambda: {repos.RULE: None, "other": None})

    assert judged(repo, repos.RULE).remedies == (repos.RULE,)
    assert judged(repo, "cluster-id-shared").remedies == ()


def test_what_was_asked_besides_files(tmp_path: Path) -> None:
    repo = repos.make(tmp_path)

    assert judged(repo, repos.RULE).asked == ()
    assert judged(repo, repos.RULE, live=True).asked == ("live",)
