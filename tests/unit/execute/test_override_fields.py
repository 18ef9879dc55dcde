"""What an emergency manager has of an object: taken out, put back, passed on; and what is told of it."""

import copy
from typing import Any

from firstlight.execute.overrides import owned_fields
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER
from firstlight.ownership.field_set import FieldSet

ENGINE = "kustomize-controller"
CONTAINER = 'k:{"name":"main"}'


def entry(manager: str, fields: dict[str, Any], operation: str = "Apply", **more: str) -> dict[str, Any]:
    return {
        "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": fields, **more,
    }  # fmt: skip


def containers(**fields: Any) -> dict[str, Any]:
    return {"f:template": {"f:spec": {"f:containers": {CONTAINER: {".": {}, "f:name": {}, **fields}}}}}


def deployment(*entries: dict[str, Any], replicas: int = 1, image: str = "web:1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": image, "imagePullPolicy": "Always"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7", "managedFields": list(entries)},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container, {"name": "side"}]}}, **spec},
    }


BEFORE = deployment(entry(ENGINE, {"f:spec": {"f:replicas": {}, **containers(**{"f:image": {}})}}))
MINE = {"f:spec": {"f:replicas": {}, "f:paused": {}, **containers(**{"f:image": {}})}}
AFTER = deployment(
    entry(ENGINE, {"f:spec": containers()}), entry(MANAGER, MINE), replicas=3, image="web:2", paused=True
)  # fmt: skip


def fields_of(entries: list[dict[str, Any]], manager: str) -> FieldSet:
    return FieldSet.of(next(each["fieldsV1"] for each in entries if each["manager"] == manager))


def test_a_second_change_keeps_the_first() -> None:
    part = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    whole = owned_fields.together(AFTER, part, MANAGER)
    assert whole["spec"]["replicas"] == 5
    assert whole["spec"]["paused"] is True
    assert whole["spec"]["template"]["spec"]["containers"] == [{"name": "main", "image": "web:2"}]


def test_only_what_was_changed_goes_back() -> None:
    live = copy.deepcopy(AFTER)
    live["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Never"
    made = owned_fields.restored(live, BEFORE, owned_fields.of(live, MANAGER))
    assert made["spec"]["replicas"] == 1
    assert "paused" not in made["spec"]
    first, side = made["spec"]["template"]["spec"]["containers"]
    assert first == {"name": "main", "image": "web:1", "imagePullPolicy": "Never"}
    assert side == {"name": "side"}
    patch = owned_fields.merge_patch(live, made)
    assert patch["spec"]["paused"] is None
    assert set(patch) == {"spec"}


def test_whoever_owned_a_field_owns_it_again() -> None:
    entries = owned_fields.given_back(AFTER, BEFORE, MANAGER)
    assert [each["manager"] for each in entries] == [ENGINE]
    assert fields_of(entries, ENGINE) == FieldSet.of(BEFORE["metadata"]["managedFields"][0]["fieldsV1"])


def test_what_git_has_is_the_engines_alone() -> None:
    entries = owned_fields.passed(AFTER, MANAGER, to=ENGINE)
    assert entries is not None
    assert [each["manager"] for each in entries] == [ENGINE]
    assert fields_of(entries, ENGINE).has(("f:spec", "f:paused"))
    assert owned_fields.passed(BEFORE, MANAGER, to=ENGINE) is None


def test_a_helm_that_updates_gets_it_by_its_update() -> None:
    live = deployment(entry("helm-controller", {"f:spec": {"f:paused": {}}}, "Update"), entry(MANAGER, MINE))
    entries = owned_fields.passed(live, MANAGER, to="helm-controller")
    assert entries is not None
    assert [(each["manager"], each["operation"]) for each in entries] == [("helm-controller", "Update")]


def test_what_others_write_by_a_subresource_stays() -> None:
    status = entry("kube-controller-manager", {"f:status": {}}, "Update", subresource="status")
    live = deployment(status, entry(MANAGER, MINE))
    assert owned_fields.passed(live, MANAGER, to="") == [status]


def test_changes_are_told_by_field_and_secrets_are_hidden() -> None:
    id = ObjectId("apps", "Deployment", "shop", "web")
    found = {each.field: (each.before, each.after) for each in owned_fields.field_changes(id, AFTER, BEFORE)}
    assert found == {
        "spec.paused": (owned_fields.NOTHING, "true"),
        "spec.replicas": ("1", "3"),
        "spec.template.spec.containers[name=main].image": ("web:1", "web:2"),
    }
    secret = ObjectId("", "Secret", "shop", "key")
    live = {
        "metadata": {"managedFields": [entry(MANAGER, {"f:data": {"f:password": {}}})]},
        "data": {"password": "eA=="},
    }
    (change,) = owned_fields.field_changes(secret, live, {"data": {"password": "eQ=="}})
    assert (change.field, change.before, change.after) == ("data.password", "(hidden)", "(hidden)")
    assert (
        owned_fields.shown_value("x", id, "spec.template.spec.containers[name=main].env[name=DB_PASSWORD].value")
        == "(hidden)"
    )


def test_what_others_changed_since_is_told_with_who() -> None:
    live = deployment(
        entry("kubectl-edit", {"f:spec": {"f:replicas": {}}}, "Update"), entry(MANAGER, {"f:spec": {"f:paused": {}}})
    )
    assert owned_fields.other_writers(live, ("spec.replicas", "spec.paused", "spec.x")) == (
        "spec.replicas (by kubectl-edit)",
        "spec.x (gone)",
    )
