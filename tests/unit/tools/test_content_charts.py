import tarfile
from pathlib import Path

import pytest
import yaml

from firstlight import errors
from firstlight.tools import content, content_entry

METADATA = """apiVersion: v2
name: tiny
description: a chart
annotations:
  one: "{{FILL}}"
  two: |
    text
dependencies:
- name: other
  version: 1.0.0

# set at the release
version: v0.0.0
appVersion: v0.0.0
maintainers:
  - name: nobody
"""


def write(directory: Path, metadata: str = METADATA) -> Path:
    made = directory / "tiny"
    (made / "templates").mkdir(parents=True)
    (made / "charts/sub").mkdir(parents=True)
    (made / "Chart.yaml").write_text(metadata)
    (made / "charts/sub/Chart.yaml").write_text("name: sub\nversion: 1.0.0\n")
    (made / "templates/b.yaml").write_text("b: 1\n")
    (made / "templates/a.yaml").write_text("a: 1\n")
    return made


@pytest.mark.parametrize(
    ("settings", "changed", "gone"),
    [
        ({"version": "v1.2.3"}, {"version": "v1.2.3", "appVersion": "v0.0.0"}, set()),
        ({"version": "1.2.3", "app_version": "1.2"}, {"version": "1.2.3", "appVersion": "1.2"}, set()),
        ({"drop": ("annotations",)}, {}, {"annotations"}),
        ({"drop": ("annotations", "dependencies", "nothing")}, {}, {"annotations", "dependencies"}),
        ({}, {}, set()),
    ],
)
def test_sets_what_a_release_sets_and_leaves_the_rest(
    tmp_path: Path, settings: dict[str, object], changed: dict[str, str], gone: set[str]
) -> None:
    made = write(tmp_path)
    before = yaml.safe_load(METADATA)

    content.fill_chart(made, content_entry.ContentChart("tiny", **settings))  # type: ignore[arg-type]

    text = (made / "Chart.yaml").read_text()
    assert yaml.safe_load(text) == {k: v for k, v in (before | changed).items() if k not in gone}
    assert "# set at the release" in text


def test_sets_a_version_that_was_not_there(tmp_path: Path) -> None:
    made = write(tmp_path, "name: tiny\nversion: 1.0.0\n")

    content.fill_chart(made, content_entry.ContentChart("tiny", app_version="v1"))

    assert yaml.safe_load((made / "Chart.yaml").read_text())["appVersion"] == "v1"


def test_packs_the_same_bytes_whenever_and_wherever_it_is(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other")
    (other / "Chart.yaml").touch()
    (other / "templates/a.yaml").chmod(0o600)

    first, second = content.pack_chart(one), content.pack_chart(other)

    assert first.name == "tiny-v0.0.0.tgz"
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        assert tar.getnames() == [
            "tiny/Chart.yaml", "tiny/charts/sub/Chart.yaml", "tiny/templates/a.yaml", "tiny/templates/b.yaml",
        ]  # fmt: skip
        assert {(m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname) for m in tar} == {(0o644, 0, 0, 0, "", "")}


@pytest.mark.parametrize("metadata", ["name: tiny\n", "version: 1.0.0\n", "name: other\nversion: 1.0.0\n"])
def test_refuses_to_pack_what_does_not_say_what_it_is(tmp_path: Path, metadata: str) -> None:
    with pytest.raises(errors.ToolError, match=r"tiny/Chart\.yaml is of the chart"):
        content.pack_chart(write(tmp_path, metadata))


def test_a_directory_without_a_chart_is_said(tmp_path: Path) -> None:
    with pytest.raises(errors.ToolError, match="is not a chart"):
        content.fill_chart(tmp_path, content_entry.ContentChart("tiny"))
