"""Small repos in the ways that teams write them, and what Flux would make of each."""

from pathlib import Path

import pytest

from firstlight.repo import flux
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.flux import shown

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "flux"


@pytest.mark.parametrize("name", sorted(each.parent.name for each in SCENARIOS.glob("*/expected.txt")))
def test_scenario(name: str) -> None:
    tree = WorkTree(SCENARIOS / name / "repo")

    found = flux.read(tree)

    assert shown.text(found) == (SCENARIOS / name / "expected.txt").read_text()
