"""A directory of files: listed once, read once, and nothing outside of it."""

import os
import posixpath
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.document.yaml_reader import YamlDialect
from firstlight.repo import file_listing, work_tree
from firstlight.repo.work_tree import WorkTree, join
from tests.unit.repo.trees import make


def said(tree: WorkTree) -> list[str]:
    return [f"{each.severity} {each.place} {each.code}: {each.message}" for each in tree.diagnostics]


def test_files_and_directories(tmp_path: Path) -> None:
    tree = make(
        tmp_path, {"b.yaml": "", "a/x.yaml": "", "a/deep/y.txt": "", ".hidden/z.yaml": "", "node_modules/n": ""}
    )

    assert tree.files == (".hidden/z.yaml", "a/deep/y.txt", "a/x.yaml", "b.yaml")
    assert tree.listing(".") == (".hidden/", "a/", "b.yaml")
    assert tree.listing("a") == ("deep/", "x.yaml")
    assert tree.listing("none") == ()
    assert tree.is_dir("a/deep")
    assert tree.is_dir(".")
    assert not tree.is_dir("a/x.yaml")
    assert tree.is_file("a/x.yaml")
    assert not tree.is_file("a")
    assert sorted(tree.below(".")) == list(tree.files)
    assert list(tree.below("a", ".yaml")) == ["a/x.yaml"]
    assert list(tree.below("none")) == []
    assert tree.diagnostics == ()


def test_a_root_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(errors.UsageError, match="is a file") as error:
        WorkTree(tmp_path / "file")
    assert error.value.hint
    with pytest.raises(errors.UsageError, match="does not exist"):
        WorkTree(tmp_path / "none")


def test_contents(tmp_path: Path) -> None:
    tree = make(
        tmp_path,
        {"a.yaml": "a: yes\n---\nb: 2\n", "bom.txt": b"\xef\xbb\xbftext", "binary": b"a\x00b", "broken.yaml": "a: [\n"},
    )

    assert tree.bytes("binary") == b"a\x00b"
    assert tree.text("bom.txt") == "text"
    assert tree.text("binary") is None
    assert [each.value for each in tree.documents("a.yaml")] == [{"a": True}, {"b": 2}]
    assert tree.documents("a.yaml", dialect=YamlDialect.TALOS)[0].value == {"a": "yes"}
    assert tree.documents("a.yaml") is tree.documents("a.yaml")
    assert tree.documents("broken.yaml") == ()
    assert tree.documents("broken.yaml") == ()
    assert tree.bytes("none") is None
    assert [(each.code, each.severity, each.place.path) for each in tree.diagnostics] == [
        ("file-not-text", "error", "binary"),
        ("yaml-wrong", "error", "broken.yaml"),
        ("file-missing", "error", "none"),
    ]


def test_links_inside_lead_to_what_they_show(tmp_path: Path) -> None:
    make(tmp_path, {"real/a.yaml": "a: 1\n", "real/deep/b.yaml": "b: 2\n"})
    (tmp_path / "file.yaml").symlink_to("real/a.yaml")
    (tmp_path / "directory").symlink_to("real")
    (tmp_path / "again").symlink_to("directory/deep")
    tree = WorkTree(tmp_path)

    assert tree.files == ("real/a.yaml", "real/deep/b.yaml")
    assert tree.listing(".") == ("again/", "directory/", "file.yaml", "real/")
    assert tree.is_file("file.yaml")
    assert tree.is_file("directory/deep/b.yaml")
    assert tree.is_dir("again")
    assert list(tree.below("directory")) == ["directory/a.yaml", "directory/deep/b.yaml"]
    assert tree.real("directory/deep/b.yaml") == "real/deep/b.yaml"
    assert tree.real("again/b.yaml") == "real/deep/b.yaml"
    assert tree.text("again/b.yaml") == "b: 2\n"
    assert tree.documents("file.yaml")[0].path == "real/a.yaml"
    assert tree.diagnostics == ()


