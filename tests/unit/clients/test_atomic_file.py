"""Files that are replaced as a whole, and that nothing else in the sources replaces files."""

import ast
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import firstlight
from firstlight.clients import atomic_file

SOURCES = Path(firstlight.__file__).parent

OTHER_RENAMES = {
    # Directories, which appear as a whole.
    "clients/path_safety.py": 1,
    "commands/backup/backup_store.py": 1,
    "lab/lab_directory.py": 3,
    "lab/sources/chart_repositories.py": 1,
    "lab/sources/git_repositories.py": 2,
    "tools/binary_cache.py": 3,
    "tools/content_cache.py": 2,
    "tools/go_toolchain.py": 1,
    # Files that get another name and replace nothing.
    "commands/backup/encryption.py": 1,
    "execute/cluster_identity.py": 1,
    "lab/sources/registry_store.py": 1,
    "tools/download.py": 1,
}
"""How often a module renames something that is not the new content of a file."""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_file_is_created_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    atomic_file.replace(path, b"one")
    first = path.stat().st_ino
    atomic_file.replace(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_ino != first, "a reader of the old one goes on with the old one"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("mode", "expected"), [(atomic_file.PRIVATE, 0o600), (0o755, 0o755), (None, 0o640)])
def test_the_mode_is_exact_or_that_of_a_new_file(tmp_path: Path, mode: int | None, expected: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o604)
    atomic_file.replace(path, b"new", mode=mode)
    assert mode_of(path) == expected


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "file").symlink_to("other")
    atomic_file.replace(tmp_path / "file", b"new")
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "other").read_bytes() == b"other"


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(OSError, match="No space"):
        atomic_file.replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("durable", [True, False])
def test_content_and_name_reach_the_disk_in_that_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(fd: int) -> None:
        calls.append("directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "content")
        fsync(fd)

    def noted_replace(source: Path, target: Path) -> None:
        calls.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    atomic_file.replace(tmp_path / "file", b"new", durable=durable)
    assert calls == (["content", "rename", "directory"] if durable else ["rename"])


def test_a_caller_may_change_their_mind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_file.staged(path, b"new") as made:
        assert (made.parent, made.read_bytes()) == (tmp_path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"one", b"two"):
        with atomic_file.staged(path, content) as made:
            if path.exists():
                with pytest.raises(FileExistsError):
                    atomic_file.put_new(made, path)
            else:
                atomic_file.put_new(made, path)
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["file"]


def renames(tree: ast.AST) -> int:
    """Calls of os.replace, os.rename and os.link, and of their methods of Path, which have one argument."""
    return sum(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and not call.keywords
        and (
            (isinstance(call.func.value, ast.Name) and call.func.value.id == "os" and call.func.attr in _CALLS)
            or (call.func.attr in {"replace", "rename", "hardlink_to"} and len(call.args) == 1)
        )
        for call in ast.walk(tree)
    )


_CALLS = {"replace", "rename", "renames", "link"}


def test_files_are_replaced_in_one_place() -> None:
    found = {
        str(path.relative_to(SOURCES)): count
        for path in sorted(SOURCES.rglob("*.py"))
        if path != Path(atomic_file.__file__) and (count := renames(ast.parse(path.read_bytes())))
    }
    assert found == OTHER_RENAMES, "the content of a file is replaced with clients.atomic_file"
