"""Commands that nobody has allowed stand in the way of a run, all at once."""

from pathlib import Path
from typing import Any

import pytest

from firstlight.commands.up import preflight
from firstlight.execute import command_digest
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.repo_commands import AllowedCommands
from firstlight.execute.world import RunPrograms
from firstlight.model.component import Phase
from firstlight.model.diagnostic import Severity
from firstlight.model.plan import Plan
from firstlight.model.platform import Platform
from firstlight.plan import build, selection
from firstlight.repo import platform_reader

DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters: {home: {}}
components:
  db:
    gates:
      - command: {run: [./check, db]}
      - http: {url: "https://db.example.org/"}
    hooks:
      - {run: [./seed], unless: [./check, seeded]}
  app:
    hooks:
      - {run: [./greet], unless: [./check, greeted]}
"""
ALL = [("./check", "db"), ("./check", "seeded"), ("./seed",), ("./check", "greeted"), ("./greet",)]


@pytest.fixture
def repo(tmp_path: Path) -> Platform:
    (tmp_path / "helmfile.yaml").write_text(
        "releases:\n  - {name: db, namespace: data, chart: charts/db}\n"
        "  - {name: app, namespace: data, chart: charts/app}\n"
    )
    (tmp_path / "firstlight.yaml").write_text(DECLARED)
    for each in ("check", "seed", "greet"):
        (tmp_path / each).write_text("#!/bin/sh\n")
        (tmp_path / each).chmod(0o755)
    return platform_reader.read(tmp_path)


def planned(repo: Platform) -> Plan:
    return build.build(repo, repo.clusters[0])


def means(root: Path, *allowed: tuple[str, ...], **more: Any) -> Means:
    async def nothing(*_: object) -> Any:
        raise AssertionError("nothing is asked here")

    known = frozenset((command_digest.command_digest(each, root).value, str(root)) for each in allowed)
    return Means(
        programs=RunPrograms(), state=root / ".firstlight", open_renderer=nothing, resolve=nothing,
        talos_secrets=nothing, allowed=AllowedCommands(known), **more,
    )  # fmt: skip


def words(repo: Platform, mine: Means, **wishes: Any) -> set[str]:
    plan = selection.only(selection.until(planned(repo), wishes.get("until")), wishes.get("only", ()))
    found = preflight.command_problems(repo, plan, RunRequest(cluster="home", **wishes), mine)
    return {each.message.rpartition(": ")[2] for each in found}


def test_every_command_that_was_not_allowed_is_a_problem_with_its_place_and_content(repo: Platform) -> None:
    found = preflight.command_problems(repo, planned(repo), RunRequest(cluster="home"), means(repo.root))

    assert len(found) == len(ALL)
    assert {each.severity for each in found} == {Severity.ERROR}
    (seed,) = [each for each in found if each.message.endswith(": ./seed")]
    assert seed.message.startswith("the repo wants to run a command that was not allowed")
    assert [f"{each.where} {each.text} {each.place or ''}".strip() for each in seed.evidence] == [
        "db hook firstlight.yaml:11:9",
        f"content {command_digest.command_digest(('./seed',), repo.root).value}",
        "covers every file of the repo, 5 now",
        "file seed",
    ]
    assert "--allow-commands" in seed.fix


def test_what_was_allowed_is_no_problem_until_it_changes(repo: Platform) -> None:
    mine = means(repo.root, *ALL)
    assert words(repo, mine) == set()

    (repo.root / "library").write_text("true\n")

    assert words(repo, mine) == {" ".join(each) for each in ALL}


def test_only_what_would_run_stands_in_the_way(repo: Platform) -> None:
    mine = means(repo.root)

    assert words(repo, mine, only=("app",)) == {"./check greeted", "./greet"}
    assert words(repo, mine, until=Phase.CRDS) == set()


def test_what_cannot_be_run_is_told_before_anything_is_written(repo: Platform) -> None:
    (repo.root / "seed").chmod(0o644)
    (repo.root / "greet").unlink()
    text = (repo.root / "firstlight.yaml").read_text()
    (repo.root / "firstlight.yaml").write_text(text.replace("[./check, db]", "[no-such-program]"))
    changed = platform_reader.read(repo.root)
    mine = means(repo.root, *ALL, ("no-such-program",))

    found = preflight.command_problems(changed, planned(changed), RunRequest(cluster="home"), mine)

    assert [(each.severity, each.message) for each in found] == [
        (Severity.ERROR, "the repo wants to run ./greet, which is not there"),
        (Severity.ERROR, "the repo wants to run no-such-program, and there is no such program"),
        (Severity.ERROR, "the repo wants to run ./seed, which is not executable"),
    ]


def test_a_dry_run_runs_none_and_is_only_told(repo: Platform) -> None:
    found = preflight.command_problems(
        repo, planned(repo), RunRequest(cluster="home", is_dry_run=True), means(repo.root)
    )

    assert {each.severity for each in found} == {Severity.WARNING}


def test_a_rehearsal_asks_for_what_was_allowed_in_the_users_own_repo(repo: Platform, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for each in ("firstlight.yaml", "helmfile.yaml"):
        (copy / each).write_text((repo.root / each).read_text())
    copied = platform_reader.read(copy)
    allowed = means(repo.root, *ALL).allowed

    assert words(copied, means(copy)) != set()
    mine = means(copy, origin=repo.root)
    assert words(copied, Means(**{**vars(mine), "allowed": allowed})) == set()
