import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab.sources import oci_artifacts
from firstlight.lab.sources.oci_artifacts import SourceFile


def test_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/a").write_bytes(b"1")
    (tmp_path / "run").write_bytes(b"2")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "to-folder").symlink_to("deep")
    (tmp_path / "to-nothing").symlink_to("/nowhere")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_bytes(b"not this")

    assert oci_artifacts.read_folder(tmp_path) == {
        "deep/er/a": SourceFile(b"1"),
        "run": SourceFile(b"2", "100755"),
        "to-folder": SourceFile(b"deep", "120000"),
        "to-nothing": SourceFile(b"/nowhere", "120000"),
    }


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(errors.UsageError, match="pipe is neither"):
        oci_artifacts.read_folder(tmp_path)
    with pytest.raises(errors.UsageError, match="no directory"):
        oci_artifacts.read_folder(tmp_path / "nowhere")
