import os
from pathlib import Path
from typing import Any

import yaml

from firstlight.lab.sources import chart_repositories
from tests.unit.lab.sources.test_archive import packed


def put(folder: Path, name: str, version: str, **more: Any) -> Path:
    path = folder / f"{name}-{version}.tgz"
    content = {"apiVersion": "v2", "name": name, "version": version, **more}
    path.write_bytes(packed((f"{name}/Chart.yaml", yaml.safe_dump(content))))
    return path


def test_versions_are_ordered() -> None:
    ordered = ["0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",
               "1.0.0", "v1.2.0", "1.10.0+a"]  # fmt: skip
    assert sorted(reversed(ordered), key=chart_repositories.version_precedence) == ordered


def test_the_index_is_what_is_there(tmp_path: Path) -> None:
    put(tmp_path, "web", "1.2.0", description="ü: [x]")
    put(tmp_path, "web", "1.10.0")
    put(tmp_path, "db", "v0.1.0+b")
    (tmp_path / "broken.tgz").write_bytes(b"x")
    (tmp_path / ".half.tgz").write_bytes(b"x")
    (tmp_path / "link.tgz").symlink_to(tmp_path / "web-1.2.0.tgz")

    found = yaml.safe_load(chart_repositories.ChartIndexes().index(tmp_path))

    assert {name: [each["version"] for each in entries] for name, entries in found["entries"].items()} == {
        "db": ["v0.1.0+b"],
        "web": ["1.10.0", "1.2.0"],
    }
    assert found["entries"]["web"][1]["description"] == "ü: [x]"
    assert found["entries"]["db"][0]["urls"] == ["db-v0.1.0+b.tgz"]
    assert isinstance(found["entries"]["db"][0]["created"], str), "clients read a time from text"


def test_it_is_made_again_only_when_files_change(tmp_path: Path) -> None:
    indexes = chart_repositories.ChartIndexes()
    empty = indexes.index(tmp_path)
    path = put(tmp_path, "web", "1.0.0")
    first = indexes.index(tmp_path)

    assert yaml.safe_load(empty)["entries"] == {}
    assert indexes.index(tmp_path) is first
    os.utime(path, (1, 1))
    assert indexes.index(tmp_path) != first
    path.unlink()
    assert yaml.safe_load(indexes.index(tmp_path))["entries"] == {}
    assert yaml.safe_load(indexes.index(tmp_path / "gone"))["entries"] == {}
