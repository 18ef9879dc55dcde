"""The baseline beside the journal: whole, and only where it belongs."""

from pathlib import Path

import msgspec
import pytest

from firstlight import errors
from firstlight.execute.baseline import keeping
from firstlight.model.baseline import Baseline


@pytest.fixture
def baseline() -> Baseline:
    return Baseline(cluster="uid", at=1.0)


def test_it_is_there_for_its_owner_alone(tmp_path: Path, baseline: Baseline) -> None:
    path = tmp_path / ".firstlight" / "infra" / keeping.FILE

    keeping.write(baseline, path)

    assert msgspec.json.decode(path.read_bytes(), type=Baseline) == baseline
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == [keeping.FILE]


@pytest.mark.parametrize("linked", [".", "infra", f"infra/{keeping.FILE}"])
def test_a_link_is_not_followed(tmp_path: Path, baseline: Baseline, linked: str) -> None:
    state, outside = tmp_path / "repo" / ".firstlight", tmp_path / "outside"
    outside.mkdir()
    (state / linked).parent.mkdir(parents=True)
    (state / linked).symlink_to(outside)

    with pytest.raises(errors.Refused, match="is a link"):
        keeping.write(baseline, state / "infra" / keeping.FILE)

    assert not list(outside.iterdir())
