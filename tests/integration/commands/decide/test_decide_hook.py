"""The hook definitions of this repo, run as pre-commit runs them, and by ``git commit`` itself."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[4]
PLATFORM = ROOT / "tests/scenarios/platform/two-clusters/repo"
PEERS = "kubernetes/bgp/peers.yaml"
PERSON = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PRE_COMMIT": "1"}
HOOKS = {each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
TELLS, CHECKS = "firstlight-decide", "firstlight-decide-check"
BROKEN = "apiVersion: [\n"


def git(repo: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = ["git", *PERSON, "-C", str(repo), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=check, env=ENVIRONMENT)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = Path(shutil.copytree(PLATFORM, tmp_path / "repo"))
    git(made, "init", "--quiet", "--initial-branch=main")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "-m", "base")
    return made


def change(repo: Path, content: str = "") -> None:
    (repo / PEERS).write_text(content or (PLATFORM / PEERS).read_text().replace("{}", "{matchLabels: {bgp: yes}}"))


def command(name: str) -> list[str]:
    """What pre-commit makes of a definition: entry and args, and no files, since it is told to pass none."""
    return [*shlex.split(HOOKS[name]["entry"]), *HOOKS[name]["args"]]


def run(repo: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(name), cwd=repo, capture_output=True, text=True, env=ENVIRONMENT, check=False)


@pytest.mark.parametrize("name", [TELLS, CHECKS])
def test_the_definitions_have_what_pre_commit_asks_for(name: str) -> None:
    hook = HOOKS[name]
    assert {"id", "name", "entry", "language"} <= hook.keys()
    assert (hook["language"], hook["pass_filenames"], hook["stages"]) == ("python", False, ["pre-commit"])


def test_it_tells_of_what_is_staged_and_lets_it_pass(repo: Path) -> None:
    change(repo)
    git(repo, "add", PEERS)

    done = run(repo, TELLS)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "gitops, medium risk" in done.stdout.splitlines()[0]
    assert PEERS in done.stdout


def test_with_the_checklist_it_fails_where_a_check_does(repo: Path) -> None:
    change(repo, BROKEN)
    git(repo, "add", PEERS)

    done = run(repo, CHECKS)

    assert done.returncode == 2, done.stdout + done.stderr
    assert "✘ Configuration syntax" in done.stdout


def test_in_a_commit_of_everything_it_sees_what_will_be_committed(repo: Path) -> None:
    """``git commit -a`` has an index of its own while hooks run."""
    hook = repo / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nexec {shlex.join(command(CHECKS))} --no-render\n")
    hook.chmod(0o755)
    change(repo, BROKEN)

    done = git(repo, "commit", "--all", "-m", "broken", check=False)

    assert done.returncode != 0
    assert "✘ Configuration syntax" in done.stdout + done.stderr
    assert git(repo, "log", "--format=%s").stdout == "base\n"
