"""Whether an apply would change something; that "equal" is true is tried on a real API server besides."""

import copy
from typing import Any

import pytest

from firstlight.ownership import apply_comparison
from firstlight.ownership.apply_comparison import Likeness

WANTED: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "main", "namespace": "here", "labels": {"app": "main"}},
    "spec": {
        "selector": {"matchLabels": {"app": "main"}},
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.example/main:1",
                        "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}],
                        "resources": {"limits": {"cpu": "1000m"}},
                    }
                ]
            }
        },
    },
}
FIELDS: dict[str, Any] = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:spec": {
        "f:selector": {},
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"main"}': {
                        ".": {},
                        "f:name": {},
                        "f:image": {},
                        "f:ports": {
                            'k:{"containerPort":53,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                            'k:{"containerPort":53,"protocol":"UDP"}': {
                                ".": {},
                                "f:containerPort": {},
                                "f:protocol": {},
                            },
                        },
                        "f:resources": {"f:limits": {"f:cpu": {}}},
                    }
                }
            }
        },
    },
}


def live(**changes: Any) -> dict[str, Any]:
    value = copy.deepcopy(WANTED)
    value["metadata"] |= {
        "uid": "u", "resourceVersion": "7",
        "managedFields": [
            {"manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsV1": {}},
            {"manager": "flux", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": copy.deepcopy(FIELDS)},
        ],
    }  # fmt: skip
    value["spec"] |= {"replicas": 1, **changes}
    container = value["spec"]["template"]["spec"]["containers"][0]
    container |= {"imagePullPolicy": "Always"}
    container["ports"][1]["protocol"] = "TCP"
    container["resources"]["limits"]["cpu"] = "1"
    return value


def likeness(wanted: dict[str, Any], there: dict[str, Any], **more: Any) -> Likeness:
    return apply_comparison.compare(wanted, there, manager="flux", **more).likeness


def edited(path: str, value: Any) -> dict[str, Any]:
    made = copy.deepcopy(WANTED)
    at: Any = made
    *way, leaf = path.split(".")
    for part in way:
        at = at[int(part)] if part.isdigit() else at[part]
    if value is KeyError:
        del at[leaf]
    else:
        at[leaf] = value
    return made


def test_defaults_of_the_server_and_fields_of_others_do_not_count() -> None:
    assert likeness(WANTED, live()) == Likeness.EQUAL


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.labels.app", "other"),
        ("metadata.labels", KeyError),
        ("metadata.annotations", {"a": "b"}),
        ("spec.replicas", 1),
        ("spec.selector", {"matchLabels": {}}),
        ("spec.template.spec.containers.0.image", "registry.example/main:2"),
        ("spec.template.spec.containers.0.ports", [{"containerPort": 53, "protocol": "UDP"}]),
        ("spec.template.spec.containers.0.ports", [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]),
        ("spec.template.spec.containers.0.resources.limits.cpu", "1001m"),
        ("spec.template.spec.containers.0.resources.limits.cpu", None),
        ("spec.template.spec.containers", []),
        ("spec.template.spec", "text"),
    ],
)
def test_whatever_is_not_surely_the_same_is_a_doubt(path: str, value: Any) -> None:
    assert likeness(edited(path, value), live()) == Likeness.DOUBT


def test_a_field_that_is_no_longer_wanted_is_a_doubt_and_is_named() -> None:
    found = apply_comparison.compare(edited("metadata.labels", {}), live(), manager="flux")
    assert found == apply_comparison.ApplyComparison(Likeness.DOUBT, "metadata.labels.app")


def test_who_owns_nothing_of_an_object_would_change_it() -> None:
    assert apply_comparison.compare(WANTED, live(), manager="other").likeness == Likeness.DIFFERENT
    in_another_version = {**WANTED, "apiVersion": "apps/v2"}
    assert likeness(in_another_version, live()) == Likeness.DIFFERENT


def test_who_wants_no_more_than_a_name_owns_nothing() -> None:
    bare = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "here"}}
    assert likeness(bare, {**bare, "status": {"phase": "Active"}}) == Likeness.EQUAL


def test_a_status_counts_only_where_it_is_no_subresource() -> None:
    wanted = {**WANTED, "status": {"replicas": 3}}
    assert likeness(wanted, live()) == Likeness.EQUAL
    assert likeness(wanted, live(), has_status=False) == Likeness.DOUBT


def test_string_data_is_owned_as_it_is_applied_and_kept_as_data() -> None:
    fields: dict[str, Any] = {"f:stringData": {"f:key": {}}}
    entry = {"manager": "flux", "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}
    there = {"metadata": {"managedFields": [entry]}, "data": {"key": "aHVudGVyMg=="}}
    wanted = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"key": "hunter2"}}
    assert likeness(wanted, there) == Likeness.EQUAL
    assert likeness({**wanted, "stringData": {"key": "hunter3"}}, there) == Likeness.DOUBT
    assert likeness({**wanted, "stringData": {"other": "hunter2"}}, there) == Likeness.DOUBT
    assert likeness(wanted, {**there, "data": {"key": "/w=="}}) == Likeness.DOUBT
    entry["fieldsV1"] = {"f:data": {"f:key": {}}}
    assert likeness(wanted, there) == Likeness.DOUBT, "its manager owns something else than it would"


def test_quantities_and_defaults_of_custom_resources_are_as_they_are_written() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:limits": {"f:cpu": {}}, "f:ports": {}}}
    entry = {"manager": "flux", "operation": "Apply", "apiVersion": "example.org/v1", "fieldsV1": fields}
    wanted = {"apiVersion": "example.org/v1", "kind": "Deployment", "metadata": {"name": "x"},
              "spec": {"limits": {"cpu": "1000m"}, "ports": [{"port": 1}]}}  # fmt: skip
    there = {"metadata": {"managedFields": [entry]}, "spec": copy.deepcopy(wanted["spec"])}
    assert likeness(wanted, there) == Likeness.EQUAL
    spec: Any = there["spec"]
    spec["limits"]["cpu"] = "1"
    assert likeness(wanted, there) == Likeness.DOUBT
    spec["limits"]["cpu"], spec["ports"][0]["protocol"] = "1000m", "TCP"
    assert likeness(wanted, there) == Likeness.DOUBT


def test_changes_are_named_without_values_and_times_do_not_count() -> None:
    before, after = live(), live(replicas=2)
    after["metadata"]["resourceVersion"] = "8"
    after["metadata"]["managedFields"][1]["time"] = "2026-01-01T00:00:00Z"
    assert apply_comparison.changes(before, after) == ("spec.replicas",)
    after["spec"]["replicas"] = 1
    assert apply_comparison.is_same(before, after)
    after["metadata"]["managedFields"][1]["manager"] = "other"
    assert not apply_comparison.is_same(before, after)
    assert apply_comparison.changes(before, after) == ()


def test_true_is_not_one() -> None:
    assert not apply_comparison.is_same({"spec": {"a": 1}}, {"spec": {"a": True}})
    assert not apply_comparison.is_same({"spec": {"a": [0]}}, {"spec": {"a": [False]}})
    assert apply_comparison.is_same({"spec": {"a": 1}}, {"spec": {"a": 1.0}})
    assert apply_comparison.changes({"spec": {"a": 1}}, {"spec": {"a": True}}) == ("spec.a",)
