from pathlib import Path

import pytest
import yaml

from firstlight import errors
from firstlight.commands.recover import drill
from firstlight.commands.recover.assessment import DrillResult

DAY = 1794960000.0  # 2026-11-18
DRILLED = DrillResult(
    scenario="engine", cluster="home", option="engine", diagnosed=1.6, repaired=12.4, compared=214
)  # fmt: skip
KEPT = "firstlight-rules/drills.yaml"


def test_the_first_drill_makes_the_record_that_audit_reads(tmp_path: Path) -> None:
    path = drill.record_drill(tmp_path, DRILLED, now=DAY)

    assert path == tmp_path / KEPT
    (entry,) = yaml.safe_load(path.read_text())
    assert (entry["cluster"], str(entry["day"])) == ("home", "2026-11-18")
    assert entry["what"] == "engine: diagnosed in 2 s, repaired in 12 s by engine, nothing lost of 214 objects"


@pytest.mark.parametrize("end", ["", "\n"])
def test_what_is_there_stays_with_its_comments(tmp_path: Path, end: str) -> None:
    before = f"# ours\n- {{cluster: home, day: 2025-03-01, what: rebuilt}}  # by ann{end}"
    (tmp_path / "firstlight-rules").mkdir()
    (tmp_path / KEPT).write_text(before)

    drill.record_drill(tmp_path, DRILLED, now=DAY)

    after = (tmp_path / KEPT).read_text()
    assert after.startswith(before)
    assert [each["what"][:7] for each in yaml.safe_load(after)] == ["rebuilt", "engine:"]


@pytest.mark.parametrize("before", ["drills: []\n", "[{cluster: home}]\n", "- {cluster: home\n"])
def test_a_record_that_is_none_is_left_as_it_is(tmp_path: Path, before: str) -> None:
    (tmp_path / "firstlight-rules").mkdir()
    (tmp_path / KEPT).write_text(before)

    with pytest.raises(errors.Refused, match="no list of drills") as refused:
        drill.record_drill(tmp_path, DRILLED, now=DAY)

    assert refused.value.hint.startswith("Add it: - {cluster: home, day: 2026-11-18")
    assert (tmp_path / KEPT).read_text() == before


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "firstlight-rules").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(errors.Refused, match="is a link"):
        drill.record_drill(tmp_path, DRILLED, now=DAY)

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_is_gone_or_another_one_is_lost() -> None:
    before = {"ConfigMap shop/a": "", "Secret shop/key": "1f", "PersistentVolumeClaim shop/data": "u pv-1"}
    after = {"Secret shop/key": "2e", "PersistentVolumeClaim shop/data": "u pv-1", "ConfigMap shop/new": ""}

    assert drill.lost_belongings(before, after) == ("ConfigMap shop/a is gone", "Secret shop/key is another one")
    assert drill.lost_belongings(before, before) == ()
