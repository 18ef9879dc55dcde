"""The order of objects, and how they are written."""

import random

from firstlight.document import yaml_reader
from firstlight.model.rendition import Object
from firstlight.render.inline import manifest_contents
from tests.unit.render.inline.sample import a_crd, an_object

MIXED = [
    an_object("PriorityClass", "high", api="scheduling.k8s.io/v1"),
    an_object("ValidatingWebhookConfiguration", "hook", api="admissionregistration.k8s.io/v1"),
    an_object("Widget", "w", namespace="b", api="example.org/v1"),
    an_object("Deployment", "d", namespace="b", api="apps/v1"),
    an_object("ConfigMap", "z", namespace="b"),
    an_object("ConfigMap", "a", namespace="c"),
    a_crd("Widget", "widgets", "example.org"),
    an_object("Namespace", "c"),
    a_crd("Gadget", "gadgets", "example.org"),
    an_object("ServiceAccount", "s", namespace="b"),
    an_object("Namespace", "b"),
    an_object("APIService", "v1.example.org", api="apiregistration.k8s.io/v1"),
]


def names(objects: list[Object] | tuple[Object, ...]) -> list[str]:
    return [str(each.id) for each in objects]


def test_namespaces_and_definitions_come_first_by_name_as_in_talos() -> None:
    assert names(manifest_contents.in_order(MIXED)) == [
        "Namespace b",
        "Namespace c",
        "CustomResourceDefinition gadgets.example.org",
        "CustomResourceDefinition widgets.example.org",
        "PriorityClass high",
        "ServiceAccount b/s",
        "ConfigMap b/z",
        "ConfigMap c/a",
        "Deployment b/d",
        "Widget b/w",
        "APIService v1.example.org",
        "ValidatingWebhookConfiguration hook",
    ]


def test_the_order_does_not_depend_on_the_order() -> None:
    wanted = names(manifest_contents.in_order(MIXED))

    for seed in range(20):
        shuffled = random.Random(seed).sample(MIXED, len(MIXED))
        assert names(manifest_contents.in_order(shuffled)) == wanted


def test_a_service_of_another_group_is_no_service_of_kubernetes() -> None:
    found = manifest_contents.in_order(
        [
            an_object("Service", "a", namespace="x", api="serving.knative.dev/v1"),
            an_object("Deployment", "b", namespace="x", api="apps/v1"),
            an_object("Service", "c", namespace="x"),
        ]
    )

    assert names(found) == ["Service x/c", "Deployment x/b", "Service x/a"]


def test_keys_are_sorted_and_lists_are_not() -> None:
    one = Object({"kind": "K", "b": [3, {"z": 1, "a": 2}], "apiVersion": "v1"})

    assert manifest_contents.dump_objects([one]) == "apiVersion: v1\nb:\n- 3\n- a: 2\n  z: 1\nkind: K\n"


def test_what_is_written_is_read_back_as_the_same() -> None:
    odd = an_object("ConfigMap", "odd", data={"on": "yes", "n": "0777", "e": "1e3", "t": "12:30", "l": "a\n\tb\n"})

    (document,) = yaml_reader.read_text(manifest_contents.dump_objects([odd]), "x").documents

    assert document.value == odd.value


def test_documents_are_separated_as_talos_splits_them() -> None:
    text = manifest_contents.dump_objects([an_object("Namespace", "a"), an_object("Namespace", "b")])

    assert text.count("\n---\n") == 1


def test_a_separator_inside_of_a_value_is_indented() -> None:
    one = an_object("ConfigMap", "c", data={"many.yaml": "---\na: 1\n---\nb: 2\n"})

    text = manifest_contents.dump_objects([one])

    assert not [line for line in text.splitlines() if line.startswith("---")]


def test_fingerprints_tell_types_apart() -> None:
    one, other = Object({"a": 1, "b": 2}), Object({"b": 2, "a": True})

    assert manifest_contents.fingerprint(one) != manifest_contents.fingerprint(other)
    assert manifest_contents.fingerprint(one) == manifest_contents.fingerprint(Object({"b": 2, "a": 1}))


def test_numbers_are_those_of_json() -> None:
    assert manifest_contents.plain_value({"a": 1.0, "b": 1.5, "c": (2.0,), "d": True}) == {
        "a": 1,
        "b": 1.5,
        "c": [2],
        "d": True,
    }
    assert type(manifest_contents.plain_value(3.0)) is int
