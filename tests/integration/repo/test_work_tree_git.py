"""Work trees of Git: what it ignores is not there, what it names is; nothing that the repo says is executed."""

import subprocess
from pathlib import Path

import pytest

from firstlight.clients.git import Git
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.trees import make


def git(path: Path, *arguments: str) -> None:
    quiet = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/bin:/bin", "HOME": str(path)}
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *arguments], cwd=path, check=True, capture_output=True, env=quiet)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    make(
        path,
        {
            ".gitignore": "*.log\n/ignored/\n",
            "tracked.yaml": "a: 1\n",
            "deleted.yaml": "",
            "a/b.yaml": "",
            "became-a-link/c.yaml": "",
        },
    )
    git(path, "init", "--quiet")
    git(path, "add", ".")
    git(path, "commit", "--quiet", "-m", "first")
    (path / "deleted.yaml").unlink()
    (path / "became-a-link/c.yaml").unlink()
    (path / "became-a-link").rmdir()
    (path / "became-a-link").symlink_to("a")
    make(path, {"untracked.yaml": "", "noise.log": "", "ignored/x.yaml": "", "a/node_modules/kept.yaml": ""})
    return path


async def test_what_git_names(repo: Path) -> None:
    """Also where an event loop runs, as it does here."""
    tree = WorkTree(repo)

    assert tree.files == (".gitignore", "a/b.yaml", "a/node_modules/kept.yaml", "tracked.yaml", "untracked.yaml")
    assert tree.is_file("became-a-link/b.yaml")
    assert not tree.is_file("became-a-link/c.yaml")
    assert tree.diagnostics == ()


def test_a_directory_of_a_repo_is_read_by_itself(repo: Path) -> None:
    assert WorkTree(repo / "a").files == ("b.yaml", "node_modules/kept.yaml")
    assert WorkTree(repo / "ignored").files == ("x.yaml",)


async def test_names_that_git_gives(repo: Path) -> None:
    client = Git(Path("/usr/bin/git"))

    whole = await client.ls_files(repo)
    part = await client.ls_files(repo / "a")

    assert set(whole) >= {"deleted.yaml", "became-a-link/c.yaml", "became-a-link", "untracked.yaml"}
    assert set(part) == {"b.yaml", "node_modules/kept.yaml"}


def test_submodules_and_other_repositories(repo: Path, tmp_path: Path) -> None:
    make(tmp_path / "other", {"x.yaml": ""})
    git(tmp_path / "other", "init", "--quiet")
    git(tmp_path / "other", "add", ".")
    git(tmp_path / "other", "commit", "--quiet", "-m", "first")
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "other"), "module")
    git(repo, "clone", "--quiet", str(tmp_path / "other"), "nested")

    tree = WorkTree(repo)

    assert not any(each.startswith(("module", "nested")) for each in tree.files)
    assert sorted(f"{each.severity} {each.place} {each.message}" for each in tree.diagnostics) == [
        "unknown module left out: a submodule, whose files belong to another repository",
        "unknown nested left out: a Git repository of its own, whose files belong to another repository",
    ]


def test_a_hostile_config_executes_nothing(repo: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.hooksPath", "core.pager", "core.sshCommand", "core.excludesFile"):
        git(repo, "config", name, str(script))
    git(repo, "config", "filter.x.clean", str(script))
    (repo / ".gitattributes").write_text("* filter=x\n")

    assert "tracked.yaml" in WorkTree(repo).files

    assert not mark.exists()


def test_a_damaged_repository_is_walked(repo: Path) -> None:
    (repo / ".git/index").write_bytes(b"nonsense")

    tree = WorkTree(repo)

    assert "noise.log" in tree.files
    assert "ignored files are read too" in tree.diagnostics[0].message


def test_without_git_the_tree_is_walked(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firstlight.clients.program_path.find", lambda _: None)

    tree = WorkTree(repo)

    assert "noise.log" in tree.files
    assert tree.diagnostics[0].message == "ignored files are read too, since git is not installed"
