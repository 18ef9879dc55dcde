"""The examples with Argo CD, brought up from bare machines; a second run of each writes nothing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight.tools import content

EXAMPLES = Path(__file__).parents[2] / "examples"
CHARTS = ("cilium-chart", "cert-manager-chart")


@pytest.fixture(autouse=True)
def _seldom(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--everything"):
        pytest.skip("minutes each: with --everything")


@pytest.fixture
async def charts(tmp_path: Path) -> Path:
    found = tmp_path / "charts"
    found.mkdir()
    for path in (await content.ensure(CHARTS)).values():
        for archive in path.glob("*.tgz"):
            shutil.copy(archive, found)
    return found


@pytest.mark.parametrize(
    ("example", "installed"),
    [
        pytest.param("argocd", {"core/cilium", "core/cert-manager", "engine/argocd"}, id="argocd"),
        # Nobody touches it: after the machines nothing is written but the baseline.
        pytest.param("inline-engine", set(), id="inline-engine"),
    ],
)
def test_it_ends_with_everything_synced_and_a_second_run_writes_nothing(
    example: str, installed: set[str], charts: Path, tmp_path: Path, machine_programs: dict[str, Path]
) -> None:
    labs = tmp_path / "labs"
    done = subprocess.run(
        [sys.executable, "-m", "firstlight", "rehearse", "--repo", str(EXAMPLES / example), "--charts", str(charts),
         "--offline", "--verify", "-ojson"],
        capture_output=True, text=True, env={**os.environ, "FIRSTLIGHT_LABS": str(labs)}, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert {each["verdict"] for each in told["steps"]} == {"passed", "skipped"}
    writing = {each["id"] for each in told["steps"] if each["writes"] and each["phase"] in ("inline", "core", "engine")}
    assert writing - {"core:namespaces"} == installed
    checks = {each["name"]: each for each in told["verification"]["checks"]}
    assert checks["idempotency"]["reason"].startswith("0 writes to the API server and 2 machines")
    assert "Applications synced" in checks["engine"]["reason"]
    assert list(labs.iterdir()) == []
