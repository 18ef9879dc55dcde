"""Which files count: what is committed does, wherever it stands; what firstlight keeps beside it does not."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from firstlight.commands.decide import repo_states
from firstlight.commands.decide.change_source import RevisionRange

PERSON = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
OWN = ".firstlight/app/a.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / OWN).parent.mkdir(parents=True)
    (tmp_path / OWN).write_text("a: 1\n")
    (tmp_path / "b.yaml").write_text("b: 1\n")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", "--all")
    _git(tmp_path, "commit", "--quiet", "--message=first")
    return tmp_path


def _git(repo: Path, *arguments: str) -> None:
    subprocess.run(["git", *PERSON, "-C", str(repo), *arguments], check=True)


def _differing(repo: Path, asked: RevisionRange) -> tuple[str, ...]:
    program = shutil.which("git")
    assert program is not None
    return asyncio.run(repo_states.read(repo, asked, git=Path(program))).paths


def test_what_is_committed_counts_also_among_what_firstlight_keeps(repo: Path) -> None:
    (repo / OWN).write_text("a: 2\n")

    assert _differing(repo, RevisionRange(base="HEAD")) == (OWN,)
    _git(repo, "commit", "--quiet", "--all", "--message=second")
    assert _differing(repo, RevisionRange(base="HEAD~1", head="HEAD")) == (OWN,)


def test_what_firstlight_keeps_beside_does_not(repo: Path) -> None:
    (repo / ".firstlight/journal").write_text("a\n")
    (repo / "c.yaml").write_text("c: 1\n")

    assert _differing(repo, RevisionRange(base="HEAD")) == ("c.yaml",)
