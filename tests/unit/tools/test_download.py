import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.tools import download


def tar(path: Path, *members: tarfile.TarInfo, content: bytes = b"binary") -> Path:
    with tarfile.open(path, "w:gz") as out:
        for member in members:
            member.size = len(content) if member.isreg() else 0
            out.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return path


def link(name: str, to: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = to
    return info


@pytest.mark.parametrize("name", ["dir/tool", "./dir/tool"])
def test_takes_the_named_member_out(tmp_path: Path, name: str) -> None:
    made = tar(tmp_path / "a.tar.gz", tarfile.TarInfo("dir/other"), tarfile.TarInfo(name))

    download.extract_member(made, "dir/tool", to=tmp_path / "tool")

    assert (tmp_path / "tool").read_bytes() == b"binary"
    assert {path.name for path in tmp_path.iterdir()} == {"a.tar.gz", "tool"}


@pytest.mark.parametrize(
    "member",
    [
        link("tool", "/etc/passwd", tarfile.SYMTYPE),
        link("tool", "other", tarfile.LNKTYPE),
        link("tool", "", tarfile.DIRTYPE),
        link("tool", "", tarfile.FIFOTYPE),
    ],
    ids=["symlink", "hardlink", "directory", "fifo"],
)
def test_refuses_a_member_that_is_no_regular_file(tmp_path: Path, member: tarfile.TarInfo) -> None:
    made = tar(tmp_path / "a.tar.gz", tarfile.TarInfo("other"), member)

    with pytest.raises(errors.ToolError, match="not a regular file"):
        download.extract_member(made, "tool", to=tmp_path / "out")

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "..\\evil"])
def test_refuses_an_archive_that_reaches_outside(tmp_path: Path, name: str) -> None:
    made = tar(tmp_path / "a.tar.gz", tarfile.TarInfo("tool"), tarfile.TarInfo(name))

    with pytest.raises(errors.ToolError, match="outside of itself"):
        download.extract_member(made, "tool", to=tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_refuses_an_archive_without_the_member(tmp_path: Path) -> None:
    made = tar(tmp_path / "a.tar.gz", tarfile.TarInfo("other"))

    with pytest.raises(errors.ToolError, match="no tool in it"):
        download.extract_member(made, "tool", to=tmp_path / "out")


def test_refuses_a_truncated_archive(tmp_path: Path) -> None:
    made = tar(tmp_path / "a.tar.gz", tarfile.TarInfo("tool"), content=bytes(range(256)) * 1000)
    made.write_bytes(made.read_bytes()[:-30])

    with pytest.raises(errors.ToolError, match="cannot be read"):
        download.extract_member(made, "tool", to=tmp_path / "out")


def test_refuses_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MEMBER_LIMIT", 1000)
    made = tar(tmp_path / "a.tar.gz", tarfile.TarInfo("tool"), content=b"0" * 1001)

    with pytest.raises(errors.ToolError, match="unpacks to more"):
        download.extract_member(made, "tool", to=tmp_path / "out")


def test_reads_a_zip_and_refuses_a_link_in_it(tmp_path: Path) -> None:
    symlink = zipfile.ZipInfo("link")
    symlink.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr("tool", b"binary")
        out.writestr(symlink, "/etc/passwd")

    download.extract_member(tmp_path / "a.zip", "tool", to=tmp_path / "tool")
    with pytest.raises(errors.ToolError, match="not a regular file"):
        download.extract_member(tmp_path / "a.zip", "link", to=tmp_path / "link")

    assert (tmp_path / "tool").read_bytes() == b"binary"
