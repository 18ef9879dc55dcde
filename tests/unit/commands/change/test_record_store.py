"""Records of changes: whole at each step, read back as they were, and nothing else read as one."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.change import record_store
from firstlight.commands.change.change_record import ChangeStanding
from firstlight.commands.change.record_store import ChangeRecordStore
from tests.unit.commands.change.test_text import RECORD


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    keeper = ChangeRecordStore(tmp_path / ".firstlight", RECORD, now=lambda: 7.0)

    keeper.begin("home:fetch", cluster="home", title="fetch ddddddd")
    keeper.end("home:fetch", verdict="passed", says="it has it")
    keeper.set(standing=ChangeStanding.FAILED)

    (found,) = record_store.every_record(tmp_path / ".firstlight")
    assert found == keeper.record
    assert found.steps[-1].verdict == "passed"
    assert "**failed**" in keeper.markdown.read_text()
    assert keeper.markdown.stat().st_mode & 0o077 == 0
    assert (tmp_path / ".firstlight/.gitignore").read_text() == "*\n"


def test_a_step_that_is_begun_again_keeps_its_first_time(tmp_path: Path) -> None:
    moments = iter(range(1, 10))
    keeper = ChangeRecordStore(tmp_path / ".firstlight", RECORD, now=lambda: float(next(moments)))

    keeper.begin("git:merge", cluster="", title="merge")
    keeper.begin("git:merge", cluster="", title="merge")

    assert keeper.record.steps[-1].begun == 1.0
    assert [each.id for each in keeper.record.steps].count("git:merge") == 1


@pytest.mark.parametrize("id", ["../../etc/passwd", "20260101-000000-none", ""])
def test_what_is_no_record_is_not_read(tmp_path: Path, id: str) -> None:
    ChangeRecordStore(tmp_path / ".firstlight", RECORD).set()

    with pytest.raises(errors.UsageError, match="there is no change"):
        record_store.read_record(tmp_path / ".firstlight", id)


def test_a_broken_record_is_told_with_its_file(tmp_path: Path) -> None:
    ChangeRecordStore(tmp_path / ".firstlight", RECORD).set()
    path = tmp_path / ".firstlight/changes" / f"{RECORD.id}.json"
    path.write_text("{}")

    with pytest.raises(errors.ConfigError, match=f"{RECORD.id}.json: this is no record of a change"):
        record_store.every_record(tmp_path / ".firstlight")


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".firstlight").mkdir()
    (tmp_path / ".firstlight/changes").symlink_to(tmp_path)

    with pytest.raises(errors.Refused):
        ChangeRecordStore(tmp_path / ".firstlight", RECORD).set()
