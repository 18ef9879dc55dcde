"""Two manifests as Kubernetes would take them: what is the same to it is the same here."""

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.plan import manifest_diff
from firstlight.plan.manifest_diff import ABSENT

NAMES = st.sampled_from(["name", "env", "ports", "containers", "rules", "resources", "image", "data", "args"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", "1", "100m"])
VALUES = st.recursive(
    SCALARS, lambda deeper: st.lists(deeper, max_size=4) | st.dictionaries(NAMES, deeper, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)


def paths(left: Any, right: Any) -> list[str]:
    return [".".join(path) for path, _, _ in manifest_diff.compare(left, right)]


@given(OBJECTS)
def test_a_manifest_is_equal_to_its_copy(value: dict[str, Any]) -> None:
    assert list(manifest_diff.compare(value, copy.deepcopy(value))) == []


@given(OBJECTS, OBJECTS)
def test_both_ways_find_the_same(left: dict[str, Any], right: dict[str, Any]) -> None:
    there = [(path, repr(one), repr(other)) for path, one, other in manifest_diff.compare(left, right)]
    back = [(path, repr(other), repr(one)) for path, one, other in manifest_diff.compare(right, left)]

    # Items without keys are told by their place on the left, which is another one on the right.
    assert bool(there) == bool(back)
    if not any("[" in step and "=" not in step for path, _, _ in there for step in path):
        assert sorted(there) == sorted(back)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": None}, {}),
        ({"metadata": {"annotations": {}}}, {"metadata": {}}),
        ({"spec": {"resources": {"limits": {"cpu": "100m"}}}}, {"spec": {"resources": {"limits": {"cpu": 0.1}}}}),
        ({"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1024Mi"}}),
        ({"ports": [{"containerPort": 1, "protocol": "TCP"}]}, {"ports": [{"containerPort": 1}]}),
        ({"env": [{"name": "a", "value": "1"}, {"name": "b"}]}, {"env": [{"name": "b"}, {"name": "a", "value": "1"}]}),
        ({"verbs": ["get", "list"]}, {"verbs": ["list", "get"]}),
        ({"rules": [{"verbs": ["get"]}, {"verbs": ["list"]}]}, {"rules": [{"verbs": ["list"]}, {"verbs": ["get"]}]}),
        ({"status": {"a": 1}}, {}),
        ({"metadata": {"creationTimestamp": None}}, {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}),
    ],
)
def test_the_same_to_kubernetes(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert paths(left, right) == []


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": "1"}, {"a": 1}, ["a"]),
        ({"volumes": [{"name": "x", "emptyDir": {}}]}, {"volumes": [{"name": "x"}]}, ["volumes.[name=x].emptyDir"]),
        (
            {"containers": [{"name": "a", "image": "x:1"}, {"name": "b"}]},
            {"containers": [{"name": "b"}, {"name": "a", "image": "x:2"}]},
            ["containers.[name=a].image"],
        ),
        ({"ports": [{"port": 80}]}, {"ports": [{"port": 80}, {"port": 443}]}, ["ports.[port=443]"]),
        (
            {"ports": [{"containerPort": 53, "protocol": "UDP"}]},
            {"ports": [{"containerPort": 53}]},
            ["ports.[containerPort=53,protocol=UDP]", "ports.[containerPort=53]"],
        ),
        ({"volumeMounts": [{"name": "a", "mountPath": "/x"}]}, {"volumeMounts": [{"name": "b", "mountPath": "/x"}]},
         ["volumeMounts.[mountPath=/x].name"]),
        ({"args": ["--a", "--b"]}, {"args": ["--a", "--c"]}, ["args.[--b]", "args.[--c]"]),
        ({"args": ["--a", "--b"]}, {"args": ["--b", "--a"]}, ["args"]),
        ({"verbs": ["get"]}, {"verbs": ["get", "list"]}, ["verbs.[list]"]),
        ({"rules": [{"a": 1}, {"a": 2}]}, {"rules": [{"a": 0}, {"a": 1}, {"a": 2}]}, ["rules.[0]"]),
        ({"env": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]}, {"env": [{"name": "a", "value": "1"}]},
         ["env.[1]"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["a.[1]"]),
        ({"a": {"b": 1}}, {"a": [1]}, ["a"]),
        ({"limits": {"cpu": "x"}}, {"limits": {"cpu": "y"}}, ["limits.cpu"]),
    ],
)  # fmt: skip
def test_different_to_kubernetes(left: dict[str, Any], right: dict[str, Any], expected: list[str]) -> None:
    assert paths(left, right) == expected


def test_values_are_shown_short() -> None:
    assert manifest_diff.shown(ABSENT) is None
    assert manifest_diff.shown({"b": 1, "a": "ü"}) == '{"a": "ü", "b": 1}'
    assert len(manifest_diff.shown("x" * 5000) or "") == 200


def test_deep_and_long_values_are_compared_without_harm() -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    long = {"items": [{"a": index} for index in range(3000)]}

    assert paths(deep, {"a": 1}) == ["a"]
    assert len(paths(long, {"items": []})) == 3000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100m", "0.1"), (0.1, "0.1"), ("1", "1"), (1, "1"), ("1Ki", "1024"), ("1.5Gi", "1610612736"), ("2e3", "2000"),
        ("1k", "1000"), ("5u", "0.000005"), (".5", "0.5"), ("1E", "1000000000000000000"),
    ],
)  # fmt: skip
def test_quantities(text: object, expected: str) -> None:
    assert manifest_diff.quantity_value(text) == Decimal(expected)


@pytest.mark.parametrize("text", ["", "x", "1Qi", "1 Gi", True, None, [], "1" * 50, "--1"])
def test_no_quantities(text: object) -> None:
    assert manifest_diff.quantity_value(text) is None
