import socket
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab import lab_directory


def test_what_is_saved_comes_back_and_what_came_since_goes(tmp_path: Path) -> None:
    data, saved = tmp_path / "machines", tmp_path / "saved"
    saved.mkdir()
    (data / "cp-1").mkdir(parents=True)
    (data / "cp-1" / "disk").write_text("before")
    (data / "cp-1" / "ready").write_text("7")
    with socket.socket(socket.AF_UNIX) as passing:
        passing.bind(str(data / "cp-1" / "api.sock"))

        lab_directory.save_copy(data, saved, "base")
    (data / "cp-1" / "disk").write_text("after")
    (data / "cp-2").mkdir()
    lab_directory.restore_copy(data, saved, "base")

    assert [path.name for path in data.iterdir()] == ["cp-1"]
    assert [path.name for path in (data / "cp-1").iterdir()] == ["disk"]
    assert (data / "cp-1" / "disk").read_text() == "before"
    assert [path.name for path in saved.iterdir()] == ["base"]


def test_a_name_that_nothing_was_saved_under_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="no saved state 'never'"):
        lab_directory.check_copy(tmp_path, "never", lab="l")
