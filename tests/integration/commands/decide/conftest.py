"""The repo that tests change, and the command on it."""

import shutil
from pathlib import Path

import pytest

from tests.integration.commands.decide.git_repo import PLATFORM, Decide, commit, git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = Path(shutil.copytree(PLATFORM, tmp_path / "repo"))
    git(made, "init", "--quiet", "--initial-branch=main")
    commit(made, "base")
    return made


@pytest.fixture
def decide(repo: Path, capsys: pytest.CaptureFixture[str]) -> Decide:
    return Decide(repo, capsys)
