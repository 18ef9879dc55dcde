"""Custom resources against the CRDs of the repo."""

from typing import Any

import pytest

from firstlight.commands.decide.checks import object_schema

SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1},
        "mode": {"type": "string", "enum": ["fast", "slow"]},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "note": {"type": "string", "nullable": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"a": {"type": "string"}},
        },
        "items": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "made": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}},
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "spec": {
        "group": "example.org",
        "names": {"kind": "Box"},
        "versions": [
            {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}}},
            {"name": "v2", "schema": {}},
        ],
    },
}


def box(version: str = "v1", **spec: Any) -> dict[str, Any]:
    metadata = {"name": "one", "labels": {"a": "b"}}
    return {"apiVersion": f"example.org/{version}", "kind": "Box", "metadata": metadata, "spec": {"size": 1, **spec}}


@pytest.mark.parametrize(
    "spec",
    [
        {}, {"mode": "fast"}, {"port": 80}, {"port": "http"}, {"note": None}, {"labels": {"x": "y"}},
        {"free": {"b": [1]}}, {"items": [{"name": "a"}]}, {"name": "abc"},
        {"made": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": {}}},
    ],
)  # fmt: skip
def test_what_fits(spec: dict[str, Any]) -> None:
    assert object_schema.schemas_of_crds([CRD]).problems(box(**spec)) == ()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"size": "1"}, "spec.size must be of type integer"),
        ({"size": 0}, "spec.size does not fit (minimum)"),
        ({"mode": "other"}, "spec.mode must be one of fast, slow"),
        ({"modes": "fast"}, "spec.modes is no field of it: the API server drops it"),
        ({"items": [{"name": "a"}, {"nam": "b"}]}, "spec.items[1].nam is no field of it: the API server drops it"),
        ({"labels": {"x": 1}}, "spec.labels.x must be of type string"),
        ({"name": "ABC"}, "spec.name does not fit (pattern)"),
        ({"port": True}, "spec.port must be of type integer or string"),
    ],
)
def test_what_does_not_fit(spec: dict[str, Any], says: str) -> None:
    assert object_schema.schemas_of_crds([CRD]).problems(box(**spec)) == (says,)


def test_what_is_missing() -> None:
    assert object_schema.schemas_of_crds([CRD]).problems({**box(), "spec": {}}) == ("spec.size is missing",)


def test_what_no_crd_knows() -> None:
    known = object_schema.schemas_of_crds([CRD])

    assert known.knows(box())
    assert not known.knows(box("v2"))
    assert not known.knows({"apiVersion": "v1", "kind": "ConfigMap"})
    assert known.problems(box("v2", size="x")) == ()


def test_a_pattern_that_is_not_understood_is_left_out() -> None:
    broken = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}, "pattern": {"type": "integer"}}}
    crd = {"spec": {**CRD["spec"], "versions": [{"name": "v1", "schema": {"openAPIV3Schema": broken}}]}}  # type: ignore[dict-item]
    value = {"apiVersion": "example.org/v1", "kind": "Box", "a": "(", "pattern": "x"}

    assert object_schema.schemas_of_crds([crd]).problems(value) == ("pattern must be of type integer",)


def test_a_long_list_is_cut() -> None:
    found = object_schema.schemas_of_crds([CRD]).problems(box(items=[{"n": 1}] * 20))

    assert found[-1] == "and more"
