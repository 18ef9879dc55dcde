"""An audit, whole, where no Git and no cluster is needed."""

import asyncio
import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.audit import audit as audit_room
from firstlight.commands.audit import baseline, rule_cards, rule_tests, rulebook
from firstlight.commands.audit.audit import AuditMeans, AuditResult
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model.finding import Excuse, Finding
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import repos

TODAY = datetime.date(2026, 11, 1)


def audit(root: Path, *rules: str, clusters: tuple[str, ...] = (), matrix: bool = False) -> AuditResult:
    wishes = AuditRequest(today=TODAY, rules=rules or (repos.RULE,), clusters=clusters, with_matrix=matrix)
    return asyncio.run(audit_room.audit(WorkTree(root), wishes, AuditMeans()))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repos.make(tmp_path)


def test_a_teams_rule_finds_something(repo: Path) -> None:
    found = audit(repo).audit

    assert [(each.code, str(each.place), each.clusters) for each in found.findings] == [
        (repos.RULE, "clusters/home/web.yaml:7:3", ("home",))
    ]
    assert (found.clusters, found.rules, found.files) == (("home",), 1, 3)


def test_what_is_excused_does_not_count_and_is_not_forgotten(repo: Path) -> None:
    web = repo / "clusters/home/web.yaml"
    web.write_text(repos.WEB.replace("# for now", f"# firstlight: ignore {repos.RULE} until 2026-11-01: for now"))

    found = audit(repo).audit

    assert found.findings == ()
    assert [(each.by, each.reason) for each in found.excused] == [(Excuse.INLINE, "for now")]


