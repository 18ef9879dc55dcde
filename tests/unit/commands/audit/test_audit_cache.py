"""Answers that are known again."""

import asyncio
import dataclasses
import datetime
import os
import shutil
from pathlib import Path

import pytest

from firstlight.commands.audit import audit, audit_cache
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import repos

WISHES = AuditRequest(today=datetime.date(2026, 11, 1), rules=(repos.RULE,))


def key(root: Path, place: Path, wishes: AuditRequest = WISHES, baseline: Path | None = None) -> str:
    found = asyncio.run(audit_cache.key(WorkTree(root), wishes, baseline, place=place, git=None))
    assert found is not None
    return found


def settle(root: Path) -> None:
    """Let all files be old, so that their stamps can be trusted."""
    for file in root.rglob("*"):
        os.utime(file, ns=(1_700_000_000_000_000_000, 1_700_000_000_000_000_000))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repos.make(tmp_path / "repo")


def test_the_same_answer_comes_back_with_all_that_it_has(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    judged = asyncio.run(audit.audit(WorkTree(repo), WISHES, audit.AuditMeans()))
    assert judged.audit.findings[0].edits

    name = key(repo, place)
    audit_cache.keep(place, name, judged)

    known = audit_cache.find(place, key(repo, place))
    assert known is not None
    assert known.audit == judged.audit


@pytest.mark.parametrize(
    "change",
    [
        lambda repo: (repo / "clusters/home/web.yaml").write_text(repos.WEB + "# more\n"),
        lambda repo: (repo / "clusters/home/new.yaml").write_text("a: 1\n"),
        lambda repo: (repo / "clusters/home/web.yaml").unlink(),
        lambda repo: (repo / "clusters/home/web.yaml").chmod(0o600),
        lambda repo: (repo / "link.yaml").symlink_to("clusters/home/web.yaml"),
    ],
)
def test_whatever_changes_in_files_makes_another_answer(repo: Path, tmp_path: Path, change: object) -> None:
    before = key(repo, tmp_path / "cache")
    assert callable(change)

    change(repo)

    assert key(repo, tmp_path / "cache") != before


def test_another_question_is_another_answer(repo: Path, tmp_path: Path) -> None:
    place, baseline = tmp_path / "cache", tmp_path / "b.yaml"
    baseline.write_text("excused: []\n")
    names = [key(repo, place)]
    names += [key(repo, place, dataclasses.replace(WISHES, today=datetime.date(2026, 11, 2)))]
    names += [key(repo, place, dataclasses.replace(WISHES, rules=()))]
    names += [key(repo, place, dataclasses.replace(WISHES, clusters=("home",)))]
    names += [key(repo, place, dataclasses.replace(WISHES, with_matrix=True))]
    names += [key(repo, place, baseline=baseline)]
    baseline.write_text("excused: [] # changed\n")
    names += [key(repo, place, baseline=baseline)]

    assert len(set(names)) == len(names)


def test_a_file_whose_stamp_is_known_is_not_read(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(repo)
    monkeypatch.setattr(audit_cache, "_RACY", -(10**12))  # the time of the inode is now, whatever one says
    before = key(repo, tmp_path / "cache")
    monkeypatch.setattr(WorkTree, "bytes", lambda self, path: pytest.fail(f"{path} is read"))

    assert key(repo, tmp_path / "cache") == before


def test_a_file_that_was_just_written_is_read_again(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been written again within the same tick, with the same size."""
    key(repo, tmp_path / "cache")
    read: list[str] = []
    real = WorkTree.bytes

    def noted(self: WorkTree, path: str) -> bytes | None:
        read.append(path)
        return real(self, path)

    monkeypatch.setattr(WorkTree, "bytes", noted)

    key(repo, tmp_path / "cache")

    assert "clusters/home/web.yaml" in read


def test_a_damaged_cache_is_none(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    name = key(repo, place)
    (place / "index.json").write_text("{")
    (place / f"{name}.json").write_text('{"audit": 1}')

    assert audit_cache.find(place, key(repo, place)) is None


def test_files_of_the_cache_are_for_their_owner_alone_and_the_oldest_go(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache"
    judged = asyncio.run(audit.audit(WorkTree(repo), WISHES, audit.AuditMeans()))
    key(repo, place)
    for number in range(audit_cache._ANSWERS + 5):
        audit_cache.keep(place, f"{number:03}", judged)

    assert {each.stat().st_mode & 0o777 for each in place.iterdir()} == {0o600}
    assert len(list(place.iterdir())) == audit_cache._ANSWERS + 1


def test_a_cache_that_cannot_be_written_is_no_failure(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    judged = asyncio.run(audit.audit(WorkTree(repo), WISHES, audit.AuditMeans()))

    audit_cache.keep(place, key(repo, place), judged)

    assert place.read_text() == ""


def test_a_package_of_rules_that_was_edited_makes_another_answer(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "their_rules").mkdir(parents=True)
    code = site / "their_rules" / "rules.py"
    code.write_text("rules = []\n")
    (site / "their_rules" / "__init__.py").touch()
    about = site / "their_rules-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-rules\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[firstlight.audit]\ntheirs = their_rules.rules:rules\n")
    alone = key(repo, tmp_path / "cache")
    monkeypatch.syspath_prepend(site)

    before = key(repo, tmp_path / "cache")
    assert before == key(repo, tmp_path / "cache") != alone
    code.write_text("rules = list()\n")
    os.utime(code, ns=(1_900_000_000_000_000_000, 1_900_000_000_000_000_000))
    assert key(repo, tmp_path / "cache") != before

    (about / "entry_points.txt").write_text("[firstlight.audit]\ntheirs = not_there:rules\n")
    assert asyncio.run(audit_cache.key(WorkTree(repo), WISHES, None, place=tmp_path / "cache", git=None)) is None


def test_an_answer_without_git_is_another_one(repo: Path, tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git is not None
    place = tmp_path / "cache"
    with_git = asyncio.run(audit_cache.key(WorkTree(repo), WISHES, None, place=place, git=Path(git)))
    assert with_git not in (None, key(repo, place))
