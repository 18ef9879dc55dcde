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


OLD = "version: v1alpha1\nmachine: {type: controlplane}\ncluster: {clusterName: home}\n"
NAMED = "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: cp-1\n"
NEW = "apiVersion: v1alpha1\nkind: KubeProxyConfig\nenabled: false\n"


@pytest.mark.parametrize(
    ("text", "talos", "around", "is_document"),
    [
        ("", "v1.14.1", ["KubeProxyConfig", ""], True),
        ("", "v1.14.1", ["", "HostnameConfig"], False),
        ("", "v1.13.9", ["KubeProxyConfig"], False),
        (NEW, "v1.14.1", [], True),
        (NEW, "", [], True),
        (NEW, "v1.13.9", [], False),
        (f"{OLD}---\n{NEW}", "v1.14.1", [], True),
        (f"{OLD}---\n{NAMED}", "v1.14.1", [], False),
        (OLD, "v1.14.1", ["KubeProxyConfig"], False),
        (NAMED, "v1.14.1", [], True),
        (NAMED, "", [], False),
        ("kind: Cluster\nname: a\n---\nkind: ControlPlane\n", "v1.14.1", ["KubeProxyConfig"], True),
        ("kind: Cluster\nname: a\n---\nkind: ControlPlane\n", "v1.14.1", [], False),
    ],
)
def test_a_new_manifest_takes_the_form_of_its_file(
    tmp_path: Path, text: str, talos: str, around: list[str], is_document: bool
) -> None:
    one = an_object("ConfigMap", "c", namespace="kube-system")

    made = embedding.make_embedding(request(tmp_path, text=text, talos=talos, kinds=around, objects=[one]))

    assert ("KubeInlineManifestConfig" in made.text, "inlineManifests" in made.text) == (is_document, not is_document)


def test_a_document_needs_a_name_of_dns(tmp_path: Path) -> None:
    one = an_object("ConfigMap", "c", namespace="kube-system")

    with pytest.raises(errors.ConfigError, match="KubeInlineManifestConfig cannot be called 'My_Net'"):
        embedding.make_embedding(request(tmp_path, text=NEW, name="My_Net", talos="v1.14.1", objects=[one]))
    made = embedding.make_embedding(request(tmp_path, text=OLD, name="My_Net", talos="v1.14.1", objects=[one]))
    assert "name: My_Net" in made.text
