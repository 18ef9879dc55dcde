"""What git says of commits, indexes, work trees and patches, and that nothing of the user's is touched by asking."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import git as clients_git
from firstlight.clients.git import work_tree_states
from firstlight.model import git

PROGRAM = Path(shutil.which("git") or "git")
AUTHOR = git.GitPerson("Ada", "ada@example.org")


@pytest.fixture
def git_client() -> clients_git.Git:
    return clients_git.Git(PROGRAM)


def real(cwd: Path, *arguments: str) -> bytes:
    """git as anybody runs it."""
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **identity}
    return subprocess.run(["git", *arguments], cwd=cwd, env=env, capture_output=True, check=True).stdout


@pytest.fixture
async def work(git_client: clients_git.Git, tmp_path: Path) -> Path:
    """A repository in which a file is staged, one changed, one deleted, one new and one ignored."""
    path = tmp_path / "work"
    await git_client.init(path)
    for name in ("kept", "staged", "changed", "deleted"):
        (path / f"{name}.yaml").write_text(f"name: {name}\n" * 5)
    (path / ".gitignore").write_text("ignored.yaml\n")
    (path / "link").symlink_to("kept.yaml")
    await git_client.add(path, [each.name for each in path.iterdir() if each.name != ".git"])
    await git_client.commit(path, "First", author=AUTHOR)
    (path / "staged.yaml").write_text("name: staged anew\n")
    await git_client.add(path, ["staged.yaml"])
    (path / "staged.yaml").write_text("name: changed after that\n")
    (path / "changed.yaml").write_text("name: other\n")
    (path / "deleted.yaml").unlink()
    (path / "nëw \n.yaml").write_text("name: new\n")
    (path / "ignored.yaml").write_text("")
    return path


def rows(changes: tuple[git.FileChange, ...]) -> list[tuple[str, str]]:
    return sorted((each.path, each.status) for each in changes)


async def test_the_index(git_client: clients_git.Git, work: Path) -> None:
    assert rows(await git_client.staged(work)) == [("staged.yaml", "modified")]
    found = await git_client.staged_contents(work, ["staged.yaml", "kept.yaml", "link", "none"])
    assert {path: each.data for path, each in found.items()} == {
        "staged.yaml": b"name: staged anew\n",
        "kept.yaml": b"name: kept\n" * 5,
        "link": b"kept.yaml",
    }
    assert found["link"].kind == "symlink"


async def test_the_work_tree(git_client: clients_git.Git, work: Path) -> None:
    before = real(work, "status", "--porcelain=v2", "-z")

    changed = [("changed.yaml", "modified"), ("deleted.yaml", "deleted"), ("staged.yaml", "modified")]
    assert rows(await git_client.changed_since(work)) == sorted([*changed, ("nëw \n.yaml", "untracked")])
    assert real(work, "status", "--porcelain=v2", "-z") == before


async def test_many_files_of_a_commit(git_client: clients_git.Git, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await git_client.contents(work, "HEAD", ["staged.yaml", "deleted.yaml", "link", "none", "kept.yaml"])

    assert sorted(found) == ["deleted.yaml", "kept.yaml", "link", "staged.yaml"]
    assert found["staged.yaml"].data == b"name: staged\n" * 5
    monkeypatch.setattr(work_tree_states, "FILE", 10)
    small = await git_client.contents(work, "HEAD", ["kept.yaml"])
    assert small["kept.yaml"].data is None
    assert await git_client.contents(work, "HEAD", []) == {}
    assert work_tree_states.overlay(found, ["link", "deleted.yaml", "none"]) == (
        {"deleted.yaml": b"name: deleted\n" * 5, "none": None},
        {"link": "kept.yaml"},
    )


async def test_a_directory_is_no_file(git_client: clients_git.Git, work: Path) -> None:
    (work / "dir").mkdir()
    (work / "dir" / "a.yaml").write_text("")
    await git_client.add(work, ["dir"])

    assert await git_client.staged_contents(work, ["dir"]) == {}
    assert list(await git_client.staged_contents(work, ["dir/a.yaml"])) == ["dir/a.yaml"]


async def test_a_patch(git_client: clients_git.Git, work: Path) -> None:
    real(work, "stash", "--include-untracked")
    (work / "kept.yaml").rename(work / "renamed.yaml")
    (work / "changed.yaml").write_text("name: patched\n")
    (work / "deleted.yaml").unlink()
    (work / "added.yaml").write_text("name: added\n")
    real(work, "add", "--all")
    patch = real(work, "diff", "--cached", "--binary", "--find-renames")
    real(work, "reset", "--hard")
    objects = sorted(each.name for each in (work / ".git" / "objects").rglob("*"))
    index = (work / ".git" / "index").read_bytes()

    found = await git_client.patched(work, patch)

    assert rows(found.changes) == [
        ("added.yaml", "added"),
        ("changed.yaml", "modified"),
        ("deleted.yaml", "deleted"),
        ("renamed.yaml", "renamed"),
    ]
    assert {path: each.data for path, each in found.files.items()} == {
        "added.yaml": b"name: added\n",
        "changed.yaml": b"name: patched\n",
        "renamed.yaml": b"name: kept\n" * 5,
    }
    assert sorted(each.name for each in (work / ".git" / "objects").rglob("*")) == objects
    assert (work / ".git" / "index").read_bytes() == index
    assert (work / "changed.yaml").read_text() == "name: changed\n" * 5


@pytest.mark.parametrize(
    "patch",
    [
        b"",
        b"no patch at all\n",
        b"--- a/kept.yaml\n+++ b/kept.yaml\n@@ -1,1 +1,1 @@\n-other\n+another\n",
        b"--- /dev/null\n+++ b/../outside\n@@ -0,0 +1 @@\n+x\n",
        b"--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n",
    ],
    ids=["empty", "words", "does not fit", "leads out", "leads into Git"],
)
async def test_a_patch_that_is_none(git_client: clients_git.Git, work: Path, patch: bytes) -> None:
    with pytest.raises(clients_git.GitRejected) as error:
        await git_client.patched(work, patch)
    assert "patch" in str(error.value)
    assert error.value.hint


async def test_before_the_first_commit(git_client: clients_git.Git, tmp_path: Path) -> None:
    path = tmp_path / "new"
    await git_client.init(path)
    (path / "a.yaml").write_text("a: 1\n")
    assert rows(await git_client.changed_since(path)) == [("a.yaml", "untracked")]
    await git_client.add(path, ["a.yaml"])

    assert rows(await git_client.staged(path)) == [("a.yaml", "added")]
    patch = b"--- /dev/null\n+++ b/b.yaml\n@@ -0,0 +1 @@\n+x: 1\n"
    assert rows((await git_client.patched(path, patch)).changes) == [("b.yaml", "added")]


async def test_where_branches_part(git_client: clients_git.Git, work: Path) -> None:
    fork = real(work, "rev-parse", "HEAD").decode().strip()
    real(work, "stash", "--include-untracked")
    real(work, "checkout", "-b", "feature")
    real(work, "commit", "--allow-empty", "-m", "b")
    real(work, "checkout", "main")
    real(work, "commit", "--allow-empty", "-m", "c")

    assert await git_client.merge_base(work, "main", "feature") == fork
    with pytest.raises(clients_git.GitNotFound):
        await git_client.merge_base(work, "main", "none")
    with pytest.raises(errors.UsageError):
        await git_client.contents(work, "HEAD", ["../x"])


async def test_a_partial_clone_lacks_objects_and_says_how_to_get_them(
    git_client: clients_git.Git, work: Path, tmp_path: Path
) -> None:
    partial = tmp_path / "partial"
    await git_client.commit(work, "Second", author=AUTHOR)
    real(work, "config", "uploadpack.allowFilter", "true")
    real(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{work}", str(partial))

    with pytest.raises(clients_git.GitError, match=r"the object [0-9a-f]{40} is missing") as caught:
        await git_client.contents(partial, "HEAD~1", ["staged.yaml"])

    hint = caught.value.hint
    real(partial, *hint.removeprefix("a partial clone gets it by git ").partition(",")[0].split())
    found = await git_client.contents(partial, "HEAD~1", ["staged.yaml"])
    assert found["staged.yaml"].data == b"name: staged\n" * 5
    assert "git fetch --refetch --no-filter" in hint


async def test_whether_merges_are_among_commits(git_client: clients_git.Git, work: Path) -> None:
    real(work, "reset", "--quiet", "--hard")
    real(work, "switch", "--quiet", "-c", "topic")
    real(work, "commit", "--quiet", "--allow-empty", "-m", "Second")
    real(work, "switch", "--quiet", "-")
    assert not await git_client.has_merges(work, "HEAD", "topic")

    real(work, "merge", "--quiet", "--no-ff", "-m", "Merge", "topic")

    assert await git_client.has_merges(work, "HEAD^1")
    assert not await git_client.has_merges(work, "HEAD")
