"""Whether an engine's object works on what it has."""

from typing import Any

import pytest

from firstlight.execute.handover import live_evidence

KUSTOMIZE, HELM = "kustomize.toolkit.fluxcd.io/v1", "helm.toolkit.fluxcd.io/v2"


def holder(
    api_version: str = KUSTOMIZE, kind: str = "Kustomization", *, spec: Any = None, **conditions: str
) -> dict[str, Any]:
    """An engine's object with conditions."""
    found = [{"type": name, "status": each, "message": "it fails"} for name, each in conditions.items()]
    return {
        "apiVersion": api_version, "kind": kind, "metadata": {"name": "all", "namespace": "flux"}, "spec": spec or {},
        "status": {"conditions": found},
    }  # fmt: skip


def application(sync: str, health: str, phase: str = "Succeeded", **annotations: str) -> dict[str, Any]:
    """An Application."""
    status = {
        "reconciledAt": "2026-11-16T10:00:00Z", "sync": {"status": sync}, "health": {"status": health},
        "operationState": {"phase": phase, "message": "it fails"},
    }  # fmt: skip
    metadata = {"name": "all", "namespace": "argocd", "annotations": annotations}
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "status": status}


@pytest.mark.parametrize(
    "value",
    [
        holder(Ready="True"),
        holder(HELM, "HelmRelease", Ready="True"),
        holder(Ready="Unknown", Reconciling="True"),
        holder("fluxcd.controlplane.io/v1", "FluxInstance"),
        application("Synced", "Healthy"),
        application("OutOfSync", "Healthy", "Running"),
        application("Synced", "Progressing"),
    ],
)
def test_at_work(value: dict[str, Any]) -> None:
    assert live_evidence.engine_fault(value, now=0) == ""


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (holder(Ready="True", spec={"suspend": True}), "Kustomization flux/all is suspended"),
        (holder(HELM, "HelmRelease", Ready="True", spec={"suspend": True}), "HelmRelease flux/all is suspended"),
        (holder(Ready="False"), "Kustomization flux/all is not Ready: it fails"),
        (holder(Ready="False", Reconciling="True"), "Kustomization flux/all is not Ready: it fails"),
        (holder(Ready="Unknown", Stalled="True"), "Kustomization flux/all is stalled"),
        (holder(), "Kustomization flux/all has no conditions yet"),
        (application("Synced", "Healthy", "Failed"), "its sync ended in Failed"),
        (application("Synced", "Degraded"), "is synced and Degraded"),
        (application("Synced", "Healthy", **{"argocd.argoproj.io/skip-reconcile": "true"}), "is skipped"),
    ],
)
def test_not_at_work(value: dict[str, Any], says: str) -> None:
    assert says in live_evidence.engine_fault(value, now=0)


@pytest.mark.parametrize("value", [holder(Ready="True"), application("Synced", "Progressing", "Running")])
def test_being_deleted(value: dict[str, Any]) -> None:
    value["metadata"]["deletionTimestamp"] = "2026-11-16T10:00:00Z"
    assert "is being deleted" in live_evidence.engine_fault(value, now=0)
