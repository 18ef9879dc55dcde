"""What the Git server needs of git, and what it hears from git's hook."""

import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import command
from firstlight.lab.sources import git_repositories
from firstlight.lab.sources.declarations import DeclaredSources, SourcesHome
from firstlight.lab.sources.git_repositories import BareRepositories, RefUpdate

OLD, NEW, NONE = "a" * 40, "b" * 40, "0" * 40


@pytest.fixture
def repositories(tmp_path: Path) -> BareRepositories:
    home = SourcesHome(tmp_path / "home")
    home.make()
    return BareRepositories(home, DeclaredSources(home))


async def test_the_hook_leaves_what_moved_in_a_file(repositories: BareRepositories) -> None:
    await repositories.prepare()
    log = repositories.push_log()
    said = f"{OLD} {NEW} refs/heads/main\n{NONE} {NEW} refs/tags/v1\n{OLD} {NONE} refs/heads/ü\n".encode()

    env = {"PATH": os.environ["PATH"], git_repositories.PUSH_LOG: str(log)}
    await command.run([str(repositories.hooks / "post-receive")], env=env, stdin=said)

    assert git_repositories.take_updates(log) == (
        RefUpdate("refs/heads/main", OLD, NEW), RefUpdate("refs/tags/v1", NONE, NEW),
        RefUpdate("refs/heads/ü", OLD, NONE),
    )  # fmt: skip
    assert git_repositories.take_updates(log) == (), "told twice"


async def test_a_git_without_its_server_program_is_named_at_the_start(
    repositories: BareRepositories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho /nonexistent\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    with pytest.raises(errors.LabError, match="git-daemon"):
        await repositories.prepare()
