"""The files of a work tree, as they are asked for."""

from pathlib import Path

import pytest

from firstlight.clients import git
from firstlight.clients.git import Git
from tests.unit.clients.recorder import Recorder

ASKED = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--full-name", "--"]


async def test_names_are_relative_to_what_is_asked_for(git_client: Git, program: Recorder, work_tree: Path) -> None:
    (work_tree / "a").mkdir()
    program.says("a/x\0a/line\nbreak\0a/x\0other\0", when="ls-files")

    assert await git_client.ls_files(work_tree) == ("a/x", "a/line\nbreak", "other")
    assert await git_client.ls_files(work_tree / "a") == ("x", "line\nbreak")

    asked = [each for each in program.argvs if "ls-files" in each]
    assert asked == [[*ASKED, "."], [*ASKED, "a"]]


async def test_a_bare_repository_has_no_files(git_client: Git, work_tree: Path, tmp_path: Path) -> None:
    bare = (work_tree / ".git").rename(tmp_path / "bare")

    with pytest.raises(git.NotARepository):
        await git_client.ls_files(bare)
