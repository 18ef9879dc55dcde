"""Tests on two workers: a lab that few need lives on one of them, and no longer than it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
import os, pathlib, pytest
pytest_plugins = ["tests.distribution"]
NOTES = pathlib.Path(__file__).parent / "notes"

def note(text):
    with NOTES.open("a") as file:
        file.write(f"{os.environ['PYTEST_XDIST_WORKER']} {text}\\n")

@pytest.fixture(scope="session")
def flux():
    note("flux up")
    yield note
    note("flux down")

@pytest.fixture(scope="session")
def lab():
    note("lab up")
    yield note
    note("lab down")

@pytest.fixture
def plain():
    return note
"""

PARAMETER = """
import pytest

@pytest.mark.parametrize("flux", ["no lab"])
def test_parameter(flux, plain):
    plain("unit plain")
"""


@pytest.mark.long
def test_labs_neither_pile_up_nor_stay(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for number in range(3):
        made = {"integration": ("flux", "lab"), "unit": ("plain",), "journeys": ("plain",)}
        for kind, fixtures in made.items():
            folder = tmp_path / "tests" / kind
            folder.mkdir(parents=True, exist_ok=True)
            tests = (f"def test_{each}({each}):\n    {each}('{kind} {each}')\n" for each in fixtures)
            (folder / f"test_{kind}_{number}.py").write_text("\n".join(tests))
    (tmp_path / "tests/unit/test_unit_3.py").write_text(PARAMETER)
    options = ["-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider", "--import-mode=importlib"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", "-c", "/dev/null", "tests"],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""}, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.split(" ", 1) for line in (tmp_path / "notes").read_text().splitlines()]
    assert [text for _, text in told if text.startswith("flux")] == ["flux up", "flux down"]
    for worker in {name for name, _ in told}:
        mine = [text for name, text in told if name == worker]
        kinds = [text for text in mine if not text.endswith((" up", " down"))]
        order = ["integration flux", "journeys plain", "integration lab", "unit plain"]
        assert kinds == sorted(kinds, key=order.index)
        for lab in ("flux", "lab"):
            if f"{lab} up" in mine and mine[-1] != f"{lab} down":
                assert mine.index(f"{lab} down") == mine.index(f"integration {lab}") + mine.count(f"integration {lab}")
