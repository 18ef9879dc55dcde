"""Charts as one file: always the same, and nothing but plain files."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.render import cache_files, chart_packages

PARTS = st.text(alphabet="abcXYZ019._- ä", min_size=1, max_size=8).filter(lambda part: part not in (".", ".."))
FILES = st.dictionaries(st.lists(PARTS, min_size=1, max_size=3).map("/".join), st.binary(max_size=50), max_size=5)


@given(FILES)
def test_what_is_packed_is_unpacked(files: dict[str, bytes]) -> None:
    assert chart_packages.unpack_chart(chart_packages.pack_chart(files, "chart")) == files


@given(FILES)
def test_the_order_does_not_matter(files: dict[str, bytes]) -> None:
    backwards = dict(reversed(list(files.items())))
    assert chart_packages.pack_chart(files, "a") == chart_packages.pack_chart(backwards, "a")
    assert cache_files.files_digest(files) == cache_files.files_digest(backwards)


@given(FILES, FILES)
def test_other_files_have_another_digest(one: dict[str, bytes], two: dict[str, bytes]) -> None:
    assert (cache_files.files_digest(one) == cache_files.files_digest(two)) == (one == two)


def archive(*entries: tarfile.TarInfo, content: bytes = b"") -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as made:
        for entry in entries:
            entry.size = len(content) if entry.isreg() else 0
            made.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, to
    return entry


@pytest.mark.parametrize(
    "entry",
    [
        tarfile.TarInfo("chart/../../etc/passwd"),
        tarfile.TarInfo("chart/a//b"),
        tarfile.TarInfo("chart/./a"),
        link("chart/a", "/etc/passwd"),
        link("chart/a", "chart/b", tarfile.LNKTYPE),
        link("chart/a", "", tarfile.FIFOTYPE),
        link("chart/a", "", tarfile.CHRTYPE),
    ],
)
def test_what_leads_out_or_is_no_file_is_refused(entry: tarfile.TarInfo) -> None:
    with pytest.raises(errors.Refused):
        chart_packages.unpack_chart(archive(entry))


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive", gzip.compress(b"no archive", mtime=0), gzip.compress(b"x" * 2000, mtime=0)[:-20]],
    ids=["empty", "text", "packed text", "cut off"],
)
def test_what_is_no_archive_is_refused_or_empty(data: bytes) -> None:
    try:
        assert chart_packages.unpack_chart(data) == {}
    except errors.Refused:
        return


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        chart_packages, "PACKAGE_LIMITS", type(chart_packages.PACKAGE_LIMITS)(files=2, size=100, depth=5)
    )
    with pytest.raises(errors.Refused):
        chart_packages.unpack_chart(archive(tarfile.TarInfo("c/a"), content=b"x" * 101))
    with pytest.raises(errors.Refused):
        chart_packages.unpack_chart(archive(*(tarfile.TarInfo(f"c/{n}") for n in range(3))))


def test_directories_are_read_without_following_links_to_others(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    chart_packages.write_files({"a/b.yaml": b"1", "c.yaml": b"2"}, chart)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/d.yaml").write_text("3")
    (chart / "linked").symlink_to(tmp_path / "outside")
    assert chart_packages.read_files(chart) == {"a/b.yaml": b"1", "c.yaml": b"2"}


def test_what_cannot_be_written_is_left_out_where_that_is_wanted(tmp_path: Path) -> None:
    odd = {"x" * 300: b"1", "../out": b"2", "a": b"3", "a/b": b"4", "c/d": b"5"}

    chart_packages.write_files(odd, tmp_path / "made", is_lenient=True)

    found = sorted(each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*") if each.is_file())
    assert found == ["made/a", "made/c/d"]
    with pytest.raises(OSError, match="too long"):
        chart_packages.write_files({"x" * 300: b"1"}, tmp_path / "strict")
