import contextlib
import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import path_safety


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "root"
    (path / "a" / "b").mkdir(parents=True)
    (path / "a" / "b" / "f").write_text("12345")
    (path / "g").write_text("1")
    return path


def test_how_much_is_in_a_tree(root: Path) -> None:
    (root / "a" / "again").symlink_to("b")
    (root / "round").symlink_to(".")
    (root / "nowhere").symlink_to("missing")

    assert path_safety.check_tree(root) == path_safety.TreeExtent(2, 6)


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "../other", "a/b/../../../other", "/nowhere"])
def test_a_link_out_of_it_is_refused(root: Path, target: str) -> None:
    (root / "a" / "link").symlink_to(target if target.startswith("/") else f"../{target}")

    with pytest.raises(errors.Refused, match="leads out of"):
        path_safety.check_tree(root)


def test_a_link_by_way_of_a_link(root: Path) -> None:
    (root / "a" / "up").symlink_to("..")
    (root / "out").symlink_to("a/up/../secret")

    with pytest.raises(errors.Refused, match="leads out of"):
        path_safety.check_tree(root)


def test_a_link_into_the_wider_tree(root: Path) -> None:
    (root / "a" / "link").symlink_to("../g")

    assert path_safety.check_tree(root / "a", within=root).files == 2
    with pytest.raises(errors.Refused):
        path_safety.check_tree(root / "a")
    with pytest.raises(errors.Refused):
        path_safety.check_tree(root, within=root / "a")


def test_a_link_in_a_circle(root: Path) -> None:
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")

    with pytest.raises(errors.Refused):
        path_safety.check_tree(root)


def test_what_is_no_file(root: Path) -> None:
    os.mkfifo(root / "pipe")

    with pytest.raises(errors.Refused, match="neither"):
        path_safety.check_tree(root)


@pytest.mark.parametrize(
    "limits", [path_safety.TreeLimits(files=1), path_safety.TreeLimits(size=5), path_safety.TreeLimits(depth=1)]
)
def test_too_much(root: Path, limits: path_safety.TreeLimits) -> None:
    with pytest.raises(errors.Refused):
        path_safety.check_tree(root, limits=limits)


def test_names_that_are_skipped_only_at_the_top(root: Path) -> None:
    (root / ".git").symlink_to("/etc")

    assert path_safety.check_tree(root, skip={".git"}).files == 2
    (root / "a" / ".git").symlink_to("/etc")
    with pytest.raises(errors.Refused):
        path_safety.check_tree(root, skip={".git"})


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with path_safety.landing(tmp_path / "x") as made:
        made.mkdir()
        assert not (tmp_path / "x").exists()
    assert os.listdir(tmp_path) == ["x"]

    with contextlib.suppress(RuntimeError), path_safety.landing(tmp_path / "y") as made:
        made.mkdir()
        raise RuntimeError
    assert os.listdir(tmp_path) == ["x"]
    for taken in (tmp_path / "x", tmp_path / "none" / "y"):
        with pytest.raises(errors.UsageError), path_safety.landing(taken):
            pass
