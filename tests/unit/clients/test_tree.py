import contextlib
import os
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import tree


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

    assert tree.check(root) == tree.Extent(2, 6)


@pytest.mark.parametrize("target", ["/etc/passwd", "..", "../other", "a/b/../../../other", "/nowhere"])
def test_a_link_out_of_it_is_refused(root: Path, target: str) -> None:
    (root / "a" / "link").symlink_to(target if target.startswith("/") else f"../{target}")

    with pytest.raises(errors.Refused, match="leads out of"):
        tree.check(root)


def test_a_link_by_way_of_a_link(root: Path) -> None:
    (root / "a" / "up").symlink_to("..")
    (root / "out").symlink_to("a/up/../secret")

    with pytest.raises(errors.Refused, match="leads out of"):
        tree.check(root)


def test_a_link_into_the_wider_tree(root: Path) -> None:
    (root / "a" / "link").symlink_to("../g")

    assert tree.check(root / "a", within=root).files == 2
    with pytest.raises(errors.Refused):
        tree.check(root / "a")
    with pytest.raises(errors.Refused):
        tree.check(root, within=root / "a")


def test_a_link_in_a_circle(root: Path) -> None:
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")

    with pytest.raises(errors.Refused):
        tree.check(root)


def test_what_is_no_file(root: Path) -> None:
    os.mkfifo(root / "pipe")

    with pytest.raises(errors.Refused, match="neither"):
        tree.check(root)


@pytest.mark.parametrize("limits", [tree.Limits(files=1), tree.Limits(size=5), tree.Limits(depth=1)])
def test_too_much(root: Path, limits: tree.Limits) -> None:
    with pytest.raises(errors.Refused):
        tree.check(root, limits=limits)


def test_names_that_are_skipped_only_at_the_top(root: Path) -> None:
    (root / ".git").symlink_to("/etc")

    assert tree.check(root, skip={".git"}).files == 2
    (root / "a" / ".git").symlink_to("/etc")
    with pytest.raises(errors.Refused):
        tree.check(root, skip={".git"})


def test_a_directory_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with tree.landing(tmp_path / "x") as made:
        made.mkdir()
        assert not (tmp_path / "x").exists()
    assert os.listdir(tmp_path) == ["x"]

    with contextlib.suppress(RuntimeError), tree.landing(tmp_path / "y") as made:
        made.mkdir()
        raise RuntimeError
    assert os.listdir(tmp_path) == ["x"]
    for taken in (tmp_path / "x", tmp_path / "none" / "y"):
        with pytest.raises(errors.UsageError), tree.landing(taken):
            pass
