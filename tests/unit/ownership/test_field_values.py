"""Values at the paths of managedFields, and where two objects differ."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from firstlight.ownership import field_values
from firstlight.ownership.field_values import ABSENT, Leaf

POD: dict[str, Any] = {
    "spec": {"containers": [{"name": "a", "image": "1", "ports": [{"containerPort": 80}]}], "args": ["x", "y"]}
}
TREE: dict[str, Any] = {
    "f:spec": {"f:containers": {'k:{"name":"a"}': {"f:image": {}}, 'k:{"name":"b"}': {"f:image": {}}}}
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def test_values_at_paths() -> None:
    port = ("f:spec", "f:containers", 'k:{"name":"a"}', "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}')
    assert field_values.at(POD, port) == {"containerPort": 80}
    assert field_values.at(POD, ("f:spec", "f:args", 'v:"y"')) == "y"
    assert field_values.at(POD, ("f:spec", "f:args", 'v:"z"')) is ABSENT
    assert field_values.at(POD, ("f:spec", "f:containers", 'k:{"name":"b"}')) is ABSENT
    assert field_values.pointer(port, POD) == "/spec/containers/0/ports/0"
    assert field_values.pointer(("f:spec", "f:a/b~c"), {"spec": {"a/b~c": 1}}) == "/spec/a~1b~0c"
    assert field_values.pointer(("f:status",), POD) == ""


def test_items_are_told_by_their_keys() -> None:
    other = {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "3"}]}}
    before = {"spec": {"containers": [{"name": "a", "image": "1"}]}}
    found = list(field_values.differences(before, other, [TREE]))
    containers = ("f:spec", "f:containers")
    assert found == [
        Leaf((*containers, 'k:{"name":"a"}', "f:image"), "1", "3"),
        Leaf((*containers, 'k:{"name":"b"}'), ABSENT, {"name": "b", "image": "2"}),
    ]


def test_a_list_that_differs_in_nothing_but_its_order_differs() -> None:
    one = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    other = {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}
    (leaf,) = field_values.differences(one, other, [TREE])
    assert leaf.path == ("f:spec", "f:containers")


def test_one_and_true_are_two_values() -> None:
    (leaf,) = field_values.differences({"a": 1}, {"a": True}, [])
    assert (leaf.before, leaf.after) == (1, True)


@given(VALUES)
def test_equal_values_do_not_differ(value: Any) -> None:
    assert list(field_values.differences(value, value, [])) == []


@given(st.dictionaries(st.sampled_from("abc"), VALUES), st.dictionaries(st.sampled_from("abc"), VALUES))
def test_every_difference_is_one_and_together_they_are_all(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = list(field_values.differences(one, other, []))
    assert bool(found) == (json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    for leaf in found:
        assert field_values.at(one, leaf.path) is leaf.before
        assert field_values.at(other, leaf.path) is leaf.after
