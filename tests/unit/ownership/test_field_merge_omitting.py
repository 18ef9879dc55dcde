"""Fields that are left out of an object to see them go."""

from typing import Any

from firstlight.ownership import field_merge
from firstlight.ownership.field_set import FieldSet, path_text

GIT: dict[str, Any] = {
    "apiVersion": "v1", "kind": "ConfigMap",
    "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "a"}},
    "data": {"word": "hello"}, "spec": {"items": [{"name": "x", "size": 1}]},
}  # fmt: skip
FIELDS = FieldSet.of(
    {
        "f:metadata": {"f:labels": {"f:app.kubernetes.io/name": {}, "f:mark": {}}},
        "f:data": {"f:word": {}},
        "f:spec": {"f:items": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:size": {}}}},
    }
)


def test_the_most_harmless_first() -> None:
    found = [path_text(each) for each in field_merge.omission_candidates(FIELDS, git=GIT)]

    assert found == [
        "metadata.labels[app.kubernetes.io/name]", "data.word", "metadata.labels.mark",
        "spec.items[name=x].name", "spec.items[name=x].size",
    ]  # fmt: skip


def test_a_map_goes_with_its_last_field() -> None:
    left = field_merge.without_field(GIT, ("f:metadata", "f:labels", "f:app.kubernetes.io/name"))

    assert left is not None
    assert left["metadata"] == {"name": "a"}
    assert GIT["metadata"]["labels"], "the given one is as it was"


def test_a_field_of_a_list_item() -> None:
    left = field_merge.without_field(GIT, ("f:spec", "f:items", 'k:{"name":"x"}', "f:size"))

    assert left is not None
    assert left["spec"] == {"items": [{"name": "x"}]}


def test_what_is_not_there_cannot_be_left_out() -> None:
    assert field_merge.without_field(GIT, ("f:data", "f:other")) is None
    assert field_merge.without_field(GIT, ("f:spec", "f:items", 'k:{"name":"y"}', "f:size")) is None


def test_string_data_is_gone_only_where_its_data_is() -> None:
    secret = {"stringData": {"a": "b"}}
    path = ("f:stringData", "f:a")
    assert field_merge.has_field(secret, path)
    assert field_merge.has_field({"data": {"a": "Yg=="}}, path)
    assert not field_merge.has_field({"data": {"other": "Yg=="}}, path)
    assert field_merge.without_field(secret, path) == {}
    assert field_merge.without_field({"data": {"a": "Yg=="}}, path) is None
