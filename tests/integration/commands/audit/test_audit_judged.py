"""Findings on repos of others, against the verdicts of people who read those repos and have not seen the rules.

``judged.jsonl`` has a line for each verdict: the repo, the rule, a digest of the file's path, and ``true``, ``half``
(severity, wording or fix was wrong), ``false`` or ``undecidable``. A new error or critical has to be judged before it
can stay: ``python -m tests.integration.commands.audit.test_audit_judged`` lists those that nobody has judged.
"""

import datetime
import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from firstlight.commands.audit import rulebook
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import Finding
from firstlight.repo import platform_reader
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.secrecy import secret_search
from firstlight.repo.work_tree import WorkTree
from tests import others
from tests.conftest import agreement

_WRONG = (Severity.ERROR, Severity.CRITICAL)
_LEAST = {"errors and criticals": 95, "warnings": 90}
"""Of a hundred findings that were judged, how many have to be true."""
Verdicts = Mapping[tuple[str, str, str], str]


@functools.cache
def verdicts() -> Verdicts:
    """The verdict on a rule in a file of a repo."""
    lines = Path(__file__).with_name("judged.jsonl").read_text().splitlines()
    return {(each["repo"], each["rule"], each["file"]): each["verdict"] for each in map(json.loads, lines)}


@functools.cache
def findings(repo: Path) -> tuple[Finding, ...]:
    """What the audit says of a repo."""
    tree = WorkTree(repo)
    scene = PlatformView(
        platform=platform_reader.read_tree(tree),
        files=tree,
        clear_secrets=secret_search.clear_secrets_of(tree),
        today=datetime.date(2026, 11, 1),
    )
    return tuple(rulebook.findings(scene, rulebook.read_rulebook()))


def verdict_on(repo: Path, finding: Finding) -> str:
    """The verdict on a finding; empty where nobody has judged it."""
    return verdicts().get((repo.name, finding.code, digest(finding.place.path)), "")


def digest(path: str) -> str:
    """A name for a file that tells nothing of the repo."""
    return hashlib.sha256(path.encode()).hexdigest()[:12]


@pytest.mark.parametrize("repo", others.EACH)
def test_what_was_judged_wrong_is_not_said_again(repo: Path) -> None:
    wrong = [
        f"{each.severity} {each.code} {each.place}: {each.message}"
        for each in findings(repo)
        if each.severity in _WRONG and verdict_on(repo, each) == "false"
    ]

    assert wrong == []


@pytest.mark.parametrize("repo", others.EACH)
def test_every_error_was_judged(repo: Path) -> None:
    assert [*unjudged(repo)] == []


@pytest.mark.parametrize("repo", others.EACH)
def test_errors_that_were_judged_true_are_still_found(repo: Path) -> None:
    there = {(each.code, digest(each.place.path)) for each in findings(repo)}
    true = {(rule, file) for (name, rule, file), said in verdicts().items() if name == repo.name and said == "true"}

    assert true - there == set()


@pytest.mark.skipif(not others.REPOS, reason="no repos of others; set FIRSTLIGHT_REPOS")
@pytest.mark.parametrize("kind", _LEAST)
def test_most_of_what_is_said_is_true(kind: str) -> None:
    severities = (Severity.WARNING,) if kind == "warnings" else _WRONG
    said = Counter(
        verdict
        for repo in others.REPOS
        for each in findings(repo)
        if each.severity in severities and (verdict := verdict_on(repo, each))
    )
    agreement(f"audit of others' repos, {kind}", said["true"], said.total())

    assert 100 * said["true"] >= _LEAST[kind] * said.total()


def unjudged(repo: Path) -> Iterator[str]:
    """The errors and criticals of a repo that nobody has judged, as lines for the file."""
    for each in findings(repo):
        if each.severity in _WRONG and not verdict_on(repo, each):
            line = {"repo": repo.name, "rule": each.code, "file": digest(each.place.path), "verdict": ""}
            yield f"{json.dumps(line)}  {each.place}: {each.message}"


if __name__ == "__main__":
    for _repo in others.REPOS:
        print(*unjudged(_repo), sep="\n")
