"""References of schemas that lead out of a chart: data in ``schemas/cases.yaml``, each tried in four places."""

import io
import json
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.clients import helm
from firstlight.clients.helm import schema_references
from firstlight.model import helm_chart
from tests.unit.clients.recorder import Recorder

CASES = yaml.safe_load((Path(__file__).parent / "schemas/cases.yaml").read_text())
PLACES = ["values.schema.json", "charts/inner/values.schema.json", "charts/a.tgz", "charts/nested.tgz"]


def packed(files: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()


def chart(root: Path, place: str, schema: bytes) -> Path:
    (root / "charts/inner").mkdir(parents=True)
    (root / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    content = schema
    if place.endswith(".tgz"):
        content = packed({"inner/Chart.yaml": b"", "inner/values.schema.json": schema})
    if "nested" in place:
        content = packed({"outer/charts/inner.tgz": content})
    (root / place).write_bytes(content)
    return root


def written(case: Mapping[str, Any]) -> bytes:
    return str(case.get("text") or json.dumps(case["schema"])).encode()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_references_that_lead_out_are_found(case: dict[str, Any], place: str, tmp_path: Path) -> None:
    found = schema_references.outside(chart(tmp_path / "c", place, written(case)))

    assert sorted(each.target for each in found) == sorted(case.get("outside", []))
    assert all(each.file.startswith(place) for each in found)


def test_a_chart_that_is_packed_itself_is_looked_into(tmp_path: Path) -> None:
    archive = tmp_path / "c.tgz"
    archive.write_bytes(packed({"c/Chart.yaml": b"", "c/values.schema.json": b'{"$ref": "file:///a"}'}))

    assert [str(each) for each in schema_references.outside(archive)] == [
        "c.tgz/c/values.schema.json refers to 'file:///a'"
    ]


def test_links_do_not_hide_a_schema(tmp_path: Path) -> None:
    root = chart(tmp_path / "repo/c", "values.schema.json", b"{}")
    (tmp_path / "repo/hidden").mkdir()
    (tmp_path / "repo/hidden/values.schema.json").write_text('{"$ref": "file:///a"}')
    (root / "charts/linked").symlink_to("../../hidden")
    (root / "charts/round").symlink_to("..")

    assert [each.file for each in schema_references.outside(root)] == ["charts/linked/values.schema.json"]


def test_what_cannot_be_looked_into_is_refused(tmp_path: Path) -> None:
    deep = b'{"a":' * 200_000 + b"1" + b"}" * 200_000
    with pytest.raises(errors.Refused, match="nested too deeply"):
        schema_references.outside(chart(tmp_path / "deep", "values.schema.json", deep))
    content = b""
    for _ in range(12):
        content = packed({"c/charts/c.tgz": content})
    (tmp_path / "many.tgz").write_bytes(content)
    with pytest.raises(errors.Refused, match="more than 8 times"):
        schema_references.outside(tmp_path / "many.tgz")
    large = io.BytesIO()
    with tarfile.open(fileobj=large, mode="w:gz") as archive, open("/dev/zero", "rb") as zeros:
        entry = tarfile.TarInfo("c/large")
        entry.size = 300 << 20
        archive.addfile(entry, zeros)
    (tmp_path / "large.tgz").write_bytes(large.getvalue())
    with pytest.raises(errors.Refused, match="more than 256 MiB"):
        schema_references.outside(tmp_path / "large.tgz")


async def test_helm_never_sees_a_reference_to_a_file(tmp_path: Path) -> None:
    program = Recorder(tmp_path / "program", "helm")
    root = chart(tmp_path / "c", "charts/inner/values.schema.json", b'{"$ref": "file:///etc/passwd"}')

    with pytest.raises(errors.Refused, match=r"charts/inner/values\.schema\.json refers to 'file:///etc/passwd'"):
        await helm.Helm(program.path).template(helm_chart.LocalChart(root), release="a", namespace="b")

    assert not os.path.exists(program.home / "calls")


async def test_helm_does_not_follow_a_reference_to_the_web(tmp_path: Path) -> None:
    program = Recorder(tmp_path / "program", "helm")
    program.says("kind: X\n")
    root = chart(tmp_path / "c", "values.schema.json", b'{"$ref": "https://example.org/a.json"}')

    done = await helm.Helm(program.path).template(helm_chart.LocalChart(root), release="a", namespace="b")

    assert "--skip-schema-validation" in program.argv
    assert done.warnings == (
        "values are not compared with the schema: values.schema.json refers to 'https://example.org/a.json', and "
        "nothing is fetched",
    )


async def test_local_references_are_left_to_helm(tmp_path: Path) -> None:
    program = Recorder(tmp_path / "program", "helm")
    program.says("kind: X\n")
    root = chart(tmp_path / "c", "values.schema.json", b'{"$ref": "#/$defs/a"}')

    done = await helm.Helm(program.path).template(helm_chart.LocalChart(root), release="a", namespace="b")

    assert "--skip-schema-validation" not in program.argv
    assert done.warnings == ()
