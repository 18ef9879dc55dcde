"""A ``.git`` that leads elsewhere is followed only where that place names the tree: worktrees and submodules do."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.git import Git, GitPointsElsewhere, repository
from firstlight.clients.git.user_git import UserGit
from firstlight.journal import state_files
from firstlight.repo.work_tree import WorkTree


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A repository of the user, with a remote that is nobody's business."""
    root = tmp_path / "own"
    root.mkdir()
    git(root, "init", "-q")
    (root / "private.txt").write_text("private")
    git(root, "add", ".")
    git(root, "commit", "-qm", "private")
    git(root, "config", "remote.origin.url", "https://git.example.org/private")
    return root


def a_worktree(own: Path) -> Path:
    git(own, "worktree", "add", "-q", "../second")
    return own.parent / "second"


def a_relative_worktree(own: Path) -> Path:
    tree = a_worktree(own)
    kept = own / ".git" / "worktrees" / "second"
    (tree / ".git").write_text(f"gitdir: {os.path.relpath(kept, tree)}\n")
    (kept / "gitdir").write_text(f"{os.path.relpath(tree / '.git', kept)}\n")
    return tree


def a_submodule(own: Path) -> Path:
    outer = own.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(own), "parts/inner")
    return outer / "parts" / "inner"


def a_separate_directory(own: Path) -> Path:
    tree = own.parent / "tree"
    git(own, "clone", "-q", "--separate-git-dir", str(own.parent / "elsewhere.git"), str(own), str(tree))
    git(tree, "config", "core.worktree", str(tree))
    return tree


def one_within(own: Path) -> Path:
    (own / ".git").rename(own / "data")
    (own / ".git").write_text("gitdir: data\n")
    return own


@pytest.mark.parametrize("make", [a_worktree, a_relative_worktree, a_submodule, a_separate_directory, one_within])
async def test_what_belongs_together_is_followed(own: Path, make: Callable[[Path], Path]) -> None:
    tree = make(own)

    assert repository.locate(tree).work_tree == tree
    assert "private.txt" in await Git(Path(shutil.which("git") or "")).ls_files(tree)


def a_file(own: Path, tree: Path) -> None:
    (tree / ".git").write_text(f"gitdir: {own / '.git'}\n")


def a_link(own: Path, tree: Path) -> None:
    (tree / ".git").symlink_to(own / ".git")


def a_file_to_a_worktree_of_another(own: Path, tree: Path) -> None:
    a_worktree(own)
    (tree / ".git").write_text(f"gitdir: {own / '.git' / 'worktrees' / 'second'}\n")


def a_common_directory(own: Path, tree: Path) -> None:
    """A Git directory of the tree's own, whose objects and config are another one's."""
    (tree / ".git").mkdir()
    (tree / ".git" / "HEAD").write_text("ref: refs/heads/master\n")
    (tree / ".git" / "commondir").write_text(str(own / ".git"))


def a_worktree_of_its_own_word(own: Path, tree: Path) -> None:
    """What the tree says of itself does not count."""
    kept = tree / "git" / "worktrees" / "x"
    kept.mkdir(parents=True)
    (kept / "HEAD").write_text("ref: refs/heads/master\n")
    (kept / "gitdir").write_text(str(tree / ".git"))
    (kept / "commondir").write_text(str(own / ".git"))
    (tree / ".git").write_text("gitdir: git/worktrees/x\n")


HOSTILE = [a_file, a_link, a_file_to_a_worktree_of_another, a_common_directory, a_worktree_of_its_own_word]


@pytest.fixture(params=HOSTILE, ids=lambda each: each.__name__)
def hostile(request: pytest.FixtureRequest, own: Path) -> Path:
    """A directory as it may come out of an archive."""
    tree = own.parent / "unpacked"
    tree.mkdir()
    (tree / "a.yaml").write_text("a: 1\n")
    request.param(own, tree)
    return tree


async def test_a_stranger_is_not_followed(hostile: Path) -> None:
    program = Path(shutil.which("git") or "")

    with pytest.raises(GitPointsElsewhere):
        await Git(program).ls_files(hostile)
    with pytest.raises(errors.Refused) as raised:
        await UserGit(program).remotes(hostile)
    assert "git worktree repair" in raised.value.hint


def test_its_files_are_read_without_git_and_that_is_said(hostile: Path) -> None:
    tree = WorkTree(hostile)

    assert "a.yaml" in tree.files
    assert "private.txt" not in tree.files
    assert any("not followed" in each.message for each in tree.diagnostics)


def test_its_state_is_not_believed(hostile: Path) -> None:
    (hostile / state_files.NAME / "infra").mkdir(parents=True, mode=0o700)
    (hostile / state_files.NAME).chmod(0o700)

    with pytest.raises(state_files.StateUntrusted, match="whether Git tracks"):
        state_files.directory_of(hostile)


def test_another_users_repository_is_not_followed(own: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    tree = a_worktree(own)
    os.chown(own / ".git" / "worktrees" / "second", 12345, -1)

    with pytest.raises(GitPointsElsewhere, match="another user"):
        repository.locate(tree)