def test_links_that_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("never\n")
    make(tmp_path / "repo", {"a/b.yaml": "b: 1\n"})
    for link, target in {
        "out": "../outside/secret",
        "absolute": "/etc/hostname",
        "directory": "../outside",
        "nowhere": "none",
        "self": "self",
        "a/up": "..",
        "a/here": ".",
    }.items():
        (tmp_path / "repo" / link).symlink_to(target)
    tree = WorkTree(tmp_path / "repo")

    assert tree.files == ("a/b.yaml",)
    assert sorted(said(tree)) == [
        "error absolute link-outside: the link to /etc/hostname leads out of the repo, and is not followed",
        "error directory link-outside: the link to ../outside leads out of the repo, and is not followed",
        "error out link-outside: the link to ../outside/secret leads out of the repo, and is not followed",
        "warning a/here link-circular: the link to . leads in a circle, and is not followed",
        "warning a/up link-circular: the link to .. leads in a circle, and is not followed",
        "warning nowhere link-broken: the link to none leads nowhere, and is not followed",
        "warning self link-circular: the link to self leads in a circle, and is not followed",
    ]
    assert not tree.is_file("directory/secret")
    assert tree.bytes("directory/secret") is None
    assert tree.bytes("out") is None


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_becomes_a_link_after_it_was_listed_is_not_followed(tmp_path: Path, what: str) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "b.yaml").write_text("never\n")
    tree = make(tmp_path / "repo", {"a/b.yaml": "b: 1\n"})
    assert tree.files == ("a/b.yaml",)

    if what == "file":
        (tmp_path / "repo/a/b.yaml").unlink()
        (tmp_path / "repo/a/b.yaml").symlink_to(tmp_path / "outside/b.yaml")
    else:
        (tmp_path / "repo/a").rename(tmp_path / "repo/old")
        (tmp_path / "repo/a").symlink_to(tmp_path / "outside")

    assert tree.bytes("a/b.yaml") is None
    assert tree.diagnostics[0].code == "file-unreadable"


def test_what_is_no_file_is_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "line\nbreak.yaml").write_text("")
    (tmp_path / os.fsdecode(b"latin-\xe9.yaml")).write_text("")
    make(tmp_path, {"other/.git/HEAD": "", "other/a.yaml": ""})
    tree = WorkTree(tmp_path)

    assert tree.files == ()
    assert sorted(said(tree)) == [
        "error latin-?.yaml name-not-printable: left out: its name cannot be printed",
        "error line?break.yaml name-not-printable: left out: its name cannot be printed",
        "error pipe file-not-regular: left out: neither a file nor a directory",
        "unknown other repo-in-repo-not-read: left out: a Git repository of its own, "
        "whose files belong to another repository",
    ]


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_tree, "SIZE", 10)
    monkeypatch.setattr(file_listing, "DEPTH", 3)
    tree = make(tmp_path, {"big": "x" * 11, "fits": "x" * 10, "a/b/c/d/e/f": ""})

    assert tree.files == ("big", "fits")
    assert tree.bytes("fits") == b"x" * 10
    assert tree.bytes("big") is None
    assert said(tree) == [
        "error a/b/c/d path-too-deep: left out: deeper than 3 directories",
        "error big file-too-large: not read, since it has more than 0 MiB",
    ]
    monkeypatch.setattr(file_listing, "FILES", 1)
    with pytest.raises(errors.Refused, match="more than 1 files"):
        _ = WorkTree(tmp_path).files


def test_ten_thousand_files_are_listed_in_no_time(tmp_path: Path) -> None:
    for directory in range(100):
        (tmp_path / f"d{directory}").mkdir()
        for number in range(100):
            (tmp_path / f"d{directory}" / f"{number}.yaml").touch()
    tree = WorkTree(tmp_path)
    begin = time.process_time()

    assert len(tree.files) == 10_000
    assert tree.is_dir("d7")

    assert time.process_time() - begin < 1


def test_the_top_of_a_repo(tmp_path: Path) -> None:
    make(tmp_path, {"repo/.git/HEAD": "", "repo/a/b/c": "", "plain/a": ""})

    assert work_tree.top(tmp_path / "repo/a/b") == tmp_path / "repo"
    assert work_tree.top(tmp_path / "plain") == tmp_path / "plain"


