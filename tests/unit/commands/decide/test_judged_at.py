"""A change that was decided, judged once more by the branch into which it is about to be merged."""

import subprocess
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.git import Git
from firstlight.commands.decide import approval, decide
from firstlight.commands.decide.change_source import RevisionRange
from firstlight.model.decision import Risk
from tests.unit.commands.decide.test_check_history import GIT

RULES = "rules: [{id: notes, title: t, side: none, risk: RISK, why: w, when: [{files: [notes.md]}]}]\n"
OWNERS = "people: [{name: Ada, email: ada@example.org, roles: [lead]}]\n"


def git(repo: Path, *arguments: str) -> None:
    person = ("-c", "user.name=Bo", "-c", "user.email=bo@example.org")
    subprocess.run(["git", *person, "-C", str(repo), *arguments], check=True, capture_output=True)


def commit(repo: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / path).write_text(text)
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "x")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commit(
        tmp_path,
        {
            "firstlight-rules/ours.yaml": RULES.replace("RISK", "low"), "firstlight-rules/owners.yaml": OWNERS,
            "notes.md": "a\n",
        },
    )  # fmt: skip
    git(tmp_path, "switch", "--quiet", "-c", "work")
    commit(tmp_path, {"notes.md": "b\n"})
    git(tmp_path, "switch", "--quiet", "main")
    return tmp_path


async def decided(repo: Path) -> decide.Decided:
    """As ``firstlight change`` decides once more on a resume: between two commits, neither of them a branch."""
    base, head = await Git(GIT).resolve(repo, "main"), await Git(GIT).resolve(repo, "work")
    return await decide.decide(repo, RevisionRange(base=base, head=head), git=GIT)


async def test_rules_and_owners_of_the_branch_count(repo: Path) -> None:
    found = await decided(repo)
    commit(
        repo,
        {
            "firstlight-rules/ours.yaml": RULES.replace("RISK", "critical"),
            "firstlight-rules/owners.yaml": OWNERS.replace("ada", "cy").replace("Ada", "Cy"),
        },
    )

    decision, authority = await decide.judged_at(found, "main", git=Git(GIT))

    owners = approval.owners_of([authority])
    assert (found.decision.risk, decision.risk) == (Risk.LOW, Risk.CRITICAL)
    assert owners is not None
    assert [each.name for each in owners.people] == ["Cy"]


async def test_a_branch_whose_rules_are_wrong_judges_nothing(repo: Path) -> None:
    found = await decided(repo)
    commit(repo, {"firstlight-rules/ours.yaml": "rules: [{id: 1}]\n"})

    with pytest.raises(errors.ConfigError, match=r"firstlight-rules/ours\.yaml"):
        await decide.judged_at(found, "main", git=Git(GIT))


async def test_without_owners_nobody_approves(repo: Path) -> None:
    found = await decided(repo)
    git(repo, "rm", "--quiet", "firstlight-rules/owners.yaml")
    git(repo, "commit", "--quiet", "--message", "x")

    _, authority = await decide.judged_at(found, "main", git=Git(GIT))

    assert approval.owners_of([authority]) is None
    assert approval.owners_of([*found.states.authorities, authority]) is None
