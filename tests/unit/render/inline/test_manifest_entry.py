"""Where inline manifests stand in files of every kind."""

import pytest

from firstlight import errors
from firstlight.render.inline import manifest_entry
from firstlight.render.inline.manifest_entry import EntryForm, TextPath

PATCH = """\
cluster:
  inlineManifests:
    - name: one
      contents: |
        a: 1
    - name: two
      contents: ""
"""
TEMPLATE = """\
kind: Cluster
name: c
kubernetes:
  version: v1.35.0
  manifests:
    - {name: flux, mode: one-time, inline: [{apiVersion: v1}]}
    - name: text
      mode: full
      inline: |
        apiVersion: v1
---
kind: ControlPlane
patches:
  - name: core
    inline:
      cluster:
        inlineManifests:
          - {name: cni, contents: "a: 1"}
  - name: as-text
    inline: |
      cluster:
        inlineManifests:
          - name: deep
            contents: x
"""
TALCONFIG = """\
clusterName: c
controlPlane:
  patches:
    - |-
      cluster:
        inlineManifests:
          - name: one
            contents: x
    - |-
      - op: add
        path: /cluster/x
"""


def the(text: str, name: str, path: str = "x.yaml") -> manifest_entry.ManifestEntry:
    found = manifest_entry.find_entry(text, name, path=path)
    assert found is not None
    return found


def test_an_entry_of_a_patch() -> None:
    two = the(PATCH, "two")

    assert two.way == (TextPath(0, ("cluster", "inlineManifests", 1)),)
    assert (two.key, two.form, two.value, two.is_omni) == ("contents", EntryForm.TEXT, "", False)
    assert manifest_entry.entry_line(PATCH, two) == 6


def test_there_is_none() -> None:
    assert manifest_entry.find_entry(PATCH, "three") is None
    assert manifest_entry.find_entry("", "one") is None


def test_an_inline_patch_of_an_omni_template() -> None:
    assert the(TEMPLATE, "cni").way == (TextPath(1, ("patches", 0, "inline", "cluster", "inlineManifests", 0)),)


def test_a_patch_that_is_a_text() -> None:
    deep = the(TEMPLATE, "deep")

    assert deep.way == (TextPath(1, ("patches", 1, "inline")), TextPath(0, ("cluster", "inlineManifests", 0)))
    assert manifest_entry.entry_line(TEMPLATE, deep) == 20


def test_manifests_of_omni() -> None:
    flux, text = the(TEMPLATE, "flux"), the(TEMPLATE, "text")

    assert (flux.way, flux.key, flux.form, flux.is_omni) == (
        (TextPath(0, ("kubernetes", "manifests", 0)),), "inline", EntryForm.OBJECTS, True,
    )  # fmt: skip
    assert text.form is EntryForm.TEXT


def test_a_patch_inside_of_talhelpers_file() -> None:
    assert the(TALCONFIG, "one", "talconfig.yaml").way == (
        TextPath(0, ("controlPlane", "patches", 0)),
        TextPath(0, ("cluster", "inlineManifests", 0)),
    )


def test_operations_of_a_json_patch() -> None:
    one = the("- {op: add, path: /cluster/inlineManifests/-, value: {name: a, contents: x}}", "a")
    two = the("- {op: add, path: /cluster/inlineManifests, value: [{name: a, contents: x}]}", "a")

    assert one.way == (TextPath(0, (0, "value")),)
    assert two.way == (TextPath(0, (0, "value", 0)),)


def test_a_document_of_talos_1_14() -> None:
    text = "machine: {}\n---\napiVersion: v1alpha1\nkind: KubeInlineManifestConfig\nname: a\nmanifest: x\n"

    found = the(text, "a")

    assert (found.way, found.key) == ((TextPath(1, ()),), "manifest")
    assert manifest_entry.entry_line(text, found) == 3


def test_contents_are_not_searched() -> None:
    inner = "cluster:\n  inlineManifests:\n    - name: hidden\n      contents: x\n"
    text = f"cluster:\n  inlineManifests:\n    - name: a\n      contents: {inner!r}\n".replace("'", '"')

    assert [each.entry["name"] for each in manifest_entry.all_entries(text)] == ["a"]


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (
            PATCH + PATCH.partition("inlineManifests:\n")[2],
            "x.yaml",
            "the inline manifest one is there twice, in lines 3",
        ),
        ("cluster:\n  inlineManifests: [{name: one, $patch: delete}]", "x.yaml", "here one is taken away"),
        ('cluster:\n  inlineManifests: [{name: one, contents: "ENC[x]"}]', "x.yaml", "are encrypted"),
        ("inlineManifests: [{name: one, contents: '@./a.yaml'}]", "talconfig.yaml", "stand in ./a.yaml"),
        ("kind: Cluster\nkubernetes: {manifests: [{name: one, file: m.yaml}]}", "t.yaml", "stand in m.yaml"),
        ("cluster: {}\nsops: {mac: x}\n", "x.yaml", "sops signs the whole"),
        (PATCH, "control-plane.yaml.j2", "a template is not edited"),
        ("cluster: [", "x.yaml", "x.yaml:"),
        ("a: 1\na: 2\n", "x.yaml", "a is given twice"),
    ],
)
def test_what_is_no_place_for_it(text: str, path: str, message: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        manifest_entry.find_entry(text, "one", path=path)

    assert message in caught.value.message
    assert caught.value.path == path
