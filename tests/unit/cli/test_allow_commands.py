"""``--allow-commands``: shown whole, asked, remembered outside of the repo."""

import dataclasses
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli import allow_commands
from firstlight.execute import command_digest, repo_commands
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader

DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters: {home: {}}
components:
  db:
    gates:
      - command: {run: [./check, "\\e[31m"]}
    hooks:
      - {run: [./seed], unless: [./check, seeded]}
"""
ALL = (("./check", "\x1b[31m"), ("./check", "seeded"), ("./seed",))


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "repo"
    root.mkdir()
    (root / "helmfile.yaml").write_text("releases:\n  - {name: db, namespace: data, chart: charts/db}\n")
    (root / "firstlight.yaml").write_text(DECLARED)
    (root / "seed").write_text("#!/bin/sh\n")
    (root / "check").write_text("#!/bin/sh\n")
    return platform_reader.read(root)


def is_allowed(repo: Platform, words: tuple[str, ...]) -> bool:
    return allow_commands.known().has(command_digest.command_digest(words, repo.root), repo.root)


def test_everything_is_shown_and_remembered(repo: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    assert not any(is_allowed(repo, each) for each in ALL)

    allow_commands.allow(repo, repo.clusters[0], yes=True)

    assert all(is_allowed(repo, each) for each in ALL)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = [each.strip() for each in shown.err.splitlines()]
    digest = command_digest.command_digest(("./seed",), repo.root)
    at = lines.index("./seed")
    assert lines[at + 1 : at + 5] == [
        "hook of db   firstlight.yaml:10:9",
        "covers every file of the repo and its mode, 4 now: it may read any of them",
        "look at seed",
        digest.value,
    ]
    assert "\x1b" not in shown.err
    assert str(repo_commands.allowed_path()) in lines[-1]
    assert not repo_commands.allowed_path().is_relative_to(repo.root)


def test_after_any_change_commands_are_asked_about_again(repo: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    allow_commands.allow(repo, repo.clusters[0], yes=True)
    capsys.readouterr()
    allow_commands.allow(repo, repo.clusters[0], yes=False)
    assert capsys.readouterr().err.count("allowed already") == 3
    (repo.root / "library").write_text("true\n")
    assert not any(is_allowed(repo, each) for each in ALL)

    allow_commands.allow(repo, repo.clusters[0], yes=True)

    assert "allowed already" not in capsys.readouterr().err
    assert all(is_allowed(repo, each) for each in ALL)


def test_without_anybody_to_ask_nothing_is_allowed(repo: Platform) -> None:
    with pytest.raises(errors.Refused, match="were not allowed"):
        allow_commands.allow(repo, repo.clusters[0], yes=False)

    assert not repo_commands.allowed_path().exists()


def test_a_command_that_reads_nothing_of_the_repo_stays_allowed(
    repo: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("kubectl", "rollout", "status", "deployment/db")
    (repo.root / "firstlight.yaml").write_text(DECLARED.replace("[./seed]", f"[{', '.join(words)}]"))
    mine = platform_reader.read(repo.root)

    allow_commands.allow(mine, mine.clusters[0], yes=True)

    assert "covers the command alone: it reads no file of the repo" in capsys.readouterr().err
    (repo.root / "library").write_text("true\n")
    assert is_allowed(mine, words)


def test_what_a_repo_calls_itself_is_shown_and_not_obeyed(
    repo: Platform, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = repo.root.rename(tmp_path / "re\x1b[2Jpo\u202e")
    cluster = dataclasses.replace(repo.clusters[0], name="ho\x1b[2Jme")

    allow_commands.allow(dataclasses.replace(repo, root=moved), cluster, yes=True)

    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "ho\\x1b[2Jme: the repo" in shown
