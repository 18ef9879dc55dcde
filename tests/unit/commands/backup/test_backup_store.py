"""A backup is there whole, or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from firstlight import errors
from firstlight.commands.backup import backup_store
from firstlight.commands.backup.backup_manifest import (
    VERSION,
    BackupManifest,
    BackupPart,
    BackupRepo,
    EtcdSnapshotSummary,
)

STAMP = "20261118T010203Z"


def manifest(**changes: object) -> BackupManifest:
    made = BackupManifest(
        version=VERSION, stamp=STAMP, at=1.0, cluster="home", firstlight="1", uid="u", kubernetes="v1.36.0",
        talos={"cp-1": "v1.13.0"}, silent={}, secrets="sops:a", is_in_git=True,
        etcd=EtcdSnapshotSummary(machine="cp-1", revision=7, keys=9, size=1, hash="ab"), repo=BackupRepo(),
        parts=(BackupPart(name="snapshot of etcd", file="etcd.snapshot.gz.sops", size=3, sha256="00"),),
    )  # fmt: skip
    return msgspec.convert(msgspec.to_builtins(made) | changes, BackupManifest)


def place(tmp_path: Path) -> Path:
    return backup_store.home(tmp_path / ".firstlight", "home")


def test_what_was_filled_gets_its_name_at_the_end(tmp_path: Path) -> None:
    with backup_store.begun(place(tmp_path), STAMP) as partial:
        backup_store.write_manifest(backup_store.written(manifest()), "", partial)
        assert backup_store.kept(place(tmp_path)) == ()

    (found,) = backup_store.kept(place(tmp_path))
    assert (found.stamp, found.manifest) == (STAMP, manifest())
    assert os.stat(found.path).st_mode & 0o077 == 0
    assert (tmp_path / ".firstlight" / ".gitignore").read_text() == "*\n"


def begin(tmp_path: Path, raised: BaseException) -> None:
    with backup_store.begun(place(tmp_path), STAMP) as partial:
        (partial / "etcd.snapshot.gz.sops").write_bytes(b"a")
        raise raised


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), errors.Refused("no")], ids=["interrupted", "refused"])
def test_of_one_that_was_not_finished_nothing_is_left(raised: BaseException, tmp_path: Path) -> None:
    with pytest.raises(type(raised)):
        begin(tmp_path, raised)

    assert list(place(tmp_path).iterdir()) == []


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(errors.FirstlightError, match=r"No space left on device; nothing is left of it") as caught:
        begin(tmp_path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    assert "--to DIR" in caught.value.hint
    assert list(place(tmp_path).iterdir()) == []


def test_what_a_killed_run_has_left_goes_at_the_next(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys\n"
        "from firstlight.commands.backup import backup_store\n"
        "with backup_store.begun(pathlib.Path(sys.argv[1]), sys.argv[2]) as partial:\n"
        "    (partial / 'half').write_bytes(b'a')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(place(tmp_path)), STAMP], check=False)
    assert len(list(place(tmp_path).iterdir())) == 1
    assert backup_store.kept(place(tmp_path)) == ()

    with backup_store.begun(place(tmp_path), STAMP) as partial:
        backup_store.write_manifest(backup_store.written(manifest()), "", partial)

    assert [each.name for each in place(tmp_path).iterdir()] == [STAMP]


def test_one_of_the_same_name_is_not_written_over(tmp_path: Path) -> None:
    with backup_store.begun(place(tmp_path), STAMP) as partial:
        backup_store.write_manifest(backup_store.written(manifest()), "", partial)

    with pytest.raises(errors.Refused, match="there already"), backup_store.begun(place(tmp_path), STAMP):
        raise AssertionError


def test_a_link_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".firstlight" / "home").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    place(tmp_path).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(errors.Refused, match="is a link"), backup_store.begun(place(tmp_path), STAMP):
        raise AssertionError


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read: No such file"),
        (b"{}", "its manifest is wrong"),
        (msgspec.json.encode(manifest(version=99)), "has version 99"),
        (
            msgspec.json.encode(manifest(parts=[{"name": "a", "file": "../secret", "size": 1, "sha256": ""}])),
            "names a file elsewhere: ../secret",
        ),
    ],
)
def test_one_without_a_manifest_says_so(content: bytes | None, says: str, tmp_path: Path) -> None:
    (tmp_path / STAMP).mkdir()
    if content is not None:
        (tmp_path / STAMP / backup_store.MANIFEST).write_bytes(content)
    (tmp_path / "notes").mkdir()

    (found,) = backup_store.kept(tmp_path)

    assert found.manifest is None
    assert says in found.problem


def test_the_newest_is_meant_where_none_is_named(tmp_path: Path) -> None:
    for stamp in (STAMP, "20261119T000000Z"):
        with backup_store.begun(tmp_path, stamp) as partial:
            backup_store.write_manifest(backup_store.written(manifest()), "", partial)

    assert backup_store.find(tmp_path, "").stamp == "20261119T000000Z"
    assert backup_store.find(tmp_path, STAMP).stamp == STAMP
    with pytest.raises(errors.Refused, match="no backup 2025"):
        backup_store.find(tmp_path, "2025")
