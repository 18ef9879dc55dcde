"""What differs by engine."""

import re
from pathlib import Path
from typing import Any

import pytest

from firstlight.engines import adapters, engine_directives
from firstlight.engines.engine_kind import merged
from firstlight.gates import gate_parts
from firstlight.model.cluster import Engine
from firstlight.model.component import ObjectId, SourceForm
from firstlight.model.owner import Party
from firstlight.observe.cluster import observation
from firstlight.ownership import inventories, managers
from firstlight.plan import final_owners, plan_context


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


def test_every_kind_is_asked_held_and_judged_by_its_own_engine() -> None:
    for name, each in adapters.KINDS.items():
        live = {"apiVersion": each.api_version, "kind": name, "metadata": {"name": "one", "namespace": "here"}}
        held = merged(live, each.hold.fields(live))

        assert not each.hold.holds(live)
        assert each.hold.holds(held)
        assert set(each.request("17")) <= set(each.correction(live, "17")[0])
        assert each.controller


@pytest.mark.parametrize(
    ("engine", "kind", "asked", "answer"),
    [
        (Engine.FLUX, "Kustomization", {}, {"status": {"lastHandledReconcileAt": "17"}}),
        (Engine.FLUX, "HelmRelease", {}, {"status": {"lastHandledReconcileAt": "17"}}),
        (Engine.ARGOCD, "Application", {"argocd.argoproj.io/refresh": "hard"}, {}),
        (Engine.ARGOCD, "ApplicationSet", {"argocd.argoproj.io/application-set-refresh": "true"}, {}),
    ],
)
def test_an_answer_to_a_request(engine: Engine, kind: str, asked: dict[str, str], answer: dict[str, Any]) -> None:
    requests = adapters.KINDS[kind].requests

    assert not requests.is_handled({"metadata": {"annotations": asked}}, "17")
    assert requests.is_handled({"metadata": {}, **answer}, "17")
    assert kind in [each.kind for each in adapters.ADAPTERS[engine].kinds]


def test_a_quick_request_lets_argo_cd_keep_its_cache() -> None:
    assert adapters.request("Application", "17", is_full=False) == {"argocd.argoproj.io/refresh": "normal"}
    assert adapters.request("GitRepository", "17", is_full=False) == {"reconcile.fluxcd.io/requestedAt": "17"}


def test_what_is_asked_to_put_git_s_form_back() -> None:
    release = {"kind": "HelmRelease", "spec": {}}
    detecting = {"kind": "HelmRelease", "spec": {"driftDetection": {"mode": "enabled"}}}
    application = {"kind": "Application", "metadata": {"name": "shop"}}

    assert "reconcile.fluxcd.io/forceAt" in adapters.KINDS["HelmRelease"].correction(release, "17")[0]
    assert "reconcile.fluxcd.io/forceAt" not in adapters.KINDS["HelmRelease"].correction(detecting, "17")[0]
    assert adapters.KINDS["Application"].correction(application, "17")[1].endswith("argocd app sync shop")


def test_the_source_of_a_kustomization() -> None:
    kind = adapters.KINDS["Kustomization"]
    live = {"metadata": {"namespace": "apps"}, "spec": {"sourceRef": {"kind": "GitRepository", "name": "fleet"}}}

    assert kind.source(live) == ObjectId("source.toolkit.fluxcd.io", "GitRepository", "apps", "fleet")
    assert kind.source({"spec": {"sourceRef": {"kind": "Strange", "name": "fleet"}}}) is None
    assert [name for name, each in adapters.KINDS.items() if each.has_source] == ["Kustomization"]
    assert [name for name, each in adapters.SOURCES.items() if each.has_commits] == ["GitRepository"]


def test_an_application_set_keeps_what_its_list_had() -> None:
    hold = adapters.KINDS["ApplicationSet"].hold
    live = {"spec": {"preservedFields": {"annotations": ["mine"]}}}

    assert hold.is_shared
    assert hold.fields(live, ["note"]) == {
        "spec": {"preservedFields": {"annotations": ["mine", "argocd.argoproj.io/skip-reconcile", "note"]}}
    }


@pytest.mark.parametrize("engine", list(Engine))
def test_a_second_owner_is_a_copy_of_another_directory(engine: Engine) -> None:
    kind = adapters.followed(engine)
    assert kind.copied is not None
    old: dict[str, Any] = {
        "kind": kind.kind,
        "metadata": {"name": "cilium", "finalizers": ["x"]},
        "spec": {"path": "./infra/cilium", "source": {"path": "infra/cilium"}, "suspend": True},
    }

    new = kind.copied(old, "cilium-bgp", after="cilium", directory="infra/cilium", target="infra/cilium-bgp")

    assert new["metadata"]["name"] == "cilium-bgp"
    path = new["spec"]["path"] if engine is Engine.FLUX else new["spec"]["source"]["path"]
    assert path.removeprefix("./") == "infra/cilium-bgp"
    assert new["spec"].get("dependsOn") == ([{"name": "cilium"}] if engine is Engine.FLUX else None)
    assert old["metadata"]["name"] == "cilium"


# Tables by the kinds of all engines, which are not in the adapters.


def test_every_engine_is_a_party() -> None:
    assert {each.value for each in Engine} <= {each.value for each in Party}


def test_every_manager_of_an_engine_is_known() -> None:
    assert {each.manager for each in adapters.KINDS.values() if each.manager} <= set(managers.ENGINES)


@pytest.mark.parametrize("form", [each for each in SourceForm if each.value in adapters.KINDS])
def test_every_form_of_an_engine_is_in_each_table(form: SourceForm) -> None:
    kind = adapters.KINDS[form.value]
    assert plan_context._GROUPS[form] == (kind.group, kind.kind)
    assert form in final_owners.PARTIES
    assert form in final_owners._BY_FORM
    assert (kind.group, kind.kind) in inventories.KINDS
    assert f"{kind.group}/{kind.kind}" in observation.KINDS
    look = gate_parts.look_at(ObjectId(kind.group, kind.kind, "here", "one"))
    assert look.api_version == kind.api_version


# The rest of the source does not ask which engine it is: what differs is in the adapters.


SOURCE = Path(__file__).parents[3] / "src" / "firstlight"
OUTSIDE = {"repo/scripts/commands/flux_commands.py": 1, "repo/tofu/tofu_resources.py": 1}
"""Readers outside of the packages of an engine, and how often they name it."""


def test_no_module_outside_asks_which_engine_it_is() -> None:
    found: dict[str, int] = {}
    named = re.compile(rf"\bEngine\.(?:{'|'.join(each.name for each in Engine)})\b")
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(("engines/", *(f"repo/{each}/" for each in Engine))):
            count = len(named.findall(path.read_text()))
            found |= {place: count} if count else {}

    assert found == OUTSIDE
