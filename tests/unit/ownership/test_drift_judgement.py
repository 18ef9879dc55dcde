"""What is extra, and whose bootstrap's objects are; the rest is in tests/scenarios/drift."""

from typing import Any

import pytest

from firstlight.model.component import ObjectId
from firstlight.model.drift import DriftKind
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership import drift_judgement
from firstlight.ownership.drift_judgement import WantedObject

APPS = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")
LABELS = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}


def live(manager: str = "kustomize-controller", *, kind: str = "ConfigMap", **metadata: Any) -> dict[str, Any]:
    labels = metadata.get("labels", LABELS)
    fields: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{name}": {} for name in labels}}}
    entry = {"manager": manager, "operation": "Apply", "fieldsV1": fields}
    return {
        "apiVersion": "v1", "kind": kind,
        "metadata": {"name": "a", "namespace": "b", "labels": labels, "managedFields": [entry], **metadata},
    }  # fmt: skip


def test_what_an_engine_applied_is_its_own() -> None:
    assert drift_judgement.applier(live()) == APPS
    labels = {"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop"}
    release = ObjectOwner(Party.FLUX, "HelmRelease shop/web")
    assert drift_judgement.applier(live("helm-controller", labels=labels)) == release


@pytest.mark.parametrize(
    "value",
    [
        live("an-operator"),
        live(labels={"app": "a"}),
        live(annotations={"helm.sh/hook": "pre-install"}),
        live(ownerReferences=[{"kind": "Service", "controller": True}]),
        {**live("helm-controller", labels={"helm.toolkit.fluxcd.io/name": "a"}, kind="HelmChart"),
         "apiVersion": "source.toolkit.fluxcd.io/v1"},
    ],
    ids=["copied labels", "no mark", "a hook", "made of something else", "made by the engine for itself"],
)  # fmt: skip
def test_what_is_not_an_engines_own(value: dict[str, Any]) -> None:
    assert drift_judgement.applier(value) is None


def test_an_application_marks_by_annotation() -> None:
    tracked = {"argocd.argoproj.io/tracking-id": "web:/ConfigMap:b/a"}
    value = live(labels={}, annotations=tracked)
    fields: dict[str, Any] = {"f:metadata": {"f:annotations": {"f:argocd.argoproj.io/tracking-id": {}}}}
    value["metadata"]["managedFields"] = [{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": fields}]
    assert drift_judgement.applier(value) == ObjectOwner(Party.ARGOCD, "Application web")


def test_extra_says_since_when() -> None:
    found = drift_judgement.surplus(
        ObjectId("", "ConfigMap", "b", "a"), component="apps", owner=APPS, since="2026-11-16"
    )
    assert found.difference == DriftKind.EXTRA
    assert (
        found.says
        == "Kustomization flux-system/apps applied it, and Git does not have it; it is there since 2026-11-16"
    )


@pytest.mark.parametrize(
    ("party", "managers", "settled"),
    [
        (Party.TALOS, ["talos", "kubectl-edit"], "talos"),
        (Party.TALOS, ["firstlight"], "firstlight"),
        (Party.HELM, ["kubectl-client-side-apply"], "kubectl-client-side-apply"),
        (Party.HELM, ["an-operator"], "helm"),
        (Party.FLUX, ["talos"], "helm"),
    ],
)
def test_any_manager_of_bootstrap_will_do(party: Party, managers: list[str], settled: str) -> None:
    value = live()
    fields: dict[str, Any] = {"f:data": {"f:a": {}}}
    value["metadata"]["managedFields"] = [
        {"manager": each, "operation": "Apply", "fieldsV1": fields} for each in managers
    ]
    wanted = WantedObject(object=Object({}), component="x", manager="helm", owner=ObjectOwner(party, "x"))
    assert drift_judgement.settled(wanted, value).manager == settled
    assert drift_judgement.settled(wanted, None).manager == "helm"


@pytest.mark.parametrize(
    ("api_version", "kind", "is_shown"),
    [("v1", "Secret", False), ("secretsmanager.example.org/v1", "Secret", True), ("v1", "ConfigMap", True)],
)
def test_a_server_that_quotes_a_secret_is_not_quoted(api_version: str, kind: str, is_shown: bool) -> None:
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "data": {"a": "1"}}
    wanted = WantedObject(object=Object(value), component="apps", manager="x", owner=APPS)
    found = drift_judgement.refused(wanted, {**value, "data": {"a": "2"}}, why="Invalid value: hunter2")
    assert ("hunter2" in found.says) == is_shown


def test_what_sops_has_encrypted_is_neither_compared_nor_applied() -> None:
    value = {"apiVersion": "a.example.org/v1", "kind": "Secret", "metadata": {"name": "a"}, "sops": {}}
    wanted = WantedObject(object=Object(value), component="apps", manager="x", owner=APPS)
    assert not wanted.is_known
    assert not wanted.is_applicable


def test_marks_of_a_resource_set_are_marks() -> None:
    labels = {f"resourceset.fluxcd.controlplane.io/{each}": "a" for each in ("name", "namespace")}
    assert drift_judgement.applier(live("flux-operator", labels=labels)) == ObjectOwner(Party.FLUX, "ResourceSet a/a")
