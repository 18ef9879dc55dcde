"""``firstlight override align`` as it is typed, with what was applied in a file: the cluster is not asked."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from firstlight.cli import main

COMMON = Path(__file__).parents[3] / "scenarios/align/common"
FEWER = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 5}
"""
HOST = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: web, env: [{name: HOST, value: shop.example.net}]}]}}}
"""
FIELD = "spec.template.spec.containers[name=web].env[name=HOST].value"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repo"
    for name in ("flux", "shop"):
        for path, content in yaml.safe_load((COMMON / f"{name}.yaml").read_text()).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ada@example.org")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=start")
    return root


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def align(root: Path, live: str, *options: str) -> int:
    file = root.parent / "live.yaml"
    file.write_text(live)
    return main.run(["override", "align", "--repo", str(root), "--offline", "-f", str(file), *options])


def test_it_is_shown_then_written_and_then_git_has_it(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert align(repo, FEWER) == 2
    shown = capsys.readouterr().out
    assert "✔ Deployment shop/web spec.replicas   apps/shop/web.yaml:7" in shown
    assert "+  replicas: 5   # enough for a weekday" in shown
    assert not git(repo, "status", "--porcelain")
    assert align(repo, FEWER, "--write") == 0
    assert git(repo, "status", "--porcelain") == "M apps/shop/web.yaml"
    capsys.readouterr()
    assert align(repo, FEWER) == 0
    assert "Git has all of it" in capsys.readouterr().out


def test_a_commit_on_a_branch_has_the_edit_and_nothing_else(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "notes.txt").write_text("mine")
    assert align(repo, FEWER, "--branch", "rescue", "--output", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["written"] is True
    assert answer["commit"] == git(repo, "rev-parse", "rescue")
    assert git(repo, "branch", "--show-current") == "rescue"
    assert git(repo, "show", "--name-only", "--format=", "rescue") == "apps/shop/web.yaml"
    assert "- Deployment shop/web spec.replicas (apps/shop/web.yaml)" in git(repo, "log", "-1", "--format=%B", "rescue")
    assert git(repo, "status", "--porcelain") == "?? notes.txt"


def test_somebodys_half_done_edit_is_not_committed_along(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = repo / "apps/shop/web.yaml"
    web.write_text(web.read_text().replace("What people see", "Half done"))
    assert align(repo, FEWER, "--commit") == 3
    assert "apps/shop/web.yaml has changes that are not committed" in capsys.readouterr().err
    assert "replicas: 2" in web.read_text()


def test_what_a_person_must_decide_is_asked_for_and_can_be_typed(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    for path, content in yaml.safe_load((COMMON / "variables.yaml").read_text()).items():
        (repo / path).write_text(content)
    assert align(repo, HOST) == 3
    said = capsys.readouterr().out
    assert f"choose: --choose '{FIELD}=apps/shop/web.yaml:23'" in said
    assert "would also change Service shop/web of home" in said
    assert align(repo, HOST, "--write", "--choose", f"{FIELD}=apps/shop/web.yaml:23") == 0
    assert "value: shop.example.net" in (repo / "apps/shop/web.yaml").read_text()


def test_a_choice_without_a_place_is_a_mistake(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert align(repo, FEWER, "--choose", "spec.replicas") == 64
    assert "names no place" in capsys.readouterr().err


def test_a_secret_is_neither_written_nor_shown(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live = "apiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: shop}\nstringData: {word: open sesame}\n"
    assert align(repo, live, "--write") == 3
    said = capsys.readouterr()
    assert "is a Secret, and never written" in said.out
    assert "sesame" not in said.out + said.err
    assert not git(repo, "status", "--porcelain")
