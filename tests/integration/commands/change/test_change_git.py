"""Git's part of a change with real git and no cluster: committed, known again however it is merged, taken back."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.git import Git
from firstlight.clients.git.user_git import MergeConflict, UserGit
from firstlight.commands.change import followed_branch, publish
from firstlight.commands.change.followed_branch import FollowedRepository
from tests import changing
from tests.changing import Clone

GIT = Path(shutil.which("git") or "git")
NONE = {"helm": Path("/nonexistent/helm"), "kustomize": Path("/nonexistent/kustomize")}
"""Nothing is rendered here."""
LINES = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture(autouse=True)
def _as_ada(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in changing.AUTHOR.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(followed_branch, "PAUSES", (0.05,))


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A clone with a file of twenty lines, and its remote."""
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(remote)], check=True)
    files = {"a.txt": LINES, "README.md": "words\n", "firstlight.yaml": _DECLARED}
    return changing.cloned(str(remote), tmp_path / "repo", files, kubeconfig=tmp_path / "none", programs=NONE)


_DECLARED = """apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: small}
gitops: {engine: flux, url: "https://git.example.org/me/small", branch: main}
"""


def repository(clone: Clone) -> FollowedRepository:
    return FollowedRepository(
        git=Git(GIT), own=UserGit(GIT), root=clone.root, prefix="", remote="origin", url="", followed="main"
    )


def changed(clone: Clone, *edits: tuple[int, str]) -> tuple[str, str]:
    """A branch with a commit for each edit of a line; the base and the newest commit."""
    base = clone.git("rev-parse", "HEAD")
    clone.git("switch", "--quiet", "--create", "change/a")
    for number, word in edits:
        edited(clone, number, word)
    commit = clone.git("rev-parse", "HEAD")
    clone.git("push", "--quiet", "origin", "change/a")
    clone.git("switch", "--quiet", "main")
    return base, commit


def edited(clone: Clone, number: int, word: str) -> None:
    lines = (clone.root / "a.txt").read_text().splitlines()
    lines[number] = word
    clone.write("a.txt", "\n".join(lines) + "\n")
    clone.git("commit", "--quiet", "--all", f"--message={word}")


def _merged(clone: Clone) -> None:
    clone.git("merge", "--quiet", "--no-ff", "--no-edit", "change/a")


def _forward(clone: Clone) -> None:
    clone.git("merge", "--quiet", "--ff-only", "change/a")


def _squashed(clone: Clone) -> None:
    clone.git("merge", "--quiet", "--squash", "change/a")
    clone.git("commit", "--quiet", "--message=squashed (#1)")


def _squashed_among_others(clone: Clone) -> None:
    edited(clone, 18, "somebody else's")
    _squashed(clone)
    edited(clone, 17, "and later")


def _rebased_among_others(clone: Clone) -> None:
    edited(clone, 18, "somebody else's")
    clone.git("switch", "--quiet", "--create", "rebased", "change/a")
    clone.git("rebase", "--quiet", "main")
    clone.git("switch", "--quiet", "main")
    clone.git("merge", "--quiet", "--ff-only", "rebased")
    edited(clone, 17, "and later")


def _merged_and_changed_since(clone: Clone) -> None:
    _merged(clone)
    edited(clone, 2, "since")


WAYS: list[Callable[[Clone], None]] = [
    _merged, _forward, _squashed, _squashed_among_others, _rebased_among_others, _merged_and_changed_since,
]  # fmt: skip


ONE, TWO = [(2, "two")], [(2, "two"), (9, "nine")]


@pytest.mark.parametrize(("way", "edits"), [(_squashed_among_others, ONE), *((each, TWO) for each in WAYS)])
async def test_a_change_is_known_again_however_it_is_merged(
    clone: Clone, way: Callable[[Clone], None], edits: list[tuple[int, str]]
) -> None:
    base, commit = changed(clone, *edits)
    assert await followed_branch.landed_commit(repository(clone), base=base, commit=commit, tip=base) == ""

    way(clone)
    clone.git("push", "--quiet", "origin", "main")
    found = await followed_branch.wait_merged(
        repository(clone), base=base, commit=commit, branch="change/a", say=lambda _: None
    )

    for number, word in edits:
        assert clone.git("show", f"{found}:a.txt").splitlines()[number] == word
    earlier = clone.git("show", f"{found}^:a.txt").splitlines()
    assert [earlier[number] for number, _ in edits] != [word for _, word in edits], "the first that has it"


