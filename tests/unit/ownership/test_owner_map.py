"""Owners of objects, beside what the scenarios show."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.model.owner import Flaw, Party
from firstlight.ownership import owner_map
from firstlight.ownership.inventories import Inventories

NAMES = ["talos", "firstlight", "helm", "kubectl-edit", "kustomize-controller", "argocd-controller", "kubelet", "other"]
LABELS = ["kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name", "app.kubernetes.io/instance", "owner"]
entries = st.builds(
    lambda name, fields, sub: {"manager": name, "fieldsV1": fields, "subresource": sub},
    st.sampled_from(NAMES),
    st.sampled_from([{"f:data": {"f:a": {}}}, {"f:status": {}}, {}]),
    st.sampled_from(["", "status"]),
)
objects = st.builds(
    lambda number, namespace, labels, managers, references: {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"c{number}", "namespace": namespace, "uid": str(number), "labels": labels,
            "managedFields": managers,
            "ownerReferences": [{"uid": str(each), "kind": "ConfigMap"} for each in references],
        },
    },
    st.integers(0, 9),
    st.sampled_from(["web", "kube-system"]),
    st.dictionaries(st.sampled_from(LABELS), st.just("a")),
    st.lists(entries, max_size=3),
    st.lists(st.integers(0, 9), max_size=2),
)  # fmt: skip


@settings(max_examples=100)
@given(st.lists(objects, max_size=8))
def test_every_object_has_one_owner_whatever_it_looks_like(live: list[dict[str, Any]]) -> None:
    found = owner_map.every(live, Inventories())

    assert sorted(each.id.name for each in found) == sorted(each["metadata"]["name"] for each in live)
    for each in found:
        assert each.owner not in each.co_owners
        flaws = {one.flaw for one in each.flaws}
        if each.under is not None:
            assert flaws == set()
        elif each.owner.party == Party.NOBODY:
            assert flaws == {Flaw.ORPHAN}


def test_every_field_with_its_managers() -> None:
    live = {
        "metadata": {
            "managedFields": [
                {"manager": "a", "fieldsV1": {"f:data": {".": {}, "f:x": {}}}},
                {"manager": "b", "fieldsV1": {"f:data": {"f:x": {}}}},
                {"manager": "b", "subresource": "status", "fieldsV1": {"f:data": {"f:x": {}}, "f:status": {"f:y": {}}}},
            ]
        }
    }
    assert owner_map.fields(live) == {"data": ("a",), "data.x": ("a", "b"), "status.y": ("b",)}


def test_what_the_server_has_forgotten_is_held_against_an_object_only_if_nobody_else_made_it() -> None:
    def found(*managers: str) -> tuple[Party, list[str]]:
        entries = [{"manager": each, "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}}}} for each in managers]
        live = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "managedFields": entries}}
        one = owner_map.one(live, Inventories())
        return one.owner.party, [each.says for each in one.flaws]

    assert found("ancient-changes", "some-operator") == (Party.CONTROLLER, [])
    party, says = found("ancient-changes")
    assert party == Party.PERSON
    assert "the server has forgotten who made it" in says[0]
