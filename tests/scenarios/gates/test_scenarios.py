"""Gates and their verdicts: each directory has an ``observed.yaml`` and what must be said of it in ``verdict.txt``."""

import dataclasses
import os
from pathlib import Path

import pytest

from tests.scenarios.gates import seen

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "observed.yaml").is_file())


@pytest.mark.parametrize("name", SCENARIOS)
def test_verdict(name: str) -> None:
    scene = seen.load(HERE / name / "observed.yaml")
    expected = HERE / name / "verdict.txt"

    question = scene.question()
    told = "nothing to ask\n" if question is None else seen.told(question.judge(scene.view(question)))

    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        expected.write_text(told)
    assert told == expected.read_text()
    if question is not None:
        # A run tells each change of a verdict; the passing of time is none.
        later = dataclasses.replace(scene, facts={**scene.facts, "now": "2026-11-16T06:59:59Z"})
        assert seen.told(question.judge(later.view(question))) == told


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 60