async def test_half_of_a_change_is_not_the_change(clone: Clone) -> None:
    base, commit = changed(clone, (2, "two"), (9, "nine"))
    edited(clone, 2, "two")

    assert await followed_branch.landed_commit(repository(clone), base=base, commit=commit, tip="main") == ""


async def test_a_branch_that_others_have_gone_on_with_is_told(clone: Clone) -> None:
    base, commit = changed(clone, (2, "two"))
    clone.git("switch", "--quiet", "change/a")
    edited(clone, 5, "of a reviewer")
    clone.git("push", "--quiet", "origin", "change/a")

    with pytest.raises(errors.Refused, match="change/a has moved on to"):
        await followed_branch.wait_merged(
            repository(clone), base=base, commit=commit, branch="change/a", say=lambda _: None
        )


async def test_a_branch_that_has_moved_is_merged_into_anew(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    base, commit = changed(clone, (2, "two"))
    other = changing.again(clone, clone.root.parent / "other")
    told: list[str] = []
    push = UserGit.push

    async def late(own: UserGit, root: Path, remote: str, branch: str, *, commit: str) -> None:
        if not told:  # somebody is faster
            edited(other, 15, "faster")
            other.git("push", "--quiet", "origin", "main")
            told.append("faster")
        await push(own, root, remote, branch, commit=commit)

    monkeypatch.setattr(UserGit, "push", late)
    found = await followed_branch.merge_change(
        repository(clone), base=base, commit=commit, message="merged", say=told.append
    )

    assert told == ["faster", "main has moved meanwhile: merged anew"]
    lines = clone.git("show", f"{found}:a.txt").splitlines()
    assert (lines[2], lines[15]) == ("two", "faster")
    assert clone.git("rev-parse", "origin/main") == found
    assert clone.git("worktree", "list").count("\n") == 0, "nothing is left behind"


async def test_a_conflict_is_told_and_nothing_is_pushed(clone: Clone) -> None:
    base, commit = changed(clone, (2, "two"))
    edited(clone, 2, "another two")
    clone.git("push", "--quiet", "origin", "main")
    tip = clone.git("rev-parse", "main")

    with pytest.raises(errors.Refused, match=r"conflicts with what main has by now, in a\.txt"):
        await followed_branch.merge_change(
            repository(clone), base=base, commit=commit, message="merged", say=lambda _: None
        )
    assert clone.git("ls-remote", "origin", "main").split()[0] == tip


@pytest.mark.parametrize("way", [_merged, _squashed_among_others, _rebased_among_others])
async def test_exactly_the_change_is_taken_back_whatever_came_since(clone: Clone, way: Callable[[Clone], None]) -> None:
    base, commit = changed(clone, (2, "two"), (9, "nine"))
    way(clone)
    edited(clone, 14, "since")
    wanted = (clone.root / "a.txt").read_text().replace("two\n", "line 2\n").replace("nine\n", "line 9\n")
    own = UserGit(GIT)

    async with own.beside(clone.root, "main") as tree:
        made = await own.undo(tree, "back\n", base=base, commit=commit)
        again = await own.undo(tree, "back\n", base=base, commit=commit)

    assert clone.git("show", f"{made}:a.txt") == wanted.strip()
    assert again == "", "what is back already is not taken back twice"


async def test_what_was_changed_since_is_not_taken_back_by_a_program(clone: Clone) -> None:
    base, commit = changed(clone, (2, "two"))
    _merged_and_changed_since(clone)
    own = UserGit(GIT)

    async with own.beside(clone.root, "main") as tree:
        with pytest.raises(MergeConflict) as raised:
            await own.undo(tree, "back\n", base=base, commit=commit)
    assert raised.value.files == ("a.txt",)


async def test_hooks_and_identity_are_those_of_the_user(clone: Clone) -> None:
    hook = clone.root / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        '#!/bin/sh\necho "looked at by a hook" >>"$1"\n! grep -q forbidden a.txt || { echo no >&2; exit 1; }\n'
    )
    hook.chmod(0o755)
    own = UserGit(GIT)
    clone.write("a.txt", "forbidden\n")
    with pytest.raises(errors.ClientError, match="no"):
        await own.commit(clone.root, "a change\n", files=["a.txt"])
    clone.write("a.txt", "allowed\n")
    clone.write("new.txt", "new\n")
    clone.write("README.md", "not of the change\n")

    made = await own.commit(clone.root, "a change\n", files=["a.txt", "new.txt"])

    assert clone.git("log", "-1", "--format=%an <%ae>%n%B", made).splitlines() == [
        "Ada <ada@example.org>", "a change", "looked at by a hook",
    ]  # fmt: skip
    assert clone.git("show", "--name-only", "--format=", made).split() == ["a.txt", "new.txt"]
    assert clone.git("status", "--porcelain") == "M README.md"


