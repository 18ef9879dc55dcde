"""Directories with secrets in them, and what becomes of those that nobody took away."""

import fcntl
import os
from pathlib import Path

import pytest

from firstlight.render import private_directory


def test_it_is_gone_afterwards(tmp_path: Path) -> None:
    with private_directory.create("decide", memory=tmp_path) as root:
        (root / "a").write_text("x")
        assert root.parent == tmp_path
        assert root.stat().st_mode & 0o077 == 0

    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="odd"), private_directory.create("decide", memory=tmp_path):
        raise OSError("odd")

    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_goes(tmp_path: Path) -> None:
    for name in ("firstlight-decide-abc", "firstlight-render-def", "firstlight-other", "somebody"):
        (tmp_path / name / "deep").mkdir(parents=True)
    (tmp_path / "firstlight-decide-link").symlink_to(tmp_path / "somebody")

    with private_directory.create("decide", memory=tmp_path):
        left = sorted(each.name for each in tmp_path.iterdir())

    assert "firstlight-decide-abc" not in left
    assert "firstlight-render-def" not in left
    assert {"firstlight-other", "somebody", "firstlight-decide-link"} <= set(left)


def test_what_a_run_still_has_stays(tmp_path: Path) -> None:
    with private_directory.create("render", memory=tmp_path) as root:
        private_directory.swept(tmp_path)
        assert root.is_dir()
        handle = os.open(root, os.O_RDONLY)
        with pytest.raises(OSError, match=r"."):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)
