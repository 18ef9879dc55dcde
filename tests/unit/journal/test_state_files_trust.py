"""Whose work the state directory of a repo is: what came with the repo, or lies open to others, is not believed."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.journal import state_files


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state of a repo with a file of ours."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    file = root / state_files.NAME / "infra" / "kubeconfig"
    state_files.enter(file)
    file.write_text("ours")
    return root / state_files.NAME


def test_what_firstlight_wrote_is_believed(state: Path) -> None:
    (state / "schema.json").write_text("{}")
    git(state.parent, "add", "-f", ".firstlight/schema.json", ".firstlight/.gitignore")

    assert state_files.directory_of(state.parent) == state
    assert state_files.read(state / "infra" / "kubeconfig") == b"ours"


def test_a_repo_without_a_state_has_nothing_to_be_refused(tmp_path: Path) -> None:
    assert state_files.directory_of(tmp_path) == tmp_path / state_files.NAME
    assert not state_files.is_file(tmp_path / state_files.NAME / "infra" / "kubeconfig")


def tracked(state: Path) -> None:
    git(state.parent, "add", "-f", ".firstlight/infra/kubeconfig")


def tracked_and_renamed(state: Path) -> None:
    git(state.parent, "add", "-f", ".firstlight/infra/kubeconfig")
    git(state.parent, "commit", "-qm", "state")
    git(state.parent, "update-index", "--skip-worktree", ".firstlight/infra/kubeconfig")


def a_submodule(state: Path) -> None:
    entry = "160000,1234567890123456789012345678901234567890,.firstlight"
    git(state.parent, "update-index", "--add", "--cacheinfo", entry)


def tracked_from_above(state: Path) -> None:
    """The repo is a directory of a Git work tree."""
    (state.parent / ".git").rename(state.parent.parent / ".git")
    git(state.parent, "add", "-f", ".firstlight/infra/kubeconfig")


def open_directory(state: Path) -> None:
    (state / "infra").chmod(0o755)


def open_top(state: Path) -> None:
    state.chmod(0o777)


def linked_file(state: Path) -> None:
    (state / "infra" / "kubeconfig").rename(state / "elsewhere")
    (state / "infra" / "kubeconfig").symlink_to(state / "elsewhere")


def linked_directory(state: Path) -> None:
    (state / "infra").rename(state / "elsewhere")
    (state / "infra").symlink_to("elsewhere")


def linked_top(state: Path) -> None:
    state.rename(state.parent / "elsewhere")
    state.symlink_to("elsewhere")


def damaged_index(state: Path) -> None:
    (state.parent / ".git" / "index").write_bytes(b"DIRC\0\0\0\x63\0\0\0\1")


def another_user(state: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(state / "infra" / "kubeconfig", 12345, -1)


def another_user_above(state: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(state, 12345, -1)


HOSTILE: dict[Callable[[Path], None], str] = {
    tracked: "git rm -r --cached",
    tracked_and_renamed: "git rm -r --cached",
    a_submodule: "git rm -r",
    tracked_from_above: "git rm -r --cached",
    open_directory: "chmod -R go-rwx",
    open_top: "chmod -R go-rwx",
    linked_file: "Remove it",
    linked_directory: "Remove it",
    linked_top: "Remove it",
    damaged_index: "",
    another_user: "chown -R",
    another_user_above: "chown -R",
}


@pytest.mark.parametrize("spoil", HOSTILE, ids=lambda each: each.__name__)
def test_what_may_be_somebody_elses_is_refused_and_says_the_way_out(state: Path, spoil: Callable[[Path], None]) -> None:
    assert state_files.directory_of(state.parent) == state
    spoil(state)
    file = state / "infra" / "kubeconfig"
    asked: list[tuple[Callable[[Path], object], Path]] = [
        (state_files.directory_of, state.parent),
        (state_files.check, file),
        (state_files.read, file),
        (state_files.is_file, file),
    ]

    for ask, path in asked:
        with pytest.raises(state_files.StateUntrusted) as raised:
            ask(path)
        assert isinstance(raised.value, errors.Refused)
        assert raised.value.exit_code == 3
        assert HOSTILE[spoil] in raised.value.hint


@pytest.mark.parametrize("name", ["schema.json", ".gitignore"])
def test_what_is_for_all_is_for_all_only_at_the_top(state: Path, name: str) -> None:
    (state / "infra" / name).write_text("{}")
    git(state.parent, "add", "-f", f".firstlight/infra/{name}")

    with pytest.raises(state_files.StateUntrusted, match=f"Git tracks .firstlight/infra/{name}"):
        state_files.directory_of(state.parent)


def test_nothing_is_written_to_what_is_not_ours(state: Path) -> None:
    tracked(state)

    with pytest.raises(state_files.StateUntrusted):
        state_files.enter(state / "infra" / "lock")


def test_an_open_directory_with_something_in_it_is_not_closed_quietly(state: Path) -> None:
    (state / "infra").chmod(0o755)

    with pytest.raises(state_files.StateUntrusted):
        state_files.enter(state / "infra" / "lock")

    assert (state / "infra").stat().st_mode & 0o777 == 0o755


def test_a_directory_that_init_left_writable_for_the_group_is_repaired(tmp_path: Path) -> None:
    """Earlier versions made it by the umask, with nothing but the schema in it."""
    state = tmp_path / state_files.NAME
    state.mkdir()
    (state / "schema.json").write_text("{}")
    state.chmod(0o775)

    state_files.enter(state / "infra" / "lock")

    assert state.stat().st_mode & 0o777 == 0o755


def test_without_git_a_repo_of_git_is_not_believed(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(state.parent, "commit", "-q", "--allow-empty", "-m", "first")
    (state.parent / "file").write_text("")
    git(state.parent, "add", "file")
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(state_files.StateUntrusted, match="git is not installed"):
        state_files.directory_of(state.parent)


def test_who_calls_by_sudo_keeps_the_own_files(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    for path in (state, *state.rglob("*")):
        os.chown(path, 12345, -1)
    monkeypatch.setenv("SUDO_UID", "12345")

    assert state_files.read(state / "infra" / "kubeconfig") == b"ours"