async def test_a_change_of_words_alone_needs_no_cluster(clone: Clone) -> None:
    clone.write("README.md", "better words\n")

    told = await clone.change("start", "--why", "they were wrong", "--merge", "--yes", "-ojson")
    again = await clone.change("start", "--why", "they were wrong", "--yes")
    back = await clone.change("revert", told.data["id"], "--yes", "-ojson")
    listed, shown = await clone.change("list"), await clone.change("show", "--markdown")

    assert (told.code, back.code) == (0, 0), told.err + back.err
    assert (told.data["standing"], told.data["clusters"], back.data["standing"]) == ("done", [], "reverted")
    title = told.data["title"]
    assert clone.git("log", "--format=%s", "origin/main").splitlines()[:2] == [f"Revert: {title}", title]
    assert clone.git("show", "origin/main:README.md") == "words"
    assert again.code == 64
    assert listed.out.splitlines()[1].split()[:3] == [told.data["id"], "reverted", "gitops"]
    assert "**reverted**" in shown.out
    assert "they were wrong" in shown.out


async def test_what_is_committed_already_keeps_its_branch_and_its_commits(clone: Clone) -> None:
    clone.git("switch", "--quiet", "--create", "words")
    clone.write("README.md", "better words\n")
    clone.git("commit", "--quiet", "--all", "--message=Better words")
    commit = clone.git("rev-parse", "HEAD")
    clone.git("switch", "--quiet", "main")
    clone.write("a.txt", "of tomorrow\n")

    told = await clone.change(
        "start", "--diff", "main...words", "--why", "they were wrong", "--merge", "--yes", "-ojson"
    )

    assert told.code == 0, told.err
    (part,) = told.data["parts"]
    assert (part["branch"], part["commit"], part["merged"]) == ("words", commit, commit)
    assert clone.git("ls-remote", "origin", "words", "main").split()[::2] == [commit, commit]
    assert (clone.git("branch", "--show-current"), clone.git("status", "--porcelain")) == ("main", "M a.txt")


async def test_commits_that_nobody_has_decided_are_not_merged_along(clone: Clone) -> None:
    edited(clone, 3, "mine, and not pushed")
    clone.write("README.md", "better words\n")

    told = await clone.change("start", "--why", "they were wrong", "--merge", "--yes")

    assert told.code == 3
    assert "stands on a commit that origin/main does not have" in told.err
    assert "firstlight change start --diff origin/main...HEAD" in told.err
    assert clone.records() == []


async def test_a_commit_that_nobody_wrote_down_is_found_again(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone.write("README.md", "better words\n")
    real = publish.make_commit

    async def cut_off(*given: object, **named: object) -> str:
        await real(*given, **named)  # type: ignore[arg-type]
        raise errors.FirstlightError("cut off")

    monkeypatch.setattr(publish, "make_commit", cut_off)
    ended = await clone.change("start", "--why", "they were wrong", "--merge", "--yes")
    monkeypatch.undo()
    (before,) = clone.records()
    told = await clone.change("resume", "--merge", "-ojson")

    assert (ended.code, before["commit"], told.code) == (1, "", 0), told.err
    assert clone.git("show", "origin/main:README.md") == "better words"
    assert clone.git("rev-list", "--count", f"{told.data['base']}..origin/main") == "1"


async def test_without_a_yes_nothing_is_written(clone: Clone) -> None:
    clone.write("README.md", "better words\n")

    told = await clone.change("start", "--why", "they were wrong")

    assert told.code == 3
    assert "nothing was written" in told.err
    assert clone.records() == []
    assert clone.git("branch", "--format=%(refname:short)") == "main"


async def test_what_is_missing_is_said(clone: Clone) -> None:
    nothing = await clone.change("start", "--why", "none")
    unknown = await clone.change("show", "20260101-000000-none")
    reason = await clone.change("start")
    kind = await clone.change("start", "--why", "x", "--expedited")
    none = await clone.change("resume")
    wrong = await clone.change("revert", "nobody-made-it")

    assert [each.code for each in (nothing, unknown, reason, kind, none, wrong)] == [64] * 6
    assert "there is no change" in nothing.err
    assert "There is none so far" in unknown.err
    assert "a change needs a reason" in reason.err
    assert "--expedited and --emergency go together" in kind.err
    assert clone.records() == []
