"""Marks of engines on live objects."""

from typing import Any

import pytest

from firstlight.engines import engine_marks
from firstlight.engines.adapter import EngineMark
from firstlight.model.cluster import Engine


def live(
    *, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    metadata = {"name": "main", "namespace": "here", "labels": labels or {}, "annotations": annotations or {}, **more}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


TRACKING = "argocd.argoproj.io/tracking-id"
INSTANCE = {"app.kubernetes.io/instance": "shop"}
ARGOCD = [
    {
        "manager": "argocd-controller",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:app.kubernetes.io/instance": {}}}},
    }
]


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        (live(), None),
        (live(labels={"app.kubernetes.io/instance": "main", "app.kubernetes.io/managed-by": "Helm"}), None),
        (live(labels={"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}), None),
        (
            live(labels={"kustomize.toolkit.fluxcd.io/name": "a", "kustomize.toolkit.fluxcd.io/namespace": "b"}),
            EngineMark(Engine.FLUX, "Kustomization b/a"),
        ),
        (
            live(labels={"helm.toolkit.fluxcd.io/name": "a", "helm.toolkit.fluxcd.io/namespace": "b"}),
            EngineMark(Engine.FLUX, "HelmRelease b/a"),
        ),
        (
            live(labels={"fluxcd.controlplane.io/name": "flux", "fluxcd.controlplane.io/namespace": "flux-system"}),
            EngineMark(Engine.FLUX, "FluxInstance flux-system/flux"),
        ),
        (live(annotations={TRACKING: "shop:apps/Deployment:here/main"}), EngineMark(Engine.ARGOCD, "Application shop")),
        (live(annotations={TRACKING: "shop:apps/ReplicaSet:here/main"}), None),
        (live(annotations={TRACKING: "shop:apps/Deployment:there/main"}), None),
        (
            live(labels=INSTANCE, managedFields=ARGOCD),
            EngineMark(Engine.ARGOCD, "Application shop"),
        ),
        (live(labels=INSTANCE, managedFields=[{"manager": "argocd-controller", "fieldsV1": {}}]), None),
    ],
)  # fmt: skip
def test_marks(value: dict[str, Any], mark: EngineMark | None) -> None:
    assert engine_marks.of(value) == mark


def test_what_bootstrap_applied_as_argo_cds_manager_is_not_argo_cds() -> None:
    there = live(labels=INSTANCE, managedFields=ARGOCD)
    assert engine_marks.of(there, wanted=live(labels=INSTANCE)) is None
    assert engine_marks.of(there, wanted=live()) is not None


HISTORY = {"history": [{"name": "shop", "namespace": "shops"}], "storageNamespace": "flux-system"}


@pytest.mark.parametrize(
    ("spec", "status", "name", "namespace", "is_owned"),
    [
        ({}, HISTORY, "shop", "flux-system", True),
        ({}, HISTORY, "shop", "shops", False),
        ({}, HISTORY, "other", "flux-system", False),
        ({}, {}, "shop", "flux-system", True),
        ({"suspend": True}, {}, "shop", "flux-system", False),
        ({"suspend": True}, HISTORY, "shop", "flux-system", True),
        ({"targetNamespace": "shops"}, {}, "shops-shop", "flux-system", True),
        ({"releaseName": "mine", "storageNamespace": "x"}, {}, "mine", "x", True),
    ],
)
def test_helm_releases(spec: dict[str, Any], status: dict[str, Any], name: str, namespace: str, is_owned: bool) -> None:
    owner = {"metadata": {"name": "shop", "namespace": "flux-system"}, "spec": spec, "status": status}
    found = engine_marks.release_of([owner], name=name, namespace=namespace)
    assert found == (EngineMark(Engine.FLUX, "HelmRelease flux-system/shop") if is_owned else None)


@pytest.mark.parametrize(
    ("spec", "is_kept", "is_owned"),
    [
        ({"suspend": True}, True, False),
        ({"suspend": True}, False, True),
        ({"suspend": False}, True, True),
        ({}, True, True),
    ],
)
def test_a_release_that_bootstrap_keeps_is_nobodys_that_rests(
    spec: dict[str, Any], is_kept: bool, is_owned: bool
) -> None:  # fmt: skip
    """Who was suspended for another reason still has it: only the repo can say that bootstrap does."""
    owner = {"metadata": {"name": "shop", "namespace": "flux-system"}, "spec": spec, "status": HISTORY}
    found = engine_marks.release_of([owner], name="shop", namespace="flux-system", is_kept=is_kept)
    assert (found is not None) is is_owned


@pytest.mark.parametrize(
    ("holder", "is_suspended"),
    [
        ({"spec": {"suspend": True}}, True),
        ({"spec": {"suspend": False}}, False),
        ({"spec": {"suspend": "true"}}, False),
        ({"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}}, True),
        ({"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "1"}}}, True),
        ({"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "T"}}}, True),
        ({"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "yes"}}}, False),
        ({"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "false"}}}, False),
        ({}, False),
    ],
)
def test_who_is_let_rest(holder: dict[str, Any], is_suspended: bool) -> None:
    assert engine_marks.is_suspended(holder) is is_suspended
