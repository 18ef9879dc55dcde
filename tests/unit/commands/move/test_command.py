"""``firstlight move`` as it is typed: exit codes, the diff, the work tree, JSON."""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from firstlight.cli import main

HOME = Path(__file__).parents[4] / "examples" / "home"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOME, tmp_path / "home"))


def run(repo: Path, *arguments: str) -> int:
    return main.run(["move", *arguments, "--repo", str(repo), "--no-render"])


def test_there_is_something_to_write(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (repo / "firstlight.yaml").read_text()
    assert run(repo, "cert-manager", "--to", "gitops") == 2
    told = capsys.readouterr().out
    assert "cert-manager   home   bootstrap, then gitops › gitops" in told
    assert "\n-  cert-manager: {phase: core" in told
    assert (repo / "firstlight.yaml").read_text() == before


def test_written_it_is_there(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repo, "cert-manager", "--to", "gitops", "--write") == 0
    assert "cert-manager:" not in (repo / "firstlight.yaml").read_text()
    assert run(repo, "cert-manager", "--to", "gitops", "--write") == 0
    assert "is there already" in capsys.readouterr().out


def test_a_deadlock_is_refused_and_nothing_is_written(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (repo / "firstlight.yaml").read_text()
    assert run(repo, "cilium", "--to", "gitops", "--write", "-o", "json") == 3
    told = msgspec.json.decode(capsys.readouterr().out)
    assert told["refused"] == "a cold start of home would not come to its end any more"
    assert (told["written"], told["byHand"]) == (False, [])
    (cluster,) = told["clusters"]
    assert (cluster["needed"], cluster["deadlocked"]) == (True, True)
    assert "cni-missing" in [each["code"] for each in cluster["new"]]
    assert (repo / "firstlight.yaml").read_text() == before


def test_to_bootstrap_it_wants_a_reason(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(repo, "whoami", "--to", "bootstrap") == 3
    assert '--why "REASON"' in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [("whoami",), ("whoami", "--to", "gitops", "--into", "notes"), ("nobody", "--to", "gitops"),
                  ("whoami", "--to", "gitops", "--owner", "bootstrap")],
)  # fmt: skip
def test_what_is_typed_wrong(repo: Path, arguments: tuple[str, ...]) -> None:
    assert run(repo, *arguments) == 64


def test_nothing_else_is_carried_along(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
    assert run(repo, "cert-manager", "--to", "gitops", "--carry-out", "--yes") == 3
    assert "which would be carried along" in capsys.readouterr().err
    assert "cert-manager:" in (repo / "firstlight.yaml").read_text()


def test_what_can_be_written_is_and_the_rest_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenarios = Path(__file__).parents[3] / "scenarios" / "move"
    repo = Path(shutil.copytree(scenarios / "bare", tmp_path / "bare"))

    assert run(repo, "quotas", "--to", "gitops", "--write") == 3
    told = capsys.readouterr().out

    assert (repo / "clusters/home/quotas.yaml").is_file()
    assert "kubectl apply" in (repo / "Taskfile.yaml").read_text()
    assert "Taskfile.yaml:5" in told
    assert "next: the rest is to be written; then firstlight change start carries it through" in told
