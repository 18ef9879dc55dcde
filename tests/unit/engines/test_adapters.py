"""What differs by engine."""

from firstlight.engines import adapters, engine_directives
from firstlight.model.cluster import Engine


def test_every_engine_has_an_adapter() -> None:
    assert set(adapters.ADAPTERS) == set(Engine)


def test_api_versions() -> None:
    assert {name: each.api_version for name, each in adapters.KINDS.items()} == {
        "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
        "HelmRelease": "helm.toolkit.fluxcd.io/v2",
        "FluxInstance": "fluxcd.controlplane.io/v1",
        "ResourceSet": "fluxcd.controlplane.io/v1",
        "Application": "argoproj.io/v1alpha1",
        "ApplicationSet": "argoproj.io/v1alpha1",
    }


def test_field_managers() -> None:
    assert {name: each.manager for name, each in adapters.KINDS.items() if each.manager} == {
        "Kustomization": "kustomize-controller",
        "HelmRelease": "helm-controller",
        "FluxInstance": "flux-operator",
        "ResourceSet": "flux-operator",
        "Application": "argocd-controller",
    }


def test_how_a_reconciliation_is_requested() -> None:
    assert {name: each.request("17") for name, each in adapters.KINDS.items()} == {
        "Kustomization": {"reconcile.fluxcd.io/requestedAt": "17"},
        "HelmRelease": {"reconcile.fluxcd.io/requestedAt": "17"},
        "FluxInstance": {"reconcile.fluxcd.io/requestedAt": "17"},
        "ResourceSet": {"reconcile.fluxcd.io/requestedAt": "17"},
        "Application": {"argocd.argoproj.io/refresh": "hard"},
        "ApplicationSet": {"argocd.argoproj.io/application-set-refresh": "true"},
    }


def test_what_git_can_suspend() -> None:
    assert list(adapters.SUSPENDABLE) == ["Kustomization", "HelmRelease", "Application"]
    assert {str(form): (each.group, each.steps, each.value) for form, each in engine_directives.RESTS.items()} == {
        "Kustomization": ("kustomize.toolkit.fluxcd.io", ("spec", "suspend"), True),
        "HelmRelease": ("helm.toolkit.fluxcd.io", ("spec", "suspend"), True),
        "Application": ("argoproj.io", ("metadata", "annotations", "argocd.argoproj.io/skip-reconcile"), "true"),
    }


def test_only_a_flux_instance_starts_nothing() -> None:
    assert [name for name, each in adapters.KINDS.items() if not each.is_starting] == ["FluxInstance"]
