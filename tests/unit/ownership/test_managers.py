"""Who stands behind the names of field managers."""

import pytest

from firstlight.model.owner import ObjectOwner, Party
from firstlight.ownership import managers, migration, stray_fields
from firstlight.ownership.managers import Manager


@pytest.mark.parametrize(
    ("name", "party"),
    [
        ("talos", Party.TALOS),
        ("talosctl", Party.TALOS),
        ("omni", Party.TALOS),
        ("firstlight", Party.BOOTSTRAP),
        ("firstlight-repository", Party.BOOTSTRAP),
        ("kustomize-controller", Party.FLUX),
        ("helm-controller", Party.FLUX),
        ("flux-operator", Party.FLUX),
        ("argocd-controller", Party.ARGOCD),
        ("argocd-application-controller", Party.CONTROLLER),
        ("helm", Party.HELM),
        ("kubectl-edit", Party.PERSON),
        ("kubectl", Party.PERSON),
        ("before-first-apply", Party.PERSON),
        ("ancient-changes", Party.PERSON),
        ("kube-controller-manager", Party.SYSTEM),
        ("api-priority-and-fairness-config-consumer-v1", Party.SYSTEM),
        ("machined", Party.TALOS),
        ("flux", Party.PERSON),
        ("OpenLens", Party.PERSON),
        ("headlamp", Party.PERSON),
        ("Terraform", Party.PERSON),
        ("flux-operator-x", Party.CONTROLLER),
        ("cilium-operator-generic", Party.CONTROLLER),
        ("", Party.CONTROLLER),
    ],
)
def test_parties(name: str, party: Party) -> None:
    assert managers.party(name) == party


def test_what_is_meant_by_the_party_alone_has_no_name() -> None:
    assert managers.owner("talos") == ObjectOwner(Party.TALOS)
    assert managers.owner("kubectl-edit") == ObjectOwner(Party.PERSON, "kubectl-edit")


@pytest.mark.parametrize(
    ("fields", "is_incidental"),
    [
        ({"f:status": {"f:a": {}}}, True),
        ({"f:metadata": {"f:finalizers": {'v:"x"': {}}}}, True),
        ({"f:metadata": {"f:annotations": {"f:reconcile.fluxcd.io/requestedAt": {}}}}, True),
        ({"f:metadata": {"f:annotations": {".": {}, "f:reconcile.fluxcd.io/requestedAt": {}}}}, True),
        ({"f:metadata": {"f:annotations": {"f:reconcile.fluxcd.io/requestedAt": {}, "f:mine": {}}}}, False),
        ({"f:metadata": {"f:labels": {"f:a": {}}}}, False),
        ({"f:data": {"f:a": {}}, "f:status": {}}, False),
        ({"f:spec": {}}, False),
        ({}, True),
    ],
)
def test_what_owns_nothing_that_somebody_wrote(fields: dict[str, object], is_incidental: bool) -> None:
    assert Manager("x", "Update", "", fields).is_incidental == is_incidental


def test_a_subresource_is_nothing_that_somebody_wrote() -> None:
    assert Manager("kubectl", "Update", "scale", {"f:spec": {"f:replicas": {}}}).is_incidental


def test_an_engine_is_not_stale_beside_itself() -> None:
    mine = Manager("kustomize-controller", "Update", "", {"f:spec": {}})
    assert not managers.is_stale(mine, "kustomize-controller")
    assert managers.is_stale(mine, "helm-controller")
    assert not managers.is_stale(Manager("cert-manager-cainjector", "Update", "", {"f:spec": {}}), "helm-controller")


def test_the_command_of_flux_came_before_its_engine() -> None:
    flux = Manager("flux", "Apply", "", {"f:spec": {}})
    assert managers.is_stale(flux, "kustomize-controller")
    assert managers.is_old("flux")
    assert not managers.is_by_hand("flux")
    assert not managers.is_old("flux-client-side-apply")


@pytest.mark.parametrize("name", ["kubectl-edit", "k9s", "Lens", "OpenLens", "Terraform", "curl", "headlamp"])
def test_owners_and_drift_agree_on_who_is_a_person(name: str) -> None:
    live = {"metadata": {"managedFields": [{"manager": name, "fieldsV1": {}}]}}
    assert managers.party(name) == Party.PERSON
    assert stray_fields.writers_of(live)[0].is_person


@pytest.mark.parametrize("name", ["talos", "helm", "firstlight", "omni", "talosctl", "before-first-apply", "flux"])
def test_handover_and_drift_agree_on_who_came_before(name: str) -> None:
    live = {"metadata": {"managedFields": [{"manager": name, "fieldsV1": {}}]}}
    assert migration.is_old(name)
    assert stray_fields.writers_of(live)[0].is_old


def test_entries_of_strangers_forms_are_read() -> None:
    live = {"metadata": {"managedFields": [{"manager": 7, "fieldsV1": []}, "no", {"manager": "a"}]}}
    assert [each.name for each in managers.of(live)] == ["", "", "a"]
    assert managers.of({}) == ()


def test_what_the_server_has_forgotten_passes_and_is_nobodys_word_on_who_made_it() -> None:
    assert managers.is_old("ancient-changes")
    assert managers.is_by_hand("ancient-changes")
    assert not managers.makes("ancient-changes")
