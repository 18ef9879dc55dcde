"""Commands that start interpreters or installers, run by hand in a directory that wants to be run."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import planted

Run = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = Path(sys.executable).with_name("firstlight")


@pytest.fixture
def here(tmp_path: Path) -> planted.Planted:
    return planted.plant(tmp_path / "repo")


@pytest.fixture
def firstlight(here: planted.Planted, tmp_path: Path, programs: dict[str, Path]) -> Iterator[Run]:
    """The command, as it is installed; its PATH leads into the directory first."""
    environment = {**os.environ, "FIRSTLIGHT_LABS": str(tmp_path / "labs"), "COLUMNS": "120"}
    environment["PATH"] = here.environment(os.environ["PATH"])["PATH"]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROGRAM, *arguments], cwd=here.directory, env=environment, capture_output=True, text=True, check=False
        )

    yield run
    run("lab", "down", "--all")


def test_a_lab_runs_nothing_of_it(firstlight: Run, here: planted.Planted, tmp_path: Path) -> None:
    """Supervisor, simulator, sources and stand-ins are Python; the lab's Git, and ours, are found on PATH."""
    settings = tmp_path / "lab.yaml"
    settings.write_text("sources: true\nstandins: true\n")

    up = firstlight("lab", "up", "--settings", str(settings), "--workers", "1")
    assert up.returncode == 0, up.stderr
    made = firstlight("lab", "source", "repo", "me/fleet", "-o", "json")
    state = json.loads(firstlight("lab", "status", "-ojson").stdout)
    op = subprocess.run(
        [tmp_path / "labs/default/bin/op", "--version"], cwd=here.directory, env=here.environment(os.environ["PATH"]),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    cloned = subprocess.run(
        ["git", "ls-remote", json.loads(made.stdout)["url"]], capture_output=True, text=True, check=False
    )
    down = firstlight("lab", "down")

    assert {"simulator", "sources", "standins"} <= {part["name"] for part in state["parts"]}
    assert state["ready"]
    assert (made.returncode, op.returncode, cloned.returncode, down.returncode) == (0, 0, 0, 0), made.stderr
    assert here.ran == []


def test_looking_for_tools_runs_nothing_of_it(firstlight: Run, here: planted.Planted) -> None:
    listed = firstlight("tools", "-o", "json")

    assert listed.returncode == 0, listed.stderr
    assert str(here.directory) not in listed.stdout
    assert here.ran == []


@pytest.mark.parametrize("command", ["inventory", "plan", "audit", "decide"])
def test_reading_a_repo_runs_nothing_of_it(command: str, firstlight: Run, here: planted.Planted) -> None:
    """With the directory as the repo, too; whatever they say of it."""
    subprocess.run(["git", "init", "--quiet"], cwd=here.directory, check=True)

    firstlight(command, "--repo", ".")

    assert here.ran == []
