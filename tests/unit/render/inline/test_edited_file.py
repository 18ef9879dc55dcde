"""The file that is edited."""

import os
import stat
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.render.inline import edited_file


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "patches").mkdir(parents=True)
    (root / "patches" / "a.yaml").write_bytes(b"a: 1\r\n")
    return root


def test_a_file_is_counted_from_the_repo_or_from_here(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert edited_file.locate_file(repo, "patches/a.yaml") == "patches/a.yaml"
    assert edited_file.locate_file(repo, str(repo / "patches/a.yaml")) == "patches/a.yaml"

    monkeypatch.chdir(repo / "patches")

    assert edited_file.locate_file(repo, "a.yaml") == "patches/a.yaml"
    assert edited_file.locate_file(repo, "new.yaml") == "new.yaml"


@pytest.mark.parametrize("given", ["../outside.yaml", "/etc/passwd", "patches", "."])
def test_other_files_are_not_edited(repo: Path, given: str) -> None:
    with pytest.raises(errors.UsageError):
        edited_file.locate_file(repo, given)


def test_a_link_out_of_the_repo_is_not_followed(repo: Path) -> None:
    (repo / "link.yaml").symlink_to("/etc/passwd")

    with pytest.raises(errors.UsageError):
        edited_file.locate_file(repo, "link.yaml")


def test_a_link_inside_of_the_repo_leads_to_its_target(repo: Path) -> None:
    (repo / "link.yaml").symlink_to("patches/a.yaml")

    assert edited_file.locate_file(repo, "link.yaml") == "patches/a.yaml"


def test_reading(repo: Path) -> None:
    data = edited_file.read_file(repo, "patches/a.yaml")

    assert data is not None
    assert edited_file.decode_file(data, "patches/a.yaml") == "a: 1\r\n"
    assert edited_file.read_file(repo, "new.yaml") is None


def test_what_cannot_be_edited(repo: Path) -> None:
    os.mkfifo(repo / "pipe.yaml")

    with pytest.raises(errors.ConfigError, match="no ordinary file"):
        edited_file.read_file(repo, "pipe.yaml")
    with pytest.raises(errors.ConfigError, match="not UTF-8"):
        edited_file.decode_file("a".encode("utf-16"), "x.yaml")


def test_the_mode_stays_and_nothing_is_left_behind(repo: Path) -> None:
    path = repo / "patches" / "a.yaml"
    path.chmod(0o640)

    edited_file.write_file(repo, "patches/a.yaml", "b: 2\r\n", old=b"a: 1\r\n")

    assert path.read_bytes() == b"b: 2\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in path.parent.iterdir()] == ["a.yaml"]


def test_a_new_file_has_the_mode_of_new_files(repo: Path) -> None:
    mask = os.umask(0o027)
    try:
        edited_file.write_file(repo, "deep/er/new.yaml", "a: 1\n", old=None)
    finally:
        os.umask(mask)

    assert stat.S_IMODE((repo / "deep/er/new.yaml").stat().st_mode) == 0o640


@pytest.mark.parametrize("old", [b"other", None])
def test_somebody_elses_change_is_not_lost(repo: Path, old: bytes | None) -> None:
    with pytest.raises(errors.Refused, match="changed by somebody else"):
        edited_file.write_file(repo, "patches/a.yaml", "b: 2\n", old=old)

    assert (repo / "patches" / "a.yaml").read_bytes() == b"a: 1\r\n"
    assert [each.name for each in (repo / "patches").iterdir()] == ["a.yaml"]


def test_a_full_disk_leaves_the_old_file(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match="No space"):
        edited_file.write_file(repo, "patches/a.yaml", "b: 2\n", old=b"a: 1\r\n")

    assert (repo / "patches" / "a.yaml").read_bytes() == b"a: 1\r\n"
    assert [each.name for each in (repo / "patches").iterdir()] == ["a.yaml"]
