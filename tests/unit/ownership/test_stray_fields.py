"""Fields that somebody put on an object beside what Git has."""

from typing import Any

from firstlight.ownership import stray_fields

FORM: dict[str, Any] = {"metadata": {"name": "web"}, "data": {"a": "1"}, "list": [{"name": "x"}]}


def live(tree: dict[str, Any], *, manager: str = "kubectl-edit", **rest: Any) -> dict[str, Any]:
    entry = {"manager": manager, "operation": "Update", "time": "2026-11-16T09:00:00Z", "fieldsV1": tree}
    metadata = {"name": "web", "managedFields": [entry], **rest.pop("metadata", {})}
    return {"metadata": metadata, "data": {"a": "1"}, "list": [{"name": "x"}], **rest}


def paths(value: dict[str, Any], **options: Any) -> list[tuple[str, ...]]:
    return [each.path for each in stray_fields.stray_fields_of(FORM, value, manager="kustomize-controller", **options)]


def test_what_git_has_is_no_stray() -> None:
    assert paths(live({"f:data": {"f:a": {}}})) == []


def test_a_whole_that_nobody_else_has_a_part_of_is_one() -> None:
    affinity: dict[str, Any] = {"f:spec": {"f:affinity": {"f:podAffinity": {"f:x": {}}}}}
    assert paths(live(affinity, spec={"affinity": {"podAffinity": {"x": []}}})) == [("f:spec",)]
    both = live(affinity, spec={"affinity": {"podAffinity": {"x": []}, "other": 1}})
    both["metadata"]["managedFields"].append(
        {"manager": "scheduler", "operation": "Update", "fieldsV1": {"f:spec": {"f:affinity": {"f:other": {}}}}}
    )
    assert paths(both) == [("f:spec", "f:affinity", "f:podAffinity")]


def test_annotations_are_told_one_by_one_and_bookkeeping_is_not() -> None:
    names: dict[str, Any] = {".": {}, "f:by": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}
    annotations = {"by": "hand", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    found = paths(live({"f:metadata": {"f:annotations": names}}, metadata={"annotations": annotations}))
    assert found == [("f:metadata", "f:annotations", "f:by")]


def test_controllers_and_status_are_nobodys_strays() -> None:
    assert paths(live({"f:data": {"f:b": {}}}, manager="cilium-operator", data={"b": "2"})) == []
    value = live({"f:status": {}}, status={"a": 1})
    value["metadata"]["managedFields"][0]["subresource"] = "status"
    assert paths(value) == []


def test_what_came_before_the_engine_counts_unless_bootstrap_keeps_it() -> None:
    value = live({"f:data": {"f:b": {}}}, manager="talos", data={"b": "2"})
    assert paths(value) == [("f:data", "f:b")]
    assert paths(value, is_kept=True) == []


def test_the_patch_removes_the_last_items_first() -> None:
    items = [{"name": name} for name in ("x", "b", "c")]
    tree: dict[str, Any] = {"f:list": {'k:{"name":"b"}': {".": {}}, 'k:{"name":"c"}': {".": {}}}}
    value = live(tree, list=items)
    strays = stray_fields.stray_fields_of(FORM, value, manager="kustomize-controller")
    assert [each["path"] for each in stray_fields.removal(strays, value)] == ["/list/2", "/list/1"]


def test_what_comes_back_by_itself_is_a_default() -> None:
    value = live({"f:data": {"f:b": {}, "f:c": {}}}, data={"a": "1", "b": "2", "c": "3"})
    strays = stray_fields.stray_fields_of(FORM, value, manager="kustomize-controller")
    left = stray_fields.real(strays, {"data": {"a": "1", "b": "2"}})
    assert [each.path for each in left] == [("f:data", "f:c")]
    assert stray_fields.real(strays, None) == strays
