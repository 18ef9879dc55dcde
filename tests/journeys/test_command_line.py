"""The command line as a newcomer uses it: up, look, break, mend, down."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def firstlight(tmp_path: Path, programs: dict[str, Path]) -> Iterator[Run]:
    environment = {**os.environ, "FIRSTLIGHT_LABS": str(tmp_path), "COLUMNS": "120"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "firstlight", *arguments]
        return subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)

    yield run
    run("lab", "down", "--all")


@pytest.mark.long
def test_a_lab_by_hand(firstlight: Run, tmp_path: Path, programs: dict[str, Path]) -> None:
    settings = tmp_path / "lab.yaml"
    settings.write_text("pullSeconds: 0.1\nbrokenImages: ['*/bad:*']\n")

    up = firstlight("lab", "up", "--settings", str(settings), "--workers", "1")
    assert up.returncode == 0, up.stderr
    assert "lab default is up" in up.stdout

    state = json.loads(firstlight("lab", "status", "-ojson").stdout)
    assert state["ready"]
    assert [node["name"] for node in state["nodes"]] == ["cp-1", "worker-1"]
    assert {part["reality"] for part in state["parts"]} == {"real", "simulated"}

    page = firstlight("lab", "status").stdout
    assert "kube-apiserver" in page
    assert "NetworkPluginNotReady" in page
    assert "not ready" in page

    kubeconfig = firstlight("lab", "kubeconfig", "--faults").stdout.strip()
    kubectl = [str(programs["kubectl"]), "--kubeconfig", kubeconfig, "get", "nodes", "-o", "name"]
    firstlight("lab", "fault", "add", "status", "--code", "503", "--on", "list")
    broken = subprocess.run(kubectl, capture_output=True, text=True, check=False)
    assert "struck" in firstlight("lab", "fault", "list").stdout
    firstlight("lab", "fault", "clear")
    mended = subprocess.run(kubectl, capture_output=True, text=True, check=False)
    assert "ServiceUnavailable" in broken.stderr
    assert mended.stdout.split() == ["node/cp-1", "node/worker-1"]

    assert firstlight("lab", "up", "--workers", "2", "-o", "json").returncode == 0
    assert json.loads(firstlight("lab", "list", "-o", "json").stdout)["labs"][0]["running"]
    assert "etcd" in firstlight("lab", "logs").stdout
    assert firstlight("lab", "logs", "nonsense").returncode == 64

    firstlight("lab", "fault", "process", "kwok", "stop")
    stopped = firstlight("lab", "status")
    assert stopped.returncode == 1
    assert "■ stopped" in stopped.stdout
    assert firstlight("lab", "fault", "process", "nonsense", "kill").returncode == 64

    assert firstlight("lab", "down").stdout == "lab default is gone\n"
    assert firstlight("lab", "down").stdout == "there is no lab default\n"
    assert list(tmp_path.iterdir()) == [settings]


def test_a_directory_that_is_no_lab_is_never_deleted(firstlight: Run, tmp_path: Path) -> None:
    precious = tmp_path / "src" / "thesis.txt"
    precious.parent.mkdir()
    precious.write_text("years of work")
    (tmp_path / "src" / "settings.json").write_text("{}")

    assert firstlight("lab", "up", "-n", "src").returncode == 3
    assert firstlight("lab", "down", "-n", "src").returncode == 3
    assert firstlight("lab", "down", "--all").returncode == 0
    assert precious.read_text() == "years of work"