def test_a_firstlight_yaml_makes_a_repo_inside_of_another(tmp_path: Path) -> None:
    files = ["repo/.git/HEAD", "repo/firstlight.yaml", "repo/apps/x", "repo/examples/home/firstlight.yaml"]
    make(tmp_path, {**dict.fromkeys(files, ""), "firstlight.yaml": "", "repo/examples/home/clusters/home/x": ""})

    assert work_tree.top(tmp_path / "repo/examples/home/clusters/home") == tmp_path / "repo/examples/home"
    assert work_tree.top(tmp_path / "repo/examples/home") == tmp_path / "repo/examples/home"
    assert work_tree.top(tmp_path / "repo/apps") == tmp_path / "repo"
    (tmp_path / "repo/firstlight.yaml").unlink()
    assert work_tree.top(tmp_path / "repo/apps") == tmp_path / "repo"  # and never what is above the work tree


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [
        (".", "a", "a"),
        ("a", "../b", "b"),
        ("a", "..", "."),
        ("a", "../..", None),
        ("a", "../../b", None),
        ("a", "/etc/passwd", None),
        ("a", "..b", "a/..b"),
        (".", "..b", "..b"),
        ("a/b", "./c//d/.", "a/b/c/d"),
    ],
)
def test_joining(base: str, path: str, expected: str | None) -> None:
    assert join(base, path) == expected


@given(
    st.lists(st.sampled_from(["a", "b"]), max_size=3),
    st.lists(st.sampled_from(["a", "..", ".", "", "...", "..a"]), max_size=8),
)
def test_joined_paths_never_leave_the_repo(base: list[str], parts: list[str]) -> None:
    found = join("/".join(base) or ".", "/".join(parts))

    if found is not None:
        real = posixpath.normpath(posixpath.join("/repo", found))
        assert real == "/repo" or real.startswith("/repo/")


def _closed(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    """Make a directory unreadable, for root too."""
    scandir, lstat = os.scandir, os.lstat

    def refuse(path: object, *, inside: bool) -> None:
        given = os.path.normpath(os.fspath(path))  # type: ignore[call-overload]
        if given.startswith(f"{directory}/") or (given == str(directory) and not inside):
            raise PermissionError(13, "Permission denied", given)

    def scan(path: object = ".") -> object:
        refuse(path, inside=False)
        return scandir(path)  # type: ignore[call-overload]

    def stat(path: object, **more: object) -> object:
        refuse(path, inside=True)
        return lstat(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "scandir", scan)
    monkeypatch.setattr(os, "lstat", stat)


@pytest.mark.parametrize("git", ["none", "tracked", "silent"])
def test_a_directory_that_cannot_be_read_is_an_error(git: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"a.yaml": "", "b/c/d.yaml": "", "b/c/e.yaml": ""})
    named = {"none": None, "tracked": ["a.yaml", "b/c/d.yaml", "b/c/e.yaml"], "silent": ["a.yaml"]}[git]
    monkeypatch.setattr(file_listing, "_asked", lambda _: (named, []))
    _closed(monkeypatch, tmp_path / "b/c")

    listing = file_listing.listed(tmp_path)

    assert listing.files == ("a.yaml",)
    (diagnostic,) = listing.diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.place.path) == ("directory-unreadable", "error", "b/c")
    assert diagnostic.message == "the directory cannot be read: permission denied"


def test_a_directory_that_cannot_be_entered_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, {"a.yaml": "", "b/c/d.yaml": ""})
    monkeypatch.setattr(file_listing, "_asked", lambda _: (["a.yaml", "b/c/d.yaml"], []))
    monkeypatch.setattr(file_listing, "_unreadable", lambda *_: [])
    _closed(monkeypatch, tmp_path / "b")

    assert [str(each.place.path) for each in file_listing.listed(tmp_path).diagnostics] == ["b"]


def test_files_that_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = make(tmp_path, {"a.yaml": "x: 1234567890\n", "b.yaml": "y" * 40})
    read = os.read
    monkeypatch.setattr(work_tree, "SIZE", 40)
    monkeypatch.setattr(os, "read", lambda fd, length: read(fd, min(length, 5)))

    assert tree.bytes("a.yaml") == b"x: 1234567890\n"
    assert tree.bytes("b.yaml") == b"y" * 40


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = make(tmp_path, {"a.yaml": "x: 1\n", "b.yaml": "x: 1\n"})
    fstat = os.fstat

    def before(fd: int) -> os.stat_result:
        found = fstat(fd)
        (tmp_path / "a.yaml").write_text("x: 1\ny: 2\n")
        (tmp_path / "b.yaml").write_text("x" * 50)
        return found

    monkeypatch.setattr(work_tree, "SIZE", 40)
    monkeypatch.setattr(os, "fstat", before)

    assert tree.bytes("a.yaml") == b"x: 1\ny: 2\n"
    assert tree.bytes("b.yaml") is None


def test_the_mark_before_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    tree = make(tmp_path, {"a.yaml": "x: ä\n"})
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfx: \xc3\xa4\xff\n")

    assert tree.text("a.yaml") == "x: ä\ufffd\n"
