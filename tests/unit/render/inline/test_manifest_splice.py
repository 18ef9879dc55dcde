"""Objects go into a file, and nothing else in it changes."""

import random
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from firstlight import errors
from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.rendition import Object
from firstlight.render.inline import manifest_contents, manifest_entry, manifest_splice
from tests.unit.render.inline.sample import an_object

OBJECTS = [an_object("ConfigMap", "c", namespace="net", data={"on": "yes"}), an_object("Namespace", "net")]
WRITTEN = """\
apiVersion: v1
kind: Namespace
metadata:
  name: net
---
apiVersion: v1
data:
  "on": "yes"
kind: ConfigMap
metadata:
  name: c
  namespace: net
"""


def indented(columns: int, text: str = WRITTEN) -> str:
    return "".join(f"{' ' * columns}{line}\n" for line in text.splitlines())


FRAMES = {
    "literal": (
        "# top\ncluster:   # odd  spaces\n    inlineManifests:\n    -   name: x # here\n        contents: ",
        "|\n            a: 1",
        "\n    # between\n    - name: 'y'\n      contents: \"z\"\nmachine:\n  type:   controlplane\n",
    ),
    "literal without an end": (
        "cluster:\n  inlineManifests:\n  - name: x\n    contents: ", "|-\n      a: 1", "\n# last\n",
    ),
    "folded": ("cluster:\n  inlineManifests:\n    - name: x\n      contents: ", ">\n        a: 1", "\nmachine: {}\n"),
    "double quotes": ("cluster:\n  inlineManifests:\n    - contents: ", '"a: 1\\n"', "\n      name: x\nmachine: {}\n"),
    "plain": ("cluster:\n  inlineManifests:\n    - contents: ", "a", "\n      name: x\n"),
    "brackets": ("cluster: {inlineManifests: [{name: x, contents: ", "''", "}, {name: y, contents: z}]} # end\n"),
    "several documents": (
        "apiVersion: v1alpha1\nkind: HostnameConfig\n---\n# two\ncluster:\n  inlineManifests:\n    - name: x\n"
        "      contents: ",
        "|\n        a: 1",
        "\n---\nmachine:\n  install: {disk: /dev/sda}\n",
    ),
    "omni": (
        "kind: Cluster\nname: c\n---\nkind: ControlPlane\npatches:\n- idOverride: 400-x\n  inline:\n    cluster:\n"
        "      inlineManifests:\n        - name: x\n          contents: ",
        "|\n            a: 1",
        "\n- file: patches/y.yaml\n---\nkind: Workers\n",
    ),
    "talos 1.14": (
        "apiVersion: v1alpha1\nkind: KubeInlineManifestConfig\nname: x\nmanifest: ",
        "|\n  a: 1",
        "\n---\nmachine: {}\n",
    ),
    "json patch": (
        "- op: add\n  path: /cluster/inlineManifests/-\n  value:\n    name: x\n    contents: ", "|\n      a: 1", "\n",
    ),
    "inside of a text": (
        "clusterName: c\ncontrolPlane:\n  patches:\n    # why\n    - |-\n      cluster:\n        # deep\n"
        "        inlineManifests:\n          - name: x\n            contents: ",
        "|\n              a: 1",
        "\n          - name: y\n            contents: z\n    - '@y.yaml'\nnodes: []\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_contents_change(name: str, end: str) -> None:
    before, old, after = (each.replace("\n", end) for each in FRAMES[name])

    new = manifest_splice.embed(before + old + after, "x", OBJECTS)

    assert new.startswith(before)
    assert new.endswith(after)
    assert end == "\n" or "\n" not in new.replace("\r\n", "")
    assert inside(new, "x").rstrip("\n") == WRITTEN.rstrip("\n")


def test_a_byte_order_mark_stays() -> None:
    new = manifest_splice.embed("\ufeff" + "".join(FRAMES["literal"]), "x", OBJECTS)

    assert new.startswith("\ufeff# top\n")


def test_a_comment_behind_the_contents_stays() -> None:
    new = manifest_splice.embed("cluster:\n  inlineManifests:\n    - contents: a # why\n      name: x\n", "x", OBJECTS)

    assert f"contents: |- # why\n{indented(8)}      name: x\n" in new


def test_a_literal_keeps_its_indentation() -> None:
    new = manifest_splice.embed("".join(FRAMES["literal"]), "x", OBJECTS)

    assert f"contents: |\n{indented(12)}    # between" in new


def test_the_end_of_the_last_line_stays_as_it_was() -> None:
    new = manifest_splice.embed("".join(FRAMES["literal without an end"]), "x", OBJECTS)

    assert f"contents: |-\n{indented(6)}# last\n" in new


def test_the_last_line_has_an_end_where_it_is_part_of_a_value() -> None:
    last = an_object("Widget", "w", namespace="net", spec="text\n")

    new = manifest_splice.embed("".join(FRAMES["literal without an end"]), "x", [last])

    (document,) = yaml_reader.read_text(inside(new, "x"), "").documents
    assert document.value["spec"] == "text\n"


ADDED = f"""\
    - name: x
      contents: |
{indented(8)}"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", f"cluster:\n  inlineManifests:\n{ADDED}"),
        ("# nothing yet\n", f"# nothing yet\ncluster:\n  inlineManifests:\n{ADDED}"),
        ("machine: {} # c\n", f"machine: {{}} # c\ncluster:\n  inlineManifests:\n{ADDED}"),
        (
            "cluster:\n  # why\n  network: {cni: {name: none}}\nmachine: {}\n",
            f"cluster:\n  # why\n  network: {{cni: {{name: none}}}}\n  inlineManifests:\n{ADDED}machine: {{}}\n",
        ),
        (
            "cluster:\n  inlineManifests:\n    - name: y # c\n      contents: z\n# end\n",
            f"cluster:\n  inlineManifests:\n    - name: y # c\n      contents: z\n{ADDED}# end\n",
        ),
        (
            "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n",
            f"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n---\ncluster:\n  inlineManifests:\n{ADDED}",
        ),
        (
            "apiVersion: v1alpha1\nkind: HostnameConfig\n---\nmachine: {}\n",
            f"apiVersion: v1alpha1\nkind: HostnameConfig\n---\nmachine: {{}}\ncluster:\n  inlineManifests:\n{ADDED}",
        ),
    ],
)  # fmt: skip
def test_a_new_manifest_of_a_talos_file(text: str, wanted: str) -> None:
    assert manifest_splice.embed(text, "x", OBJECTS) == wanted


TEMPLATE = """\
# mine
kind: Cluster
name: c
kubernetes:
  version: v1.35.0 # pinned
---
kind: ControlPlane
machines: [a]
---
kind: Workers
"""


def test_a_new_manifest_of_an_omni_template_goes_to_the_control_plane() -> None:
    new = manifest_splice.embed(TEMPLATE, "x", OBJECTS)

    patch = "patches:\n  - name: x\n    inline:\n      cluster:\n        inlineManifests:\n          - name: x\n"
    wanted = TEMPLATE.replace("machines: [a]\n", f"machines: [a]\n{patch}            contents: |\n{indented(14)}")
    assert new == wanted


def test_a_new_manifest_that_omni_applies() -> None:
    new = manifest_splice.embed(TEMPLATE, "x", OBJECTS, to_omni=True)

    cluster, *others = (each.value for each in yaml_reader.read_text(new, "", dialect=YamlDialect.TALOS).documents)
    assert cluster["kubernetes"]["manifests"] == [
        {"name": "x", "mode": "one-time", "inline": [OBJECTS[1].value, OBJECTS[0].value]}
    ]
    assert [each["kind"] for each in others] == ["ControlPlane", "Workers"]
    assert "version: v1.35.0 # pinned\n  manifests:\n" in new


def test_objects_that_omni_applies_are_replaced_and_the_mode_stays() -> None:
    text = manifest_splice.embed(TEMPLATE, "x", OBJECTS, to_omni=True).replace("one-time", "full # ours")

    new = manifest_splice.embed(text, "x", OBJECTS[1:])

    assert "mode: full # ours\n" in new
    assert "ConfigMap" not in new


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("clusterName: c\nnodes: []\n", "talos/talconfig.yaml", "has no place for a new inline manifest"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "x.yaml", "has no place for an inline manifest"),
        ("- {op: add, path: /machine/x, value: 1}\n", "x.yaml", "has no place for an inline manifest"),
        ("customization: {}\n", "x.yaml", "has no place for an inline manifest"),
        ("kind: Cluster\nname: c\n", "x.yaml", "the template has no control plane"),
        ("cluster:\n  inlineManifests: *a\n", "x.yaml", "x.yaml:2"),
        ("a: &a [1]\ncluster:\n  inlineManifests: *a\n", "x.yaml", "no place"),
        ("machine: &a {}\ncluster: {inlineManifests: &b [], x: *b}\n", "x.yaml", "*b"),
    ],
)
def test_what_has_no_place_for_it(text: str, path: str, message: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        manifest_splice.embed(text, "x", OBJECTS, path=path)

    assert message in caught.value.message


def test_a_template_without_a_cluster_has_no_place_for_what_omni_applies() -> None:
    with pytest.raises(errors.ConfigError, match="no Omni template with a cluster"):
        manifest_splice.embed("kind: ControlPlane\n", "x", OBJECTS, to_omni=True)


TEXTS = st.text(alphabet=st.sampled_from("ab0:-#'\"\n\t {}[]&*!|>%@`,?~\\$é\u2028\u0085😀"), max_size=12)
SCALARS = st.one_of(TEXTS, st.booleans(), st.integers(-(2**40), 2**40), st.none(), st.sampled_from([0.5, 1e-7]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS.filter(bool), inner, max_size=3)),
    max_leaves=8,
)
KINDS = st.sampled_from(["ConfigMap", "Namespace", "Deployment", "Widget", "CustomResourceDefinition"])
NAMES = st.text(alphabet="abc-", min_size=1, max_size=4)


@st.composite
def rendered(draw: st.DrawFn) -> list[Object]:
    """Objects with names of their own, and anything inside."""
    ids = draw(st.lists(st.tuples(KINDS, NAMES), min_size=1, max_size=5, unique=True))
    return [an_object(kind, name, namespace="net", spec=draw(VALUES)) for kind, name in ids]


@hypothesis.given(objects=rendered(), frame=st.sampled_from(sorted(FRAMES)), seed=st.integers(0, 99))
@hypothesis.settings(max_examples=150)
def test_whatever_is_embedded(objects: list[Object], frame: str, seed: int) -> None:
    before, old, after = FRAMES[frame]

    new = manifest_splice.embed(before + old + after, "x", objects)

    assert new.startswith(before)
    assert new.endswith(after)
    found = [Object(each.value) for each in yaml_reader.read_text(inside(new, "x"), "").documents]
    assert [manifest_contents.fingerprint(each) for each in found] == [
        manifest_contents.fingerprint(each) for each in manifest_contents.in_order(objects)
    ]
    assert manifest_splice.embed(new, "x", objects) == new
    assert manifest_splice.embed(before + old + after, "x", random.Random(seed).sample(objects, len(objects))) == new
    assert others(new) == others(before + old + after)


@hypothesis.given(objects=rendered(), where=st.sampled_from(["", "machine: {a: 1}\n", TEMPLATE]), omni=st.booleans())
@hypothesis.settings(max_examples=60)
def test_whatever_is_added(objects: list[Object], where: str, omni: bool) -> None:
    omni = omni and where == TEMPLATE

    new = manifest_splice.embed(where, "x", objects, to_omni=omni)

    target = manifest_entry.find_entry(new, "x")
    assert target is not None
    values = target.value
    if not omni:
        values = [each.value for each in yaml_reader.read_text(target.value, "").documents]
    assert [manifest_contents.fingerprint(Object(each)) for each in values] == [
        manifest_contents.fingerprint(each) for each in manifest_contents.in_order(objects)
    ]
    assert set(where.splitlines()) <= set(new.splitlines())
    assert manifest_splice.embed(new, "x", objects) == new


def inside(text: str, name: str) -> Any:
    target = manifest_entry.find_entry(text, name)
    assert target is not None
    return target.value


def others(text: str) -> list[Any]:
    """Everything in a file but the contents."""
    return [
        {key: value for key, value in each.entry.items() if key != each.key or each.entry.get("name") != "x"}
        for each in manifest_entry.all_entries(text)
    ]
