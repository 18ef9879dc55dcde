"""Releases as Helm keeps them."""

import base64
import gzip
import re
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.execute.apply import helm_storage
from firstlight.model import helm_chart
from firstlight.model.secret import Secret

RELEASE: dict[str, Any] = {
    "name": "shop", "version": 3, "info": {"status": "deployed", "last_deployed": "2026-01-02T03:04:05Z"},
    "config": {"a": 1.0, "b": {"c": [True, None]}}, "manifest": "---\nkind: ConfigMap\nmetadata: {name: one}\n---\n",
    "chart": {"metadata": {"name": "shop", "version": "1.2.3"},
              "templates": [{"name": "templates/a.yaml", "data": base64.b64encode(b"x").decode()}],
              "files": [{"name": "rendered.yaml", "data": base64.b64encode(b"r").decode()}],
              "values": {"word": "one"}},
}  # fmt: skip


def secret(release: object = RELEASE, labels: dict[str, str] | None = None) -> dict[str, Any]:
    inner = base64.b64encode(gzip.compress(msgspec.json.encode(release)))
    metadata = {"name": "sh.helm.release.v1.shop.v3", "uid": "u", "resourceVersion": "7", "labels": labels or {}}
    return {"metadata": metadata, "data": {"release": base64.b64encode(inner).decode()}}


def test_a_release_is_read_and_not_shown() -> None:
    kept = helm_storage.decoded(secret())
    assert (kept.revision, kept.status, kept.chart, kept.version, kept.maker) == (3, "deployed", "shop", "1.2.3", "")
    assert kept.updated is not None
    assert kept.updated.year == 2026
    assert "ConfigMap" not in repr(kept)


@pytest.mark.parametrize(
    ("values", "is_same"),
    [('{"b":{"c":[true,null]},"a":1}', True), ('{"a":1}', False), ('{"a":true,"b":{"c":[true,null]}}', False)],
)
def test_values_are_the_same_whatever_their_order(values: str, is_same: bool) -> None:
    assert helm_storage.same_values(Secret(values), helm_storage.decoded(secret())) is is_same


@given(holder=st.text(max_size=300), revision=st.integers(1, 99_999))
def test_who_made_a_revision_is_in_labels_that_kubernetes_takes(holder: str, revision: int) -> None:
    carried = helm_storage.labels(holder="x" * 400, revision=2, digest="e" * 64)
    labels = carried | helm_storage.labels(holder=holder, revision=revision, digest="d" * 64)
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", each) for each in labels.values())
    assert all(re.fullmatch(r"[a-z./0-9-]{1,63}", each) for each in labels)
    kept = helm_storage.decoded(secret(RELEASE | {"version": revision}, labels))
    assert (kept.maker, kept.digest) == (holder, "d" * 40)
    later = helm_storage.decoded(secret(RELEASE | {"version": revision + 1}, labels))
    assert (later.maker, later.digest) == ("", ""), "Helm carries labels over to what somebody else writes"


@pytest.mark.parametrize("odd", ["", "3", "3-", "3-x", "3--1", "3-0", "3-1", "3-99999999", "x-1", "-"])
def test_labels_of_strangers_make_nobody_a_maker(odd: str) -> None:
    labels = {helm_storage.MAKER: odd, f"{helm_storage.MAKER}-1": "not base 32", helm_storage.CHART: odd}
    assert helm_storage.decoded(secret(labels=labels)).maker == ""


def test_a_chart_is_compared_by_its_digest(tmp_path: Path) -> None:
    labels = helm_storage.labels(holder="ann", revision=3, digest="d" * 64)
    kept = helm_storage.decoded(secret(labels=labels))
    assert helm_storage.same_chart(helm_chart.LocalChart(tmp_path / "none"), kept, digest="d" * 64)
    assert not helm_storage.same_chart(helm_chart.LocalChart(tmp_path / "none"), kept, digest="e" * 64)


@pytest.mark.parametrize(
    ("files", "is_same"),
    [
        ({}, True),
        ({"templates/a.yaml": "y"}, False),
        ({"templates/b.yaml": "x"}, False),
        ({"templates/b.yaml": "x", ".helmignore": "b.yaml"}, True),
        ({"values.yaml": "word: two"}, False),
        ({"values.yaml": "word: two", "charts/sub/Chart.yaml": "name: sub"}, True),
        ({"values.yaml": "{"}, False),
        ({"rendered.yaml": "other"}, False),
    ],
)
@pytest.mark.parametrize("is_archive", [False, True])
def test_without_a_digest_what_helm_keeps_is_compared(
    tmp_path: Path, files: dict[str, str], is_same: bool, is_archive: bool
) -> None:
    whole = {"Chart.yaml": "name: shop", "values.yaml": "word: one", "templates/a.yaml": "x", "rendered.yaml": "r"}
    place = tmp_path / "shop"
    for name, content in (whole | files).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
    if is_archive:
        with tarfile.open(tmp_path / "shop.tgz", "w:gz") as archive:
            archive.add(place, "shop")
        place = tmp_path / "shop.tgz"
    kept = helm_storage.decoded(secret())
    assert helm_storage.same_chart(helm_chart.LocalChart(place), kept, digest="d" * 64) is is_same


def test_objects_carry_the_marks_of_helm() -> None:
    (one,) = helm_storage.decoded(secret()).objects("shop", "shops")
    assert one.value["metadata"] == {
        "name": "one",
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "shops"},
    }


@pytest.mark.parametrize("release", ["text", {"name": "x"}, []])
def test_what_is_no_release_is_not_taken_for_one(release: object) -> None:
    with pytest.raises(msgspec.DecodeError):
        helm_storage.decoded(secret(release))
