"""Whether the engine will find in Git what bootstrap renders."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from firstlight.clients import command
from firstlight.commands.up import git_state
from firstlight.commands.up.git_state import GitState
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place

GIT = Path(shutil.which("git") or "git")
ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}  # fmt: skip


@dataclasses.dataclass
class Repo:
    """A clone, and the bare repository that an engine would follow."""

    path: Path
    remote: Path

    @property
    def cluster(self) -> Cluster:
        return Cluster(
            name="home", place=Place("firstlight.yaml"), engine=Engine.FLUX, url=f"file://{self.remote}", branch="main"
        )

    async def git(self, *words: str, at: Path | None = None) -> str:
        argv = [str(GIT), "-C", str(at or self.path), *words]
        return (await command.run(argv, env=ENVIRONMENT)).stdout.decode().strip()

    async def commit(self, name: str, at: Path | None = None) -> str:
        ((at or self.path) / name).write_text(name)
        await self.git("add", "--all", at=at)
        await self.git("commit", "--quiet", "-m", name, at=at)
        return await self.git("rev-parse", "HEAD", at=at)

    async def check(self, cluster: Cluster | None = None) -> GitState:
        return await git_state.check_git(self.path, cluster or self.cluster, GIT, schemes=("file",))


@pytest.fixture
async def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "clone", tmp_path / "remote.git")
    made.path.mkdir()
    await made.git("init", "--quiet", "--bare", "--initial-branch=main", str(made.remote), at=tmp_path)
    await made.git("init", "--quiet", "--initial-branch=main")
    await made.commit("one.yaml")
    await made.git("push", "--quiet", str(made.remote), "HEAD:main")
    return made


def _rules(state: GitState) -> dict[str, Severity]:
    return {each.code: each.severity for each in state.problems}


async def test_what_is_pushed_may_begin(repo: Repo) -> None:
    state = await repo.check()

    assert state.is_pushed
    assert state.commit == await repo.git("rev-parse", "HEAD")
    assert state.problems == ()


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_what_git_was_told_not_to_look_at_is_not_as_in_the_commit(repo: Repo, flag: str) -> None:
    await repo.git("update-index", flag, "one.yaml")
    (repo.path / "one.yaml").write_text("other")
    assert await repo.git("status", "--porcelain") == ""

    state = await repo.check()

    assert (state.dirty, state.unwatched) == (("one.yaml",), ("one.yaml",))
    (problem,) = state.problems
    assert problem.code == "uncommitted"
    assert "one.yaml: git update-index --no-assume-unchanged" in problem.fix


async def test_commits_that_are_not_pushed_are_refused(repo: Repo) -> None:
    await repo.commit("two.yaml")
    await repo.commit("three.yaml")

    state = await repo.check()

    assert (state.unpushed, state.is_behind, state.is_pushed) == (2, False, False)
    assert _rules(state) == {"commit-not-pushed": Severity.ERROR}
    assert state.problems[0].fix.startswith("git push ")


async def test_a_clone_that_is_behind_is_refused(repo: Repo) -> None:
    await repo.commit("two.yaml")
    await repo.git("push", "--quiet", str(repo.remote), "HEAD:main")
    await repo.git("reset", "--quiet", "--hard", "HEAD~1")

    state = await repo.check()

    assert (state.unpushed, state.is_behind) == (0, True)
    assert _rules(state) == {"branch-behind": Severity.ERROR}


async def test_diverged_branches_are_refused(repo: Repo, tmp_path: Path) -> None:
    other = tmp_path / "other"
    await repo.git("clone", "--quiet", str(repo.remote), str(other), at=tmp_path)
    await repo.commit("theirs.yaml", at=other)
    await repo.git("push", "--quiet", "origin", "HEAD:main", at=other)
    await repo.commit("mine.yaml")

    state = await repo.check()

    assert state.is_diverged
    assert _rules(state) == {"branch-diverged": Severity.ERROR}


async def test_files_that_are_not_committed_are_warned_of(repo: Repo) -> None:
    (repo.path / "one.yaml").write_text("changed")
    (repo.path / ".firstlight").mkdir()
    (repo.path / ".firstlight" / "lock").write_text("ours")

    state = await repo.check()

    assert state.dirty == ("one.yaml",)
    assert _rules(state) == {"uncommitted": Severity.WARNING}
    assert state.problems[0].message == (
        "1 file is not as in the commit: bootstrap takes it as it is, the engine does not"
    )


async def test_a_platform_below_the_top_is_not_blamed_for_its_neighbours(repo: Repo) -> None:
    (repo.path / "platform").mkdir()
    await repo.commit("platform/a.yaml")
    await repo.git("push", "--quiet", str(repo.remote), "HEAD:main")
    (repo.path / "one.yaml").write_text("changed")
    (repo.path / "platform" / "b.yaml").write_text("new")

    state = await git_state.check_git(repo.path / "platform", repo.cluster, GIT, schemes=("file",))

    assert state.dirty == ("platform/b.yaml",)


async def test_a_branch_that_the_remote_does_not_have_is_refused(repo: Repo) -> None:
    state = await repo.check(dataclasses.replace(repo.cluster, branch="live"))

    assert _rules(state) == {"branch-missing": Severity.ERROR}


async def test_without_a_branch_the_default_one_counts(repo: Repo) -> None:
    assert (await repo.check(dataclasses.replace(repo.cluster, branch=""))).follows == "main"


async def test_a_remote_that_does_not_answer_is_warned_of(repo: Repo, tmp_path: Path) -> None:
    state = await repo.check(dataclasses.replace(repo.cluster, url=f"file://{tmp_path}/nowhere.git"))

    assert state.unreachable
    assert _rules(state) == {"remote-unknown": Severity.WARNING}


async def test_no_repository_is_warned_of(tmp_path: Path) -> None:
    cluster = Cluster(name="home", place=Place("firstlight.yaml"), engine=Engine.FLUX)

    state = await git_state.check_git(tmp_path, cluster, GIT)

    assert (state.commit, _rules(state)) == ("", {"commit-unknown": Severity.WARNING})


async def test_an_artifact_has_no_commit(repo: Repo) -> None:
    state = await repo.check(dataclasses.replace(repo.cluster, url="oci://registry.example.org/home"))

    assert (state.commit, state.problems) == ("", ())


@pytest.mark.parametrize("name", ["infra/identity.json", "infra/lock", "home"])
async def test_what_only_firstlight_writes_must_not_come_from_git(repo: Repo, name: str) -> None:
    (repo.path / ".firstlight" / "infra").mkdir(parents=True)
    (repo.path / ".firstlight" / name).symlink_to("/etc/passwd")
    await repo.commit("two.yaml")

    (found,) = [each for each in (await repo.check()).problems if each.code == "state-committed"]

    assert found.severity == Severity.ERROR
    assert f".firstlight/{name}" in found.message


async def test_a_link_in_its_place_must_not_come_from_git_and_the_schema_may(repo: Repo) -> None:
    (repo.path / "below" / ".firstlight").mkdir(parents=True)
    (repo.path / "below" / ".firstlight" / "schema.json").write_text("{}")
    (repo.path / ".firstlight").symlink_to("/tmp")
    await repo.commit("two.yaml")

    assert (await repo.check()).kept == (".firstlight",)
    assert (await git_state.check_git(repo.path / "below", repo.cluster, GIT, schemes=("file",))).kept == ()
