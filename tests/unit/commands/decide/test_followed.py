"""Procedures and ways back as somebody follows them: Git's commands, in the order in which they are printed."""

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from firstlight.commands.decide import decide
from firstlight.commands.decide.change_source import ChangeSource, WorkTreeChanges, between
from firstlight.model.decision import Decision, ProcedureStep
from tests.unit.commands.decide.test_our_procedures import MACHINES

PERSON = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A clone of a repo that a forge has."""
    made = tmp_path / "repo"
    for path, text in MACHINES.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    _git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=trunk", "forge.git")
    _git(made, "init", "--quiet", "--initial-branch=trunk")
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org"), ("commit.gpgsign", "false")):
        _git(made, "config", name, value)
    _git(made, "add", "--all")
    _git(made, "commit", "--quiet", "--message=first")
    _git(made, "remote", "add", "origin", "../forge.git")
    _git(made, "push", "--quiet", "--set-upstream", "origin", "trunk")
    return made


def _git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *PERSON, "-C", str(repo), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _decided(repo: Path, asked: ChangeSource) -> Decision:
    git = shutil.which("git")
    assert git is not None
    return asyncio.run(decide.decide(repo, asked, git=Path(git))).decision


def _follow(repo: Path, steps: Sequence[ProcedureStep], *, squashed: bool = False) -> list[str]:
    """Do what is said with Git, as somebody with a shell and a forge does; what was typed."""
    typed = []
    for each in steps:
        if each.text.startswith("merged into"):
            _merge(repo, squashed=squashed)
        elif each.command.startswith("git "):
            command = each.command if each.command != "git commit" else "git commit --message=why"
            done = subprocess.run(command, shell=True, cwd=repo, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command}: {done.stderr or done.stdout}"
            typed.append(each.command)
    return typed


def _merge(repo: Path, *, squashed: bool) -> None:
    """The branch that was pushed is merged on the forge."""
    branch, forge = _git(repo, "branch", "--show-current"), repo.parent / "elsewhere"
    _git(repo.parent, "clone", "--quiet", "--branch=trunk", "forge.git", str(forge))
    _git(forge, "merge", "--quiet", *(["--squash"] if squashed else ["--no-ff"]), f"origin/{branch}")
    if squashed:
        _git(forge, "commit", "--quiet", "--message=squashed")
    _git(forge, "push", "--quiet", "origin", "trunk")
    shutil.rmtree(forge)


def _bumped(repo: Path) -> None:
    (repo / "apps/web/all.yaml").write_text(MACHINES["apps/web/all.yaml"].replace("1.0.0", "1.1.0"))


def _removed(repo: Path) -> None:
    _git(repo, "rm", "--quiet", "-r", "clusters/home/web.yaml", "apps/web")


def _deleted(repo: Path) -> None:
    (repo / "clusters/home/web.yaml").unlink()
    shutil.rmtree(repo / "apps/web")


def _moved(repo: Path) -> None:
    _git(repo, "mv", "apps/web/all.yaml", "apps/web/one.yaml")
    _git(repo, "restore", "--staged", "apps/web/one.yaml")


def _patched(repo: Path) -> None:
    (repo / "talos/patches/network.yaml").write_text(MACHINES["talos/patches/network.yaml"].replace("53", "54"))


@pytest.mark.parametrize(
    ("change", "squashed"), [(_bumped, False), (_removed, True), (_deleted, False), (_patched, True)]
)
def test_a_change_is_done_and_taken_back(repo: Path, change: Callable[[Path], None], squashed: bool) -> None:
    tree = _git(repo, "rev-parse", "HEAD^{tree}")
    change(repo)
    decision = _decided(repo, WorkTreeChanges())
    _follow(repo, decision.procedure, squashed=squashed)
    _git(repo, "fetch", "--quiet")
    assert _git(repo, "rev-parse", "origin/trunk^{tree}") == _git(repo, "rev-parse", "HEAD^{tree}") != tree

    typed = _follow(repo, decision.rollback, squashed=squashed)

    _git(repo, "fetch", "--quiet")
    assert _git(repo, "rev-parse", "origin/trunk^{tree}") == tree
    assert [each.split()[1] for each in typed] == ["switch", "pull", "switch", "revert", "push"]


def test_what_is_half_staged_is_committed_whole(repo: Path) -> None:
    _moved(repo)
    _follow(repo, _decided(repo, between("HEAD")).procedure)

    assert _git(repo, "status", "--porcelain") == ""


def test_of_a_merge_only_the_way_back_is_left(repo: Path) -> None:
    tree = _git(repo, "rev-parse", "HEAD^{tree}")
    _bumped(repo)
    _follow(repo, _decided(repo, WorkTreeChanges()).procedure)
    _git(repo, "switch", "--quiet", "trunk")
    _git(repo, "pull", "--quiet")

    decision = _decided(repo, between("HEAD~1..HEAD"))

    assert not any(each.command.startswith("git") for each in decision.procedure)
    assert any("git revert --no-edit -m 1 " in each.command for each in decision.rollback)
    _follow(repo, decision.rollback)
    _git(repo, "fetch", "--quiet")
    assert _git(repo, "rev-parse", "origin/trunk^{tree}") == tree
