import os
import time
from pathlib import Path

import pytest

from firstlight.tools import binary_cache, catalogue, content_cache
from tests.unit.tools import tiny_module

CONTENT = catalogue.parse(tiny_module.CONTENT, path="tiny").content["tiny-chart"]


def put(root: Path, *, recipe: str = "r", text: str = "content") -> content_cache.CachedContent:
    stage = root / "tmp" / recipe
    (stage / "content/bin").mkdir(parents=True)
    (stage / "content/file").write_text(text)
    (stage / "content/bin/run.sh").write_text("#!/bin/sh\n")
    (stage / "content/bin/run.sh").chmod(0o755)
    shelf = content_cache.of(binary_cache.BinaryCache(root))
    return shelf.publish(stage / "content", CONTENT, recipe=recipe, seconds=1, aside=stage / "replaced")


def test_what_was_published_is_found_by_its_recipe_and_no_other(tmp_path: Path) -> None:
    entry = put(tmp_path)
    shelf = content_cache.of(binary_cache.BinaryCache(tmp_path))

    assert entry.path == tmp_path / "content/tiny-chart/1.0.0-r"
    assert shelf.look_up("tiny-chart", "r") == (entry, ())
    assert shelf.look_up("tiny-chart", "other") == (None, ())
    assert shelf.names() == ("tiny-chart",)
    assert entry.size == len("content") + len("#!/bin/sh\n")
    assert entry.provenance.modules == (f"{tiny_module.ROOT} {tiny_module.SUM}",)


@pytest.mark.parametrize("damage", ["truncate", "remove", "add", "link", "mode", "provenance", "no provenance"])
def test_damage_is_noticed_without_reading(tmp_path: Path, damage: str) -> None:
    entry = put(tmp_path)
    file = entry.path / "file"

    match damage:
        case "truncate":
            os.truncate(file, 3)
        case "remove":
            file.unlink()
        case "add":
            (entry.path / "bin/more").write_text("")
        case "link":
            file.rename(tmp_path / "elsewhere")
            file.symlink_to(tmp_path / "elsewhere")
        case "mode":
            (entry.path / "bin/run.sh").chmod(0o644)
        case "provenance":
            (entry.path / binary_cache.PROVENANCE).write_text("{")
        case "no provenance":
            (entry.path / binary_cache.PROVENANCE).unlink()

    found, damaged = content_cache.of(binary_cache.BinaryCache(tmp_path)).look_up("tiny-chart", "r")
    assert found is None
    assert [ruin.path for ruin in damaged] == [entry.path]


def test_a_change_of_the_same_size_is_noticed_by_reading(tmp_path: Path) -> None:
    entry = put(tmp_path)
    assert content_cache.verify(entry) is None

    (entry.path / "file").write_text("CONTENT")

    ruin = content_cache.verify(entry)
    assert ruin is not None
    assert ruin.why.startswith("file has changed")


def test_what_is_published_again_replaces_what_was_there(tmp_path: Path) -> None:
    before = put(tmp_path)
    (tmp_path / "tmp/r").rename(tmp_path / "tmp/swept")

    after = put(tmp_path, text="again")

    assert after.path == before.path
    assert (after.path / "file").read_text() == "again"
    assert content_cache.verify(after) is None


def test_what_nobody_used_for_a_month_goes_with_the_next(tmp_path: Path) -> None:
    old, recent = put(tmp_path, recipe="old"), put(tmp_path, recipe="recent")
    long_ago = time.time() - 31 * 86400
    os.utime(old.path / binary_cache.PROVENANCE, (long_ago, long_ago))

    new = put(tmp_path, recipe="new")

    assert set((tmp_path / "content/tiny-chart").iterdir()) == {recent.path, new.path}
