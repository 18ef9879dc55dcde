"""Histories of a Git repo, as data: what ``firstlight decide`` answers at their end, by its real command line.

Each YAML file is a class. The steps of a case write files and call Git one after the other; each case starts with an
empty repository on the branch ``main``, or with a copy of one of the repos beside ``changes``.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import yaml

from firstlight.cli import main
from tests.scenarios.decide.changes.deciding import REPOS

HERE = Path(__file__).parent
BO = "Bo <bo@example.org>"


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is done to the repository, in the order of the fields."""

    switch: str = ""
    """A branch, which is made if it is not there."""
    write: dict[str, str] = {}
    encoding: str = "utf-8"
    """Of what is written."""
    link: dict[str, str] = {}
    remove: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
    git: tuple[str, ...] = ()
    """Arguments of a command."""
    commit: str | None = None
    """The message, after everything was added."""
    author: str = BO
    committer: str = ""
    """Else whoever wrote it."""


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The right answer; what is left out may be anything."""

    code: int = 0
    risk: Literal["low", "medium", "high", "critical"] | None = None
    given: bool | None = None
    """Whether the approval is there."""
    says: str = ""
    """A piece of what is said of the approval, of a doubt, or of an error."""
    rule: str = ""
    """Of the gravest ruling."""
    field: str = ""
    """What that is about."""
    after: str = ""
    """What its first field becomes."""
    paths: tuple[str, ...] | None = None
    """The files that have items."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One history."""

    name: str
    why: str
    steps: tuple[Step, ...]
    ask: tuple[str, ...]
    expect: Expected
    repo: str = ""


def cases() -> Iterator[Any]:
    for file in sorted(HERE.glob("*.yaml")):
        for each in msgspec.convert(yaml.safe_load(file.read_text()), tuple[Case, ...]):
            yield pytest.param(each, id=f"{file.stem}: {each.name}")


def git(repo: Path, *arguments: str, author: str = BO, committer: str = "") -> str:
    env = {
        **os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "LC_ALL": "C",
        "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    for role, who in (("AUTHOR", author), ("COMMITTER", committer or author)):
        name, _, email = who.removesuffix(">").rpartition(" <")
        env |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": email}
    return subprocess.run(
        ["git", "-C", str(repo), *arguments], env=env, check=True, capture_output=True, text=True
    ).stdout


def walk(repo: Path, step: Step) -> None:
    if step.switch:
        known = git(repo, "branch", "--list", step.switch)
        git(repo, "switch", "--quiet", *([] if known else ["-c"]), step.switch)
    for path, content in step.write.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_bytes(content.encode(step.encoding))
    for path, target in step.link.items():
        (repo / path).symlink_to(target)
    for path in step.remove:
        shutil.rmtree(repo / path) if (repo / path).is_dir() else (repo / path).unlink()
    for path in step.executable:
        (repo / path).chmod(0o755)
    if step.git:
        git(repo, *step.git)
    if step.commit is not None:
        git(repo, "add", "--all")
        message = ["--allow-empty", "-m", step.commit]
        git(repo, "commit", "--quiet", *message, author=step.author, committer=step.committer)


def wrong(expect: Expected, code: int, found: Any) -> Iterator[str]:
    """What is not as expected."""
    items = found.get("items", [])
    answer: dict[str, Any] = {
        "code": code,
        "risk": found.get("risk"),
        "given": (found.get("approved") or {}).get("given"),
        "rule": items[0]["rulings"][0]["rule"] if items else "",
        "field": items[0]["rulings"][0]["field"] if items else "",
        "after": items[0]["fields"][0]["after"] if items and items[0]["fields"] else "",
        "paths": tuple(sorted({each["path"] for each in items})),
    }
    for what, value in answer.items():
        wanted = getattr(expect, what)
        if wanted not in (None, "") and value != wanted:
            yield f"{what} is {value!r}, not {wanted!r}"
    said = json.dumps([found.get("approved"), found.get("doubts"), found.get("error")], ensure_ascii=False)
    if expect.says not in said:
        yield f"{expect.says!r} is not in {said}"


@pytest.mark.parametrize("case", [*cases()])
def test_answered_as_a_reviewer_would(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = tmp_path / "repo"
    if case.repo:
        shutil.copytree(REPOS / case.repo, repo)
    else:
        repo.mkdir()
    git(repo, "init", "--quiet", "--initial-branch=main")
    if case.repo:
        walk(repo, Step(commit="base"))
    for step in case.steps:
        walk(repo, step)

    code = main.run(["decide", *case.ask, "--no-render", "-o", "json", "--repo", str(repo)])

    problems = list(wrong(case.expect, code, json.loads(capsys.readouterr().out)))
    assert not problems, "\n".join(problems)
