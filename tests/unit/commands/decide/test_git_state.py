"""What Git has of a change already, and where the repo still speaks of what it takes away."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from firstlight.commands.decide import git_state, repo_states
from firstlight.commands.decide.change_source import (
    ChangeSource,
    DecisionFacts,
    RevisionRange,
    StagedChanges,
    WorkTreeChanges,
)
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.place import Place
from firstlight.repo.work_tree import WorkTree

PERSON = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path / "repo"
    made.mkdir()
    for name in ("a", "b"):
        (made / f"{name}.yaml").write_text(f"{name}: 1\n")
    _git(made, "init", "--quiet", "--initial-branch=main")
    _git(made, "add", "--all")
    _git(made, "commit", "--quiet", "--message=first")
    return made


def _git(repo: Path, *arguments: str) -> None:
    subprocess.run(["git", *PERSON, "-C", str(repo), *arguments], check=True)


def known(repo: Path, asked: ChangeSource, *rules: Path) -> DecisionFacts:
    git = shutil.which("git")
    assert git is not None

    async def read() -> DecisionFacts:
        found = await repo_states.read(repo, asked, git=Path(git))
        return await git_state.known_facts(DecisionFacts(), asked, found, changes=(), git=Path(git), rules=rules)

    return asyncio.run(read())


def test_which_branches_there_are_and_which_have_the_commits(repo: Path) -> None:
    _git(repo, "update-ref", "refs/remotes/origin/main", "HEAD")
    _git(repo, "switch", "--quiet", "--create=topic")
    (repo / "a.yaml").write_text("a: 2\n")
    _git(repo, "commit", "--quiet", "--all", "--message=second")

    found = known(repo, RevisionRange(base="main", head="topic", since_fork=True), Path("strict.yaml"))

    assert found.branches == {"main", "topic", "origin/main"}
    assert found.holding == {"topic"}
    assert found.rules == ("--rules", "strict.yaml")
    assert found.asked == ("--diff", "main...topic")


@pytest.mark.parametrize("asked", [StagedChanges(), WorkTreeChanges()])
def test_what_is_staged_is_known_as_that(repo: Path, asked: ChangeSource) -> None:
    _git(repo, "rm", "--quiet", "a.yaml")

    assert known(repo, asked).is_staged


def test_what_is_gone_from_the_index_cannot_be_added(repo: Path) -> None:
    _git(repo, "mv", "a.yaml", "c.yaml")
    (repo / "b.yaml").unlink()

    found = known(repo, RevisionRange(base="HEAD"))

    assert found.unaddable == {"a.yaml"}
    assert not found.is_staged


def test_the_same_in_a_part_of_a_repository(repo: Path) -> None:
    (repo / "part").mkdir()
    for name in ("c", "d"):
        (repo / f"part/{name}.yaml").write_text(f"{name}: 1\n")
    (repo / "part/firstlight.yaml").write_text("{}\n")
    _git(repo, "add", "--all")
    _git(repo, "commit", "--quiet", "--message=second")
    _git(repo, "rm", "--quiet", "part/c.yaml")
    (repo / "part/d.yaml").unlink()

    assert known(repo / "part", RevisionRange(base="HEAD")).unaddable == {"c.yaml"}


CILIUM = """ipam: {operator: {clusterPoolIPv4PodCIDRList: [10.244.0.0/16]}}
ipv4NativeRoutingCIDR: 10.0.0.0/8
other: 10.244.0.0/16 # and 10.244.0.0/16
# 10.244.0.0/16
near: 110.244.0.0/16 or 10.244.0.0/161
"""


def ranges(matter: Matter, *steps: str) -> Change:
    field = ChangedField(
        steps=steps, verb=ChangeVerb.CHANGED, place=Place("t.yaml", 1), before="10.244.0.0/16", after="10.9.0.0/16"
    )
    return Change(matter=matter, verb=ChangeVerb.CHANGED, place=Place("t.yaml", 1), title="t", fields=(field,))


def test_where_a_range_is_named_that_goes(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(CILIUM)
    (tmp_path / "notes.md").write_text("10.244.0.0/16\n")
    tree = WorkTree(tmp_path)

    expected = (
        "values.yaml:1 (clusterPoolIPv4PodCIDRList)",
        "values.yaml:2 (ipv4NativeRoutingCIDR)",
        "values.yaml:3",
    )
    steps = ("cluster", "network", "podSubnets", "[0]")
    assert git_state.range_mentions([ranges(Matter.MACHINE, *steps)], tree) == expected
    assert (
        git_state.range_mentions([ranges(Matter.PLATFORM, "clusters", "a", "network", "pods", "[0]")], tree) == expected
    )
    assert git_state.range_mentions([ranges(Matter.MACHINE, "machine", "network")], tree) == ()
    assert git_state.range_mentions([ranges(Matter.OBJECT, *steps)], tree) == ()
