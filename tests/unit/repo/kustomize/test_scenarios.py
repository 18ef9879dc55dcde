"""Small repos: what is built of them is what kustomize prints (expected.yaml), or what it refuses (diagnostics.txt).

tests/integration/repo/test_kustomize_parity.py asks the real kustomize whether these files are right.
"""

from pathlib import Path

import pytest

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
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
    assert [each for each in build.diagnostics if each.severity == Severity.ERROR] == []
    found = {each.id: each.value for each in build.manifests}
    wanted = {Manifest(each.value, Place("")).id: each.value for each in expected}
    assert set(found) == set(wanted)
    for key, value in wanted.items():
        assert found[key] == value


@pytest.mark.parametrize("name", scenarios("diagnostics.txt"))
def test_diagnostics(name: str) -> None:
    tree = WorkTree(SCENARIOS / name / "repo")

    build = kustomize.build(tree, "app")

    said = sorted({*build.diagnostics, *tree.diagnostics})
    lines = [
        f"{each.severity} {each.code} {each.place} {each.message}" + (f" | {each.fix}" if each.fix else "")
        for each in said
    ]
    assert "".join(f"{line}\n" for line in lines) == (SCENARIOS / name / "diagnostics.txt").read_text()
