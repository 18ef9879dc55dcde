"""What cannot be embedded at all."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.render.inline import embedding
from firstlight.render.inline.embedding import EmbeddingRequest
from tests.unit.render.inline.sample import PLACE, an_object


def request(root: Path, **given: Any) -> EmbeddingRequest:
    fields: dict[str, Any] = {
        "root": root, "path": "patch.yaml", "text": "machine: {type: controlplane}\n", "name": "x", "component": "x",
        "place": PLACE, "objects": [], "now": datetime.datetime(2026, 5, 4, tzinfo=datetime.UTC),
    }  # fmt: skip
    return EmbeddingRequest(**(fields | given))


def test_nothing_is_not_embedded(tmp_path: Path) -> None:
    made = embedding.make_embedding(request(tmp_path))

    assert made.embedding.is_refused
    assert "there is nothing to embed" in [each.message for each in made.embedding.diagnostics]


def test_a_name_is_needed(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="needs a name"):
        embedding.make_embedding(request(tmp_path, name=" "))


@pytest.mark.parametrize("value", [2**70, float("inf"), {1: "a"}])
def test_what_no_yaml_of_go_can_say(tmp_path: Path, value: Any) -> None:
    one = an_object("ConfigMap", "c", namespace="kube-system", data={"a": value})

    with pytest.raises(errors.ConfigError, match="cannot be written so that Talos reads it"):
        embedding.make_embedding(request(tmp_path, objects=[one]))


def test_an_object_of_another_manifest_is_told(tmp_path: Path) -> None:
    one = an_object("ConfigMap", "c", namespace="kube-system")
    text = """\
cluster:
  clusterName: home
  inlineManifests:
    - name: other
      contents: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: c, namespace: kube-system}
machine: {type: controlplane}
version: v1alpha1
"""
    (tmp_path / "talos").mkdir()
    (tmp_path / "talos" / "cp.yaml").write_text(text)

    made = embedding.make_embedding(request(tmp_path, path="talos/cp.yaml", text=text, objects=[one]))

    assert [each.message for each in made.embedding.diagnostics] == [
        "ConfigMap kube-system/c is in the inline manifest other too: that of other counts"
    ]
