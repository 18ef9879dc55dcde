"""Releases as Helm keeps them."""

import base64
import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.execute.applying import helm_releases
from firstlight.model import helm
from firstlight.model.secret import Secret

RELEASE: dict[str, Any] = {
    "name": "shop", "version": 3, "info": {"status": "deployed", "last_deployed": "2026-01-02T03:04:05Z"},
    "config": {"a": 1.0, "b": {"c": [True, None]}}, "manifest": "---\nkind: ConfigMap\nmetadata: {name: one}\n---\n",
    "chart": {"metadata": {"name": "shop", "version": "1.2.3"},
              "templates": [{"name": "templates/a.yaml", "data": base64.b64encode(b"x").decode()}]},
}  # fmt: skip


def secret(release: object = RELEASE, labels: dict[str, str] | None = None) -> dict[str, Any]:
    inner = base64.b64encode(gzip.compress(msgspec.json.encode(release)))
    metadata = {"name": "sh.helm.release.v1.shop.v3", "uid": "u", "resourceVersion": "7", "labels": labels or {}}
    return {"metadata": metadata, "data": {"release": base64.b64encode(inner).decode()}}


def test_a_release_is_read_and_not_shown() -> None:
    kept = helm_releases.decoded(secret())
    assert (kept.revision, kept.status, kept.chart, kept.version, kept.is_ours) == (
        3,
        "deployed",
        "shop",
        "1.2.3",
        False,
    )
    assert kept.updated is not None
    assert kept.updated.year == 2026
    assert "ConfigMap" not in repr(kept)
    assert helm_releases.decoded(secret(labels={helm_releases.MAKER: "x"})).is_ours


@pytest.mark.parametrize(
    ("values", "is_same"),
    [('{"b":{"c":[true,null]},"a":1}', True), ('{"a":1}', False), ('{"a":true,"b":{"c":[true,null]}}', False)],
)
def test_values_are_the_same_whatever_their_order(values: str, is_same: bool) -> None:
    assert helm_releases.same_values(Secret(values), helm_releases.decoded(secret())) is is_same


def test_templates_are_compared(tmp_path: Path) -> None:
    kept = helm_releases.decoded(secret())
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/a.yaml").write_bytes(b"x")
    assert helm_releases.same_templates(helm.LocalChart(tmp_path), kept)
    (tmp_path / "templates/a.yaml").write_bytes(b"y")
    assert not helm_releases.same_templates(helm.LocalChart(tmp_path), kept)


def test_objects_carry_the_marks_of_helm() -> None:
    (one,) = helm_releases.decoded(secret()).objects("shop", "shops")
    assert one.value["metadata"] == {
        "name": "one",
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "shops"},
    }


@pytest.mark.parametrize("release", ["text", {"name": "x"}, []])
def test_what_is_no_release_is_not_taken_for_one(release: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        helm_releases.decoded(secret(release))
