"""The real Cilium chart as an inline manifest of Talos, taken over by a HelmRelease: rehearsed from bare machines."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight.tools import content

pytestmark = pytest.mark.long

HOME = Path(__file__).parents[2] / "examples" / "home"
CHARTS = ("cilium-chart", "cert-manager-chart", "external-secrets-chart")


@pytest.fixture
async def charts(tmp_path: Path) -> Path:
    found = tmp_path / "charts"
    found.mkdir()
    for path in (await content.ensure(CHARTS)).values():
        for archive in path.glob("*.tgz"):
            shutil.copy(archive, found)
    return found


@pytest.mark.parametrize("talos", ["v1.13.0", "v1.12.0"])
def test_inline_cilium_passes_to_its_helm_release_and_nothing_restarts(
    talos: str, charts: Path, tmp_path: Path, machine_programs: dict[str, Path]
) -> None:
    repo, labs = tmp_path / "home", tmp_path / "labs"
    shutil.copytree(HOME, repo)
    declared = (repo / "firstlight.yaml").read_text()
    inline = declared.replace("cilium: {phase: core,", "cilium: {phase: inline,").replace(
        "talos: v1.13.0", f"talos: {talos}"
    )
    assert "phase: inline" in inline
    (repo / "firstlight.yaml").write_text(inline)

    done = subprocess.run(
        [sys.executable, "-m", "firstlight", "rehearse", "--repo", str(repo), "--charts", str(charts), "--offline",
         "--verify", "-ojson"],
        capture_output=True, text=True, env={**os.environ, "FIRSTLIGHT_LABS": str(labs)}, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    steps = {each["id"]: each for each in json.loads(done.stdout)["steps"]}
    assert steps["handover:release"]["verdict"] == "passed"
    assert steps["handover:release"]["writes"], "Talos has released it"
    assert steps["handover:certificate"]["verdict"] == "passed"
    assert list(labs.iterdir()) == []
