"""The baseline beside the journal: whole, and only where it belongs."""

from pathlib import Path

import msgspec
import pytest

from firstlight import errors
from firstlight.execute.handover import baseline as handover_baseline
from firstlight.model.handover import Baseline


@pytest.fixture
def baseline() -> Baseline:
    return Baseline(cluster="uid", at=1.0)


def test_it_is_there_for_its_owner_alone(tmp_path: Path, baseline: Baseline) -> None:
    path = tmp_path / ".firstlight" / "infra" / handover_baseline.FILE

    handover_baseline.write(baseline, path)

    assert msgspec.json.decode(path.read_bytes(), type=Baseline) == baseline
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [handover_baseline.FILE]


@pytest.mark.parametrize("linked", [".", "infra", f"infra/{handover_baseline.FILE}"])
def test_a_link_is_not_followed(tmp_path: Path, baseline: Baseline, linked: str) -> None:
    state, outside = tmp_path / "repo" / ".firstlight", tmp_path / "outside"
    outside.mkdir()
    (state / linked).parent.mkdir(parents=True)
    (state / linked).symlink_to(outside)

    with pytest.raises(errors.Refused, match="is a link"):
        handover_baseline.write(baseline, state / "infra" / handover_baseline.FILE)

    assert not list(outside.iterdir())
