"""The passing of fields; more of it by data in tests/scenarios/ownership, and on a real server."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.model.handover import OwnerSeen
from firstlight.ownership import field_merge, field_set
from firstlight.ownership import migration as ownership_migration
from firstlight.ownership.field_set import FieldSet

TO = "kustomize-controller"


def entry(
    manager: str, operation: str = "Apply", *data: str, version: str = "v1", subresource: str = ""
) -> dict[str, Any]:
    made = {
        "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {f"f:{name}": {} for name in data}} if data else {},
    }  # fmt: skip
    return {**made, "subresource": subresource} if subresource else made


def live(*entries: dict[str, Any], **data: str) -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "y", "resourceVersion": "7", "managedFields": list(entries)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def wanted(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "y"}, "data": data}


@pytest.mark.parametrize(
    ("manager", "is_old"),
    [
        ("talos", True), ("talosctl", True), ("omni", True), ("helm", True), ("firstlight", True),
        ("kubectl", True), ("kubectl-client-side-apply", True), ("kubectl-edit", True), ("before-first-apply", True),
        ("firstlight-repository", False), ("helm-controller", False), ("kustomize-controller", False),
        ("argocd-controller", False), ("kube-controller-manager", False), ("cainjector", False), ("Talos", False),
    ],
)  # fmt: skip
def test_whose_fields_pass(manager: str, is_old: bool) -> None:
    assert ownership_migration.is_old(manager) == is_old


def test_the_engines_own_updates_pass_to_its_applies() -> None:
    made = ownership_migration.migrate(live(entry(TO, "Update", "a"), entry(TO, "Apply", "b")), to=TO)
    assert made is not None
    assert [each["operation"] for each in made.managed_fields] == ["Apply"]
    assert made.managed_fields[0]["fieldsV1"] == {"f:data": {"f:a": {}, "f:b": {}}}
    assert made.taken == (OwnerSeen(manager=TO, operation="Update"),)


def test_subresources_stay() -> None:
    scale = entry("kubectl-scale", "Update", "a", subresource="scale")
    assert ownership_migration.migrate(live(scale), to=TO) is None


@pytest.mark.parametrize("odd", [{}, {"metadata": None}, {"metadata": {"managedFields": None}}])
def test_objects_that_tell_nothing(odd: dict[str, Any]) -> None:
    assert ownership_migration.migrate(odd, to=TO) is None


def test_the_patch_is_refused_if_somebody_wrote_in_between() -> None:
    one = live(entry("talos", "Apply", "a"), a="1")
    migration = ownership_migration.migrate(one, to=TO)
    assert migration is not None
    fields, version = ownership_migration.patch(one, migration)
    assert fields == {"op": "replace", "path": "/metadata/managedFields", "value": migration.managed_fields}
    assert version == {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}


def test_what_comes_back_is_not_lost() -> None:
    one = live(entry("talos", "Update", "a", "b", "c"), a="1", b="2", c="3")
    assert ownership_migration.lost(one, wanted(a="1"), to=TO) == ("data.b", "data.c")
    assert ownership_migration.lost(one, wanted(a="1"), to=TO, answered={"data": {"a": "1", "b": "2", "c": "9"}}) == (
        "data.c",
    )


def test_what_goes_with_the_rest_is_lost_too_and_the_status_is_not() -> None:
    one = {**live(entry("talos", "Apply", "a"), a="1", b="2"), "status": {"ready": 1}}
    bare = {name: part for name, part in wanted().items() if name != "data"}
    assert ownership_migration.lost(one, bare, to=TO) == ("data.a", "data.b")
    assert ownership_migration.lost(one, wanted(a="1"), to=TO) == ()
    assert ownership_migration.lost(one, wanted(a="1"), to=TO, answered={"data": {"a": "1"}}) == ("data.b",)


def test_the_trial_is_what_will_be() -> None:
    one = live(entry("talos", "Update", "a", "b"), a="1", b="2", c="3")
    [step] = ownership_migration.trial(one, wanted(a="4", d="5"), to=TO)
    assert step == {"op": "add", "path": "/data", "value": {"a": "4", "c": "3", "d": "5"}}
    assert ownership_migration.trial(one, wanted(a="1", b="2"), to=TO) == []


def test_the_trial_takes_away_labels_that_go() -> None:
    one = live(entry("talos", "Apply", "a"), a="1")
    one["metadata"] |= {"labels": {"team": "x"}}
    one["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"] = {"f:labels": {"f:team": {}}}
    assert ownership_migration.trial(one, wanted(a="1"), to=TO) == [{"op": "remove", "path": "/metadata/labels"}]


def test_items_keep_the_order_that_git_has() -> None:
    keys = ("a", "b", "c", "x", "y")
    fields: dict[str, Any] = {"f:spec": {"f:items": {f'k:{{"name":"{key}"}}': {".": {}, "f:name": {}} for key in keys}}}
    shape = field_set.FieldShape({"metadata": {"managedFields": [{"operation": "Apply", "fieldsV1": fields}]}})

    def items(*names: str) -> dict[str, Any]:
        return {"spec": {"items": [{"name": name} for name in names]}}

    assert field_merge.merged(items("a", "x", "b"), items("b", "a"), shape) == items("x", "b", "a")
    assert field_merge.merged(items("x", "a", "y"), items("a", "b"), shape) == items("x", "a", "y", "b")
    assert field_merge.merged(items("a"), items("c", "a"), shape) == items("c", "a")


_names = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, unique=True)
_others = ("kube-controller-manager", "cainjector", "argocd-controller", "firstlight-repository")
_managers = st.sampled_from(["talos", "helm", "kubectl-edit", "before-first-apply", TO, *_others])
_entries = st.lists(
    st.builds(
        lambda manager, operation, names, version, subresource: entry(
            manager, operation, *names, version=version, subresource=subresource
        ),
        _managers, st.sampled_from(["Apply", "Update"]), _names, st.sampled_from(["v1", "v1beta1"]),
        st.sampled_from(["", "", "status"]),
    ),
    max_size=6,
    # As the server has them: one entry of each who applies, and of each who updates in a version.
    unique_by=lambda each: (
        each["manager"], each["operation"], each.get("subresource"),
        each["apiVersion"] if each["operation"] == "Update" else "",
    ),
)  # fmt: skip
DATA = {"a": "1", "b": "2", "c": "3", "d": "4"}


@given(entries=_entries)
def test_nothing_of_others_is_taken(entries: list[dict[str, Any]]) -> None:
    one = live(*entries, **DATA)
    before = copy.deepcopy(one)
    made = ownership_migration.migrate(one, to=TO)
    assert one == before
    left = entries if made is None else made.managed_fields

    def of_others(some: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in some if each["manager"] in _others or each.get("subresource")]

    assert of_others(left) == of_others(entries)
    assert all(
        each.get("subresource")
        or each["manager"] in _others
        or (each["operation"] == "Apply" and each["manager"] == TO)
        for each in left
    )


@given(entries=_entries)
def test_once_is_enough_and_no_field_of_that_version_is_forgotten(entries: list[dict[str, Any]]) -> None:
    made = ownership_migration.migrate(live(*entries, **DATA), to=TO)
    if made is None:
        return
    again = live(*made.managed_fields, **DATA)
    assert ownership_migration.migrate(again, to=TO) is None
    [target] = [each for each in made.managed_fields if each["manager"] == TO and not each.get("subresource")]
    mine = [each for each in entries if not each.get("subresource") and each["manager"] not in _others]
    same = [each for each in mine if each["apiVersion"] == target["apiVersion"]]
    union = FieldSet()
    for each in same:
        union |= FieldSet.of(each["fieldsV1"])
    assert FieldSet.of(target["fieldsV1"]) == union
    own = [each for each in mine if each["manager"] == TO and each["operation"] == "Apply"]
    assert len(made.taken) + len(made.discarded) == len(mine) - len(own)


@given(entries=_entries, kept=_names)
def test_lost_is_what_nobody_else_holds(entries: list[dict[str, Any]], kept: list[str]) -> None:
    one = live(*entries, **DATA)
    made = ownership_migration.migrate(one, to=TO)
    left = entries if made is None else made.managed_fields
    targets = [each for each in left if each["manager"] == TO and not each.get("subresource")]
    held = {name for each in left if each not in targets for name in each["fieldsV1"]["f:data"]}
    owned = {name for each in targets for name in each["fieldsV1"]["f:data"]}
    gone = {f"data.{name[2:]}" for name in owned - held - {f"f:{name}" for name in kept}}
    assert set(ownership_migration.lost(one, wanted(**{name: DATA[name] for name in kept}), to=TO)) == gone


def test_what_the_server_has_forgotten_passes_without_the_status_in_it() -> None:
    forgotten = {
        "manager": "ancient-changes", "operation": "Update", "apiVersion": "v1",
        "fieldsV1": {"f:data": {"f:a": {}}, "f:status": {"f:b": {}}},
    }  # fmt: skip
    made = ownership_migration.migrate(live(forgotten, **DATA), to=TO)
    assert made is not None
    assert [(each["manager"], each["fieldsV1"]) for each in made.managed_fields] == [(TO, {"f:data": {"f:a": {}}})]


def test_data_that_comes_back_as_string_data_is_not_lost() -> None:
    helms = {
        "manager": "helm",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}},
    }
    there = {**live(helms), "kind": "Secret", "data": {"a": "Yg==", "b": "Yg=="}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"a": "b"}}
    assert ownership_migration.lost(there, secret, to="helm-controller") == ("data.b",)
