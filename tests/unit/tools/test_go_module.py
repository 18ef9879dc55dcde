import stat
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.tools import go_module
from tests.unit.tools import tiny_module


def everything(name: str) -> Iterable[str]:
    return [name]


def with_member(path: Path, info: zipfile.ZipInfo | str, content: str = "evil") -> Path:
    tiny_module.pack(path, tiny_module.FILES)
    with zipfile.ZipFile(path, "a") as out:
        out.writestr(info, content)
    return path


def of_kind(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o777) << 16
    return info


def test_the_hash_is_the_one_that_go_computes(tmp_path: Path) -> None:
    assert go_module.compute_hash(tiny_module.pack(tmp_path / "a.zip", tiny_module.FILES)) == tiny_module.SUM


def test_the_order_of_files_does_not_change_the_hash_and_everything_else_does(tmp_path: Path) -> None:
    files = dict(tiny_module.FILES)
    backwards = dict(reversed(files.items()))
    changes = [files | {"LICENSE": "No.\n"}, files | {"more": ""}, {k: v for k, v in files.items() if k != "LICENSE"}]

    assert go_module.compute_hash(tiny_module.pack(tmp_path / "b.zip", backwards)) == tiny_module.SUM
    for number, change in enumerate(changes):
        assert go_module.compute_hash(tiny_module.pack(tmp_path / f"{number}.zip", change)) != tiny_module.SUM
    assert go_module.compute_hash(tiny_module.pack(tmp_path / "c.zip", files, root="other@v1.0.0")) != tiny_module.SUM


def test_takes_what_is_chosen_to_where_it_is_wanted(tmp_path: Path) -> None:
    archive = tiny_module.pack(tmp_path / "a.zip", tiny_module.FILES)
    places = {"hack/run.sh": ["bin/run.sh", "again/run.sh"], "LICENSE": ["LICENSE"]}

    written = go_module.extract_files(
        archive, root=tiny_module.ROOT, choose=lambda name: places.get(name, []), to=tmp_path / "out"
    )

    there = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert there == set(written) == {"bin/run.sh", "again/run.sh", "LICENSE"}
    assert (tmp_path / "out/bin/run.sh").read_text() == tiny_module.FILES["hack/run.sh"]
    assert stat.S_IMODE((tmp_path / "out/bin/run.sh").stat().st_mode) == 0o755, "it is a script"
    assert stat.S_IMODE((tmp_path / "out/LICENSE").stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("member", "complaint"),
    [
        (f"{tiny_module.ROOT}/../evil", "outside of"),
        (f"{tiny_module.ROOT}/a/../../evil", "outside of"),
        (f"{tiny_module.ROOT}//evil", "outside of"),
        (f"{tiny_module.ROOT}/a\\..\\evil", "outside of"),
        (f"{tiny_module.ROOT}-evil/file", "outside of"),
        ("../evil", "outside of"),
        ("/etc/evil", "outside of"),
        ("other@v1.0.0/file", "outside of"),
        (of_kind(f"{tiny_module.ROOT}/link", stat.S_IFLNK), "not a regular file"),
        (of_kind(f"{tiny_module.ROOT}/pipe", stat.S_IFIFO), "not a regular file"),
    ],
    ids=str,
)
def test_refuses_an_archive_with(tmp_path: Path, member: zipfile.ZipInfo | str, complaint: str) -> None:
    archive = with_member(tmp_path / "a.zip", member)

    with pytest.raises(errors.ToolError, match=complaint):
        go_module.extract_files(archive, root=tiny_module.ROOT, choose=everything, to=tmp_path / "deep/er/out")

    assert not list(tmp_path.rglob("evil*"))
    assert not list(tmp_path.rglob("link"))


def test_refuses_two_files_with_one_place(tmp_path: Path) -> None:
    archive = tiny_module.pack(tmp_path / "a.zip", tiny_module.FILES)

    with pytest.raises(errors.ToolError, match="two of its files would be same"):
        go_module.extract_files(archive, root=tiny_module.ROOT, choose=lambda name: ["same"], to=tmp_path / "out")


@pytest.mark.parametrize(("limit", "value"), [("LIMIT", 100), ("MEMBERS", 3)])
def test_refuses_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    archive = tiny_module.pack(tmp_path / "a.zip", tiny_module.FILES)
    monkeypatch.setattr(go_module, limit, value)

    with pytest.raises(errors.ToolError, match="is refused: it"):
        go_module.compute_hash(archive)
    with pytest.raises(errors.ToolError, match="is refused: it"):
        go_module.extract_files(archive, root=tiny_module.ROOT, choose=everything, to=tmp_path / "out")


def test_refuses_a_member_that_is_larger_than_it_says(tmp_path: Path) -> None:
    archive = tiny_module.pack(tmp_path / "a.zip", {"big": "0" * 5000})
    content = bytearray(archive.read_bytes())
    size = (5000).to_bytes(4, "little")
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(content)

    with pytest.raises(errors.ToolError, match="cannot be read"):
        go_module.extract_files(archive, root=tiny_module.ROOT, choose=everything, to=tmp_path / "out")


@pytest.mark.parametrize("cut", [10, 200])
def test_refuses_a_truncated_archive(tmp_path: Path, cut: int) -> None:
    archive = tiny_module.pack(tmp_path / "a.zip", tiny_module.FILES)
    archive.write_bytes(archive.read_bytes()[:-cut])

    with pytest.raises(errors.ToolError, match="cannot be read"):
        go_module.compute_hash(archive)
