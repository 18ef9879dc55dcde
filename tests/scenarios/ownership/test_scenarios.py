"""Objects that pass to an engine: each directory has an ``object.yaml``, and what becomes of it in ``passing.txt``."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from firstlight.model.handover import OwnerSeen
from firstlight.ownership import migration as ownership_migration
from firstlight.ownership.field_set import FieldSet, path_text

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "object.yaml").is_file())


@pytest.mark.parametrize("name", SCENARIOS)
def test_passing(name: str) -> None:
    given = yaml.load((HERE / name / "object.yaml").read_text(), Loader=yaml.CSafeLoader)
    expected = HERE / name / "passing.txt"
    told = _told(given["live"], given["wanted"], given["to"])
    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        expected.write_text(told)
    assert told == expected.read_text()


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 9


def _told(live: dict[str, object], wanted: dict[str, object], to: str) -> str:
    migration = ownership_migration.migrate(live, to=to)
    lines = []
    if migration is None:
        lines.append("nothing passes")
    else:
        lines.append(f"taken: {_names(migration.taken)}")
        lines.append(f"discarded: {_names(migration.discarded)}")
        for entry in migration.managed_fields:
            lines.append(
                f"{entry['manager']} {entry['operation']} {entry['apiVersion']} {entry.get('subresource', '')}".rstrip()
            )
            lines += [f"  {path_text(path)}" for path in FieldSet.of(entry["fieldsV1"]).leaves()]
    lines += [f"lost: {each}" for each in ownership_migration.lost(live, wanted, to=to)] or ["lost: nothing"]
    return "\n".join(lines) + "\n"


def _names(owners: Iterable[OwnerSeen]) -> str:
    return ", ".join(f"{each.manager} {each.operation}" for each in owners) or "nobody"
