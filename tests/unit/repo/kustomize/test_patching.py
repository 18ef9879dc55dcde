"""JSON patches and strategic merges: the algebra that both obey, and inputs that stay as they are."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo.kustomize import kustomize_patches, strategic_merge
from firstlight.repo.kustomize.resources import Gvk, KustomizationError

scalars = st.one_of(st.integers(), st.text(max_size=3), st.booleans())
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


def merge(target: Any, patch: Any) -> Any:
    return strategic_merge.merge(target, patch, shape=strategic_merge.UNKNOWN_SHAPE)


@given(objects)
def test_an_empty_patch_changes_nothing(target: Any) -> None:
    assert merge(target, {}) == target
    assert kustomize_patches.apply_json_patch(target, []) == target


@given(objects, objects)
def test_a_merge_done_twice_is_done_once_and_changes_no_input(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    try:
        once = merge(target, patch)
    except KustomizationError:
        return

    assert merge(once, patch) == once
    assert (target, patch) == before


@given(objects, st.sampled_from("abc"), values)
def test_what_is_added_is_there_and_can_be_removed(target: Any, name: str, value: Any) -> None:
    before = copy.deepcopy(target)

    added = kustomize_patches.apply_json_patch(target, [{"op": "add", "path": f"/{name}", "value": value}])
    removed = kustomize_patches.apply_json_patch(added, [{"op": "remove", "path": f"/{name}"}])

    assert added[name] == value
    assert removed == {key: each for key, each in target.items() if key != name}
    assert target == before


@given(st.lists(scalars, max_size=5), st.integers(0, 5), scalars)
def test_lists_grow_where_they_are_told_to(target: Any, at: int, value: Any) -> None:
    operations = [{"op": "add", "path": f"/{at}", "value": value}]
    if at > len(target):
        with pytest.raises(KustomizationError):
            kustomize_patches.apply_json_patch(target, operations)
    else:
        assert kustomize_patches.apply_json_patch(target, operations) == [*target[:at], value, *target[at:]]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/none/x", "value": 1},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/list/7"},
        {"op": "remove", "path": "/list/x"},
        {"op": "remove", "path": ""},
        {"op": "move", "from": "/none", "path": "/a"},
        {"op": "copy", "path": "/a"},
        {"op": "test", "path": "/a", "value": 2},
        {"op": "grow", "path": "/a"},
        {"path": 5},
        "add",
    ],
)
def test_operations_that_cannot_be(operation: Any) -> None:
    with pytest.raises(KustomizationError):
        kustomize_patches.apply_json_patch({"a": 1, "list": [1]}, [operation])


def test_lists_of_unknown_kinds_are_replaced_and_those_of_pods_are_merged() -> None:
    target = {"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}}
    patch = {"spec": {"containers": [{"name": "b", "image": "2"}]}}

    as_pod = strategic_merge.merge(target, patch, shape=strategic_merge.shape_of(Gvk("", "v1", "Pod")))
    as_custom = strategic_merge.merge(target, patch, shape=strategic_merge.shape_of(Gvk("example.org", "v1", "Pod")))

    assert as_pod == {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]}}
    assert as_custom == patch


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ([{"$patch": "replace"}, {"name": "c"}], [{"name": "c"}]),
        ([{"$patch": "delete"}], None),
        ([{"$patch": "delete", "name": "a"}], [{"name": "b"}]),
        ([{"$patch": "replace", "name": "a", "y": 2}], [{"name": "a", "y": 2}, {"name": "b"}]),
        ([{"$patch": "merge"}, {"name": "c"}], [{"name": "c"}, {"name": "a", "x": 1}, {"name": "b"}]),
    ],
)
def test_directives_in_lists(patch: Any, expected: Any) -> None:
    target = {"spec": {"volumes": [{"name": "a", "x": 1}, {"name": "b"}]}}

    found = strategic_merge.merge(
        target, {"spec": {"volumes": patch}}, shape=strategic_merge.shape_of(Gvk("", "v1", "Pod"))
    )

    assert found["spec"].get("volumes") == expected


def test_a_directive_that_is_none() -> None:
    with pytest.raises(KustomizationError, match="no patch strategy"):
        merge({"a": 1}, {"$patch": "vanish"})
