"""The demo, as a newcomer sees it first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
def test_the_demo_shows_what_it_promises_and_leaves_nothing(tmp_path: Path, machine_programs: dict[str, Path]) -> None:
    labs, picture = tmp_path / "labs", tmp_path / "run.svg"
    environment = {**os.environ, "FIRSTLIGHT_LABS": str(labs), "COLUMNS": "140"}

    done = subprocess.run(
        [sys.executable, "-m", "firstlight", "demo", "--picture", str(picture)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "home   rehearsed, and it works" in done.stdout
    assert "0 writes" in done.stdout
    assert "The lab is gone again" in done.stdout
    assert picture.read_text().startswith("<svg")
    assert list(labs.iterdir()) == []
