"""Files that only their owner may write."""

import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import path_safety


def test_a_file_of_the_user_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert path_safety.read(path, what="it") is None
    path.write_bytes(b"content")
    path.chmod(0o644)
    assert path_safety.read(path, what="it") == b"content"
    assert path_safety.read(path, what="it", most=3) == b"con"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    path.chmod(mode)
    with pytest.raises(errors.ConfigError, match="others can write it, so the list may not be yours") as caught:
        path_safety.read(path, what="the list")
    assert f"chmod 600 {path}" in caught.value.hint


def test_a_file_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    path.chmod(0o600)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(errors.ConfigError, match="others can write it"):
        path_safety.read(path, what="it")


def test_what_is_not_a_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="it cannot be read: Is a directory"):
        path_safety.read(tmp_path, what="it")
