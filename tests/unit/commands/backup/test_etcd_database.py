"""Snapshots of etcd, read as etcd would."""

import tempfile
import time
from pathlib import Path

import pytest

from firstlight.commands.backup import etcd_snapshot
from tests.unit.commands.backup import bolt_file

ENTRIES: list[bolt_file.Entry] = [
    (2, b"/a", b"one"), (3, b"/b", b"two"), (4, b"/a", b"three" * 40), (5, b"/b", None), (7, b"/c", b""),
]  # fmt: skip

WHOLE = bolt_file.database(ENTRIES)


@pytest.fixture(params=[False, True], ids=["leaf", "branch"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "snapshot"
    file.write_bytes(bolt_file.snapshot(ENTRIES, branches=request.param))
    return file


def test_the_last_revision_of_a_key_counts_and_what_was_deleted_is_gone(path: Path) -> None:
    etcd_snapshot.check_sum(path)
    store = etcd_snapshot.read(path)

    assert (store.revision, set(store.keys)) == (7, {b"/a", b"/c"})
    assert etcd_snapshot.value_of(path, b"/a") == b"three" * 40
    assert etcd_snapshot.value_of(path, b"/b") == b""


def test_what_came_after_a_revision_can_be_left_out(path: Path) -> None:
    early = etcd_snapshot.read(path, until=3)

    assert (early.revision, set(early.keys)) == (3, {b"/a", b"/b"})
    assert early.keys[b"/a"] != etcd_snapshot.read(path).keys[b"/a"]


@pytest.mark.parametrize("place", [20, 4096 * 4 + 120, -1, -40])
def test_one_byte_that_was_changed_is_seen(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)

    with pytest.raises(etcd_snapshot.DamagedDatabase, match="changed after etcd wrote it"):
        etcd_snapshot.check_sum(path)


def test_one_meta_page_is_enough(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 + 20] ^= 1
    path.write_bytes(content)

    assert etcd_snapshot.read(path).revision == 7


@pytest.mark.parametrize(
    "content",
    [b"", b"no database", b"\0" * 8192, WHOLE[: 4096 * 4], WHOLE[: 4096 * 4 + 60]],
    ids=["empty", "text", "zeros", "without its keys", "cut off"],
)  # fmt: skip
def test_what_is_no_database_is_said(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    path.write_bytes(content)

    with pytest.raises(etcd_snapshot.DamagedDatabase):
        etcd_snapshot.read(path)
    with pytest.raises(etcd_snapshot.DamagedDatabase):
        etcd_snapshot.check_sum(path)


def test_pages_that_are_named_again_and_again_are_not_read_again() -> None:
    """Each of 12 pages names the next 200 times: 200 to the 12th leaves."""
    _refused(bolt_file.ladder(12, 200), "circle")


def test_entries_in_the_same_place_are_not_read_again() -> None:
    """As many keys as go into a page, each with all of the file as its value."""
    _refused(bolt_file.overlapping(200), "overlap")


def test_a_number_without_an_end_is_not_added_up() -> None:
    _refused(bolt_file.endless(3000), "too long")


def _refused(content: bytes, says: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "snapshot"
        path.write_bytes(content)
        begun = time.monotonic()
        with pytest.raises(etcd_snapshot.DamagedDatabase, match=says):
            etcd_snapshot.read(path)
    assert time.monotonic() - begun < 5
