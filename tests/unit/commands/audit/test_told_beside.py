"""What an audit says beside its findings, so that reports need nobody else: reasons, remedies, what was asked."""

import datetime
from pathlib import Path

import pytest

from firstlight.commands.audit import audit, rule_remedy, rulebook
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.model.finding import Audit
from firstlight.repo import platform_reader
from firstlight.repo.platform_view import LiveObjects, PlatformView
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import repos

TODAY = datetime.date(2026, 11, 1)


def judged(root: Path, *rules: str, live: bool = False) -> Audit:
    tree = WorkTree(root)
    scene = PlatformView(
        platform=platform_reader.read_tree(tree),
        files=tree,
        today=TODAY,
        live={"home": LiveObjects(objects={})} if live else {},
    )
    return audit.judge(scene, rulebook.book(tree), AuditRequest(today=TODAY, rules=rules)).audit


def test_reasons_are_those_of_rules_that_found_something_excused_or_not(tmp_path: Path) -> None:
    repo = repos.make(tmp_path)

    assert judged(repo, repos.RULE, "cluster-id-shared").reasons == {repos.RULE: "one is none."}

    web = repo / "clusters/home/web.yaml"
    web.write_text(repos.WEB.replace("# for now", f"# firstlight: ignore {repos.RULE} until 2026-11-01: for now"))
    excused = judged(repo, repos.RULE)
    assert (excused.findings, excused.reasons) == ((), {repos.RULE: "one is none."})


def test_remedies_are_those_for_what_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repos.make(tmp_path)
    monkeypatch.setattr(rule_remedy, "known_remedies", lambda: {repos.RULE: None, "other": None})

    assert judged(repo, repos.RULE).remedies == (repos.RULE,)
    assert judged(repo, "cluster-id-shared").remedies == ()


def test_what_was_asked_besides_files(tmp_path: Path) -> None:
    repo = repos.make(tmp_path)

    assert judged(repo, repos.RULE).asked == ()
    assert judged(repo, repos.RULE, live=True).asked == ("live",)
