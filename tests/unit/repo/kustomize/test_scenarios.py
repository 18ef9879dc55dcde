"""Small repos: what is built of them is what kustomize prints (expected.yaml), or what it refuses (remarks.txt).

tests/integration/repo/test_kustomize_parity.py asks the real kustomize whether these files are right.
"""

from pathlib import Path

import pytest

from firstlight.document import yaml_reader
from firstlight.model.remark import Grade, Place
from firstlight.repo import kustomize
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "kustomize"


def scenarios(file: str) -> list[str]:
    return sorted(each.parent.name for each in SCENARIOS.glob(f"*/{file}"))


@pytest.mark.parametrize("name", scenarios("expected.yaml"))
def test_objects(name: str) -> None:
    tree = WorkTree(SCENARIOS / name / "repo")

    build = kustomize.build(tree, "app")

    expected = yaml_reader.read((SCENARIOS / name / "expected.yaml").read_bytes(), "expected.yaml").documents
    assert [each for each in build.remarks if each.grade == Grade.ERROR] == []
    found = {each.id: each.value for each in build.manifests}
    wanted = {Manifest(each.value, Place("")).id: each.value for each in expected}
    assert set(found) == set(wanted)
    for key, value in wanted.items():
        assert found[key] == value


@pytest.mark.parametrize("name", scenarios("remarks.txt"))
def test_remarks(name: str) -> None:
    tree = WorkTree(SCENARIOS / name / "repo")

    build = kustomize.build(tree, "app")

    said = sorted({*build.remarks, *tree.remarks})
    lines = [f"{each.grade} {each.place} {each.message}" + (f" | {each.hint}" if each.hint else "") for each in said]
    assert "".join(f"{line}\n" for line in lines) == (SCENARIOS / name / "remarks.txt").read_text()