def test_a_rule_that_breaks_down_is_said_and_the_others_go_on(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
        raise TypeError("hunter2 is no number")

    rule = rulebook.read_rulebook().rules["cluster-id-shared"]
    monkeypatch.setattr(rulebook, "packaged_rules", lambda: [rulebook.PackagedRule(rule, broken)])

    found = audit(repo, rule.id, repos.RULE)

    assert len(found.audit.findings) == 1
    assert list(found.failed) == [rule.id]
    assert found.audit.skipped[-1].startswith(f"rule {rule.id} broke down: TypeError in test_audit.py:")
    assert "hunter2" not in str(found.audit)
    assert found.audit.rules == 1


def test_a_package_brings_a_rule(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
        yield rule.finding("found by a package", at=next(iter(scene.items)).object.place)

    rule = rulebook.read_rulebook().rules["cluster-id-shared"]
    monkeypatch.setattr(rulebook, "packaged_rules", lambda: [rulebook.PackagedRule(rule, check)])

    assert [each.message for each in audit(repo, rule.id).audit.findings] == ["found by a package"]


def test_a_check_that_speaks_for_another_rule_breaks_down(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def foreign(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
        yield Finding.error("no-such-rule", "found", at=next(iter(scene.items)).object.place)

    rule = rulebook.read_rulebook().rules["cluster-id-shared"]
    monkeypatch.setattr(rulebook, "packaged_rules", lambda: [rulebook.PackagedRule(rule, foreign)])

    found = audit(repo, rule.id)

    assert (found.audit.findings, list(found.failed)) == ((), [rule.id])


def test_a_package_that_cannot_be_loaded_is_said(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[rulebook.PackagedRule]:
        raise ImportError("no module named theirs")

    monkeypatch.setattr(rulebook, "packaged_rules", broken)

    with pytest.raises(errors.ToolError, match="no module named theirs"):
        audit(repo)


@pytest.mark.parametrize(
    ("rules", "clusters", "says"),
    [(("web-scale",), (), "no rule web-scale"), ((), ("hime",), "no cluster hime")],
)
def test_what_is_not_there_cannot_be_asked_for(
    repo: Path, rules: tuple[str, ...], clusters: tuple[str, ...], says: str
) -> None:
    with pytest.raises(errors.UsageError, match=says) as caught:
        audit(repo, *rules, clusters=clusters)
    assert caught.value.hint.startswith(("There is web-scaled", "There is home."))


def test_rules_behind_a_link_are_not_read(repo: Path) -> None:
    (repo / "firstlight-rules/audit/more.yaml").symlink_to("ours.yaml")

    with pytest.raises(errors.ConfigError, match="link"):
        rulebook.book(WorkTree(repo))


def test_the_matrix_is_drawn_where_it_is_asked_for(repo: Path) -> None:
    assert audit(repo).audit.matrix is None
    drawn = audit(repo, matrix=True).audit.matrix
    assert drawn is not None
    assert drawn.columns == ("home", "buroa", "onedrop")


def added_to_baseline(repo: Path, judged: AuditResult, *, reason: str, until: datetime.date) -> tuple[str, int]:
    return baseline.add(WorkTree(repo), judged.audit, book=judged.book, file=None, reason=reason, until=until)


def test_a_baseline_excuses_what_was_found_and_keeps_what_stands_in_it(repo: Path) -> None:
    until = datetime.date(2027, 1, 31)
    path, added = added_to_baseline(repo, audit(repo), reason="known", until=until)
    assert (path, added) == ("firstlight-rules/audit/baseline.yaml", 1)
    assert audit(repo).audit.findings == ()

    file = repo / path
    file.write_text(file.read_text() + "  # a comment of mine\n")
    repos.make(repo, clusters__home__api_yaml=repos.WEB.replace("name: web", "name: api"))
    _, added = added_to_baseline(repo, audit(repo), reason="known, too", until=until)

    assert added == 1
    assert "# a comment of mine" in file.read_text()
    assert [each.reason for each in audit(repo).audit.excused] == ["known, too", "known"]


def test_an_entry_that_has_ended_gives_way_to_a_new_one(repo: Path) -> None:
    added_to_baseline(repo, audit(repo), reason="old", until=datetime.date(2026, 10, 1))
    found = audit(repo, repos.RULE, "baseline-expired")
    assert [each.code for each in found.audit.findings] == [repos.RULE, "baseline-expired"]

    added_to_baseline(repo, found, reason="new", until=datetime.date(2027, 1, 31))

    again = audit(repo, repos.RULE, "baseline-expired", "baseline-stale").audit
    assert again.findings == ()
    assert [each.reason for each in again.excused] == ["new"]


TEST = """\
tests:
  - name: one replica
    rule: web-scaled
    files:
      clusters/home/flux-system/gotk-sync.yaml: |
{sync}
      clusters/home/web.yaml: |
{web}
    finds: [{{place: "clusters/home/web.yaml:{line}", says: has 1 replica, clusters: [home]}}]
    fixed:
      clusters/home/web.yaml: |
{fixed}
"""


def test_a_teams_tests_are_run_over_the_repos_that_they_make_up(repo: Path) -> None:
    def indented(text: str) -> str:
        return "".join(f"        {each}\n" for each in text.splitlines()).rstrip()

    fixed = repos.WEB.replace("replicas: 1", "replicas: 2")
    file = repo / "firstlight-rules/audit/ours.test.yaml"
    good = TEST.format(sync=indented(repos.SYNC), web=indented(repos.WEB), line=7, fixed=indented(fixed))
    file.write_text(good)
    (passed,) = rule_tests.tested(WorkTree(repo))
    assert passed.wrong == ()

    file.write_text(good.replace("web.yaml:7", "web.yaml:6").replace("replicas: 2", "replicas: 3"))
    (failed,) = rule_tests.tested(WorkTree(repo))
    assert failed.place.startswith("firstlight-rules/audit/ours.test.yaml:2")
    assert failed.wrong == (
        "not found: clusters/home/web.yaml:6, which says has 1 replica",
        "found, and not expected: clusters/home/web.yaml:7:3 web has 1 replica",
        "fixed: clusters/home/web.yaml is not as expected",
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("rule: web-scaled", "rule: web-scale"), "there is no rule web-scale"),
        (("name: one replica", "nam: one replica"), "nam is no field"),
        (("clusters/home/web.yaml: |", "../web.yaml: |"), "is outside of the repo"),
    ],
)
def test_a_test_that_is_wrong_says_where(repo: Path, change: tuple[str, str], says: str) -> None:
    text = TEST.format(sync="        a: 1", web="        a: 1", line=7, fixed="        a: 1").replace(*change)
    (repo / "firstlight-rules/audit/ours.test.yaml").write_text(text)

    with pytest.raises(errors.ConfigError, match=says):
        rule_tests.tested(WorkTree(repo))


def test_a_card_says_what_a_rule_finds_and_sets(repo: Path) -> None:
    card = rule_cards.card(rulebook.book(WorkTree(repo)), repos.RULE)

    assert card.finds == ("objects of kind apps/Deployment. with spec.replicas 1",)
    assert card.sets == ("spec.replicas: 2",)
    assert card.is_own
    with pytest.raises(errors.UsageError, match="no rule nonsense"):
        rule_cards.card(rulebook.read_rulebook(), "nonsense")


def test_a_rule_that_ends_the_program_does_not(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaving(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
        raise SystemExit(0)

    rule = rulebook.read_rulebook().rules["cluster-id-shared"]
    monkeypatch.setattr(rulebook, "packaged_rules", lambda: [rulebook.PackagedRule(rule, leaving)])

    found = audit(repo, rule.id, repos.RULE)

    assert (list(found.failed), len(found.audit.findings), found.is_whole) == ([rule.id], 1, False)


def test_a_package_that_ends_the_program_when_it_is_loaded_does_not(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaving() -> list[rulebook.PackagedRule]:
        raise SystemExit(0)

    monkeypatch.setattr(rulebook, "packaged_rules", leaving)
    with pytest.raises(errors.ToolError, match="cannot be loaded"):
        audit(repo)


def test_nothing_excuses_what_is_said_of_excuses(repo: Path) -> None:
    web = repo / "clusters/home/web.yaml"
    comment = "# firstlight: ignore-file ignore-expired until 2026-12-31: hush\n"
    web.write_text(f"{comment}# firstlight: ignore {repos.RULE} until 2020-01-01: old\n{repos.WEB}")

    found = audit(repo, "ignore-expired").audit

    assert [each.code for each in found.findings] == ["ignore-expired"]
    assert found.excused == ()


def test_a_rule_of_ours_is_not_replaced_in_silence(repo: Path) -> None:
    own = repos.RULES.replace("web-scaled", "secret-in-clear").replace("apps/Deployment", "none/None")
    (repo / "firstlight-rules/audit/hush.yaml").write_text(own)

    (found,) = audit(repo, "secret-in-clear", "rule-replaced").audit.findings

    assert (found.code, str(found.place)) == ("rule-replaced", "firstlight-rules/audit/hush.yaml:2:5")


def test_what_was_not_read_is_said(repo: Path) -> None:
    (repo / "clusters/home/hid\nden.yaml").write_text(repos.WEB)

    assert "clusters/home/hid?den.yaml: left out: its name cannot be printed" in audit(repo).audit.skipped


@pytest.mark.parametrize("link", ["firstlight-rules/audit/baseline.yaml", "firstlight-rules/audit", "firstlight-rules"])
def test_a_baseline_is_not_written_through_a_link(
    repo: Path, tmp_path_factory: pytest.TempPathFactory, link: str
) -> None:
    judged, outside = audit(repo), tmp_path_factory.mktemp("outside")
    place = repo / link
    if place.exists():
        place.rename(repo / "moved")
    place.symlink_to(outside)

    with pytest.raises(errors.Refused, match="behind a link"):
        added_to_baseline(repo, judged, reason="known", until=datetime.date(2027, 1, 31))
    assert list(outside.iterdir()) == []


async def test_whoever_interrupts_it_gets_no_answer(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = audit_room.judge
    running: list[asyncio.Task[object]] = []

    def interrupted(*args: object, **named: object) -> object:
        running[0].cancel()
        return judge(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(audit_room, "judge", interrupted)
    answers: list[AuditResult] = []

    async def asked() -> None:
        answers.append(
            await audit_room.audit(WorkTree(repo), AuditRequest(today=TODAY, rules=(repos.RULE,)), AuditMeans())
        )

    running.append(asyncio.ensure_future(asked()))

    with pytest.raises(asyncio.CancelledError):
        await running[0]
    assert answers == []
