"""What becomes of what rules find."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstlight.commands.audit import rulebook
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo import platform_reader
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.work_tree import WorkTree

RULE = AuditRule(id="one", title="t", group="g", severity="error", why="w", fix="f")


def found(tmp_path: Path, *findings: Finding) -> list[Finding]:
    def check(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
        yield from findings

    tree = WorkTree(tmp_path)
    scene = PlatformView(platform=platform_reader.read_tree(tree), files=tree, today=datetime.date(2026, 11, 1))
    return rulebook.findings(scene, rulebook.read_rulebook(packaged=[rulebook.PackagedRule(RULE, check)]), only=["one"])


def test_passwords_of_urls_are_nowhere_in_a_finding(tmp_path: Path) -> None:
    url = "https://me:canary@git.example.org/x"
    finding = RULE.finding(f"no {url}", at=Place("a.yaml", 1), evidence=(Evidence(url),), fix=f"not {url}", key=url)
    (one,) = found(tmp_path, finding)
    assert "canary" not in repr(one)
    assert one.message == "no https://git.example.org/x"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a is given twice, first in line 170; the last counts", "a is given twice, first in line 9; the last counts"),
        ("there is another at a/b.yaml:14: one of them wins", "there is another at a/b.yaml:150:3: one of them wins"),
    ],
)
def test_a_finding_is_the_same_when_lines_have_moved(tmp_path: Path, before: str, after: str) -> None:
    (one,) = found(tmp_path, RULE.finding(before, at=Place("a.yaml", 1)))
    (two,) = found(tmp_path, RULE.finding(after, at=Place("a.yaml", 5)))
    assert one.key == two.key
    (other,) = found(tmp_path, RULE.finding(before.replace("a", "b"), at=Place("a.yaml", 1)))
    assert one.key != other.key


def test_a_finding_is_as_bad_as_its_rule_or_milder_and_has_the_fix_of_its_rule() -> None:
    severities = [
        RULE.finding("m", at=Place("a.yaml"), severity=each).severity
        for each in (None, Severity.NOTE, Severity.CRITICAL)
    ]

    assert severities == [Severity.ERROR, Severity.NOTE, Severity.ERROR]
    assert (RULE.finding("m", at=Place("a.yaml")).code, RULE.finding("m", at=Place("a.yaml")).fix) == ("one", "f")
    assert RULE.finding("m", at=(Place("a.yaml"), Place("b.yaml"))).places == (Place("a.yaml"), Place("b.yaml"))
