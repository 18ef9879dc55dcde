import os
import shutil
from pathlib import Path

import pytest

from firstlight.lab import lab_directory


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A tree as Argo CD's repo server leaves one behind; root gets in anyway."""
    tree = tmp_path / "tree"
    (tree / "checkouts" / "one").mkdir(parents=True)
    (tree / "checkouts" / "one" / "file").write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (tree / "link").symlink_to(outside)
    (tree / "checkouts" / "one").chmod(0o000)
    (tree / "checkouts").chmod(0o300)
    return tree


def test_a_locked_tree_is_removed(locked: Path) -> None:
    lab_directory.remove_tree(locked)

    assert not locked.exists()
    assert (locked.parent / "outside").is_dir()


def test_nothing_is_unlocked_behind_a_link(locked: Path) -> None:
    lab_directory.unlock_tree(locked)

    modes = [os.stat(locked / name).st_mode & 0o777 for name in (".", "checkouts", "checkouts/one", "link")]
    assert modes == [0o700, 0o700, 0o700, 0o500]


def test_what_cannot_be_removed_is_unlocked_first(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the tests run as root."""
    seen: list[int] = []
    real = shutil.rmtree

    def rmtree(path: Path) -> None:
        seen.append((path / "checkouts").stat().st_mode & 0o777)
        if len(seen) == 1:
            raise PermissionError(path)
        real(path)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    lab_directory.remove_tree(locked)

    assert seen == [0o300, 0o700]
    assert not locked.exists()


def test_a_tree_that_is_not_there_is_removed_already(tmp_path: Path) -> None:
    lab_directory.remove_tree(tmp_path / "nothing")
