from pathlib import Path

import pytest

from firstlight.clients.git import Git
from tests.unit.clients.recorder import Recorder

TIP = "1" * 40


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    made = Recorder(tmp_path / "program", "git")
    made.says(f"{TIP}\n", when="rev-parse")
    made.says("refs/heads/main\n", when="symbolic-ref")
    made.says("0" * 40 + "\n", when="merge-base")
    return made


@pytest.fixture
def git_client(program: Recorder) -> Git:
    return Git(program.path, schemes={"https", "ssh", "file"}, environ={"PATH": "/usr/bin:/bin"})


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    """As little of a repository as is needed to be taken for one."""
    path = tmp_path / "work"
    for name in ("objects", "refs"):
        (path / ".git" / name).mkdir(parents=True)
    (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (path / ".git" / "config").write_text("")
    return path
