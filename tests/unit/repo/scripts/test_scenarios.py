"""Repos whose bootstrap is in scripts: what is found in them, with file and line."""

from pathlib import Path

import pytest

from firstlight.repo import scripts
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.scripts import shown


@pytest.mark.parametrize("scenario", shown.scenarios("scripts"), ids=lambda path: path.name)
def test_scripts_are_read_as_people_run_them(scenario: Path) -> None:
    tree = WorkTree(scenario / "repo")

    found = shown.plain(scripts.read(tree))
    steps = [f"{step.place.path}:{step.place.line} {step.role} {step.kind}" for step in scripts.steps(tree)]
    if "steps" in (scenario / "expected.yaml").read_text():
        found["steps"] = steps

    assert shown.text(found) == shown.expected(scenario)
