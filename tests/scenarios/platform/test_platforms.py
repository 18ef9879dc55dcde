"""Repos of each style, and the inventory of each: every directory beside this file is one.

To look at what has changed: ``firstlight inventory --everything --repo tests/scenarios/platform/NAME/repo``.
"""

import shutil
from pathlib import Path

import pytest

from firstlight.commands.inventory import text as inventory_text
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader
from firstlight.repo.declaration import inferred_declaration

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "repo").is_dir())


@pytest.mark.parametrize("name", SCENARIOS)
def test_inventory(name: str) -> None:
    found = platform_reader.read(HERE / name / "repo")

    text = inventory_text.text(found, columns=200, everything=True)

    assert text.splitlines() == (HERE / name / "expected.txt").read_text().splitlines()


@pytest.mark.parametrize(
    "name", [each for each in SCENARIOS if not (HERE / each / "repo" / "firstlight.yaml").exists()]
)
def test_what_init_writes_changes_nothing(name: str, tmp_path: Path) -> None:
    shutil.copytree(HERE / name / "repo", tmp_path / "repo")
    before = platform_reader.read(tmp_path / "repo")
    (tmp_path / "repo" / "firstlight.yaml").write_text(inferred_declaration.text(before, {}))

    after = platform_reader.read(tmp_path / "repo")

    def facts(one: Platform) -> list[tuple[object, ...]]:
        return [
            (each.cluster, each.name, each.phase, each.side, each.owner, set(each.needs)) for each in one.components
        ]

    assert after.declared is not None
    assert facts(after) == facts(before)
    assert after.clusters == before.clusters or [each.machines for each in after.clusters] == [
        each.machines for each in before.clusters
    ]
    assert [each for each in after.diagnostics if each not in before.diagnostics] == []
