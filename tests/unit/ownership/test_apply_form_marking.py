"""Objects as an engine applies them."""

import copy
from typing import Any

import pytest

from firstlight.engines import engine_marks
from firstlight.model.owner import ObjectOwner, Party
from firstlight.ownership import apply_form

WANTED: dict[str, Any] = {
    "apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "apps", "labels": {"app": "web"}},
    "spec": {"replicas": 1}, "status": {"replicas": 0},
}  # fmt: skip
KUSTOMIZATION = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")
RELEASE = ObjectOwner(Party.FLUX, "HelmRelease flux-system/web")
APPLICATION = ObjectOwner(Party.ARGOCD, "Application web")


def live(**metadata: Any) -> dict[str, Any]:
    return {**WANTED, "metadata": {**WANTED["metadata"], **metadata}}


def test_kustomization() -> None:
    before = copy.deepcopy(WANTED)
    made = apply_form.marked(WANTED, KUSTOMIZATION)
    assert made["metadata"]["labels"] == {
        "app": "web", "kustomize.toolkit.fluxcd.io/name": "apps",
        "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    }  # fmt: skip
    assert "annotations" not in made["metadata"]
    assert "status" not in made
    assert made["spec"] == WANTED["spec"]
    assert before == WANTED


def test_release() -> None:
    made = apply_form.marked(WANTED, RELEASE)["metadata"]
    assert made["labels"]["app.kubernetes.io/managed-by"] == "Helm"
    assert made["labels"]["helm.toolkit.fluxcd.io/name"] == "web"
    assert made["annotations"] == {
        "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "flux-system",
    }  # fmt: skip


def test_release_is_called_as_the_live_object_says() -> None:
    called = {"meta.helm.sh/release-name": "apps-web", "meta.helm.sh/release-namespace": "apps"}
    made = apply_form.marked(WANTED, RELEASE, live=live(annotations={**called, "other": "x"}))
    assert made["metadata"]["annotations"] == called


def test_release_that_bootstrap_keeps() -> None:
    made = apply_form.marked(WANTED, ObjectOwner(Party.HELM, "release apps/shop"))["metadata"]
    assert made["labels"] == {"app": "web", "app.kubernetes.io/managed-by": "Helm"}
    assert made["annotations"] == {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "apps"}


def test_release_is_called_as_git_says_where_nothing_is_live() -> None:
    definition: dict[str, Any] = {"kind": "HelmRelease", "metadata": {"name": "web", "namespace": "flux-system"}}
    spec = {"releaseName": "shop-web", "targetNamespace": "shop"}
    made = apply_form.marked(WANTED, RELEASE, definition={**definition, "spec": spec})
    assert made["metadata"]["annotations"] == {
        "meta.helm.sh/release-name": "shop-web", "meta.helm.sh/release-namespace": "shop",
    }  # fmt: skip
    made = apply_form.marked(WANTED, RELEASE, definition={**definition, "spec": {"targetNamespace": "shop"}})
    assert made["metadata"]["annotations"]["meta.helm.sh/release-name"] == "shop-web"
    long = apply_form.marked(WANTED, RELEASE, definition={**definition, "spec": {"releaseName": "a" * 60}})
    assert len(long["metadata"]["annotations"]["meta.helm.sh/release-name"]) == 53


def test_crds_of_a_chart_are_no_part_of_its_release() -> None:
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}}
    assert "annotations" not in apply_form.marked(crd, RELEASE)["metadata"]
    seen = {**crd, "metadata": {"name": "x", "annotations": {"meta.helm.sh/release-name": "web"}}}
    assert apply_form.marked(crd, RELEASE, live=seen)["metadata"]["annotations"]["meta.helm.sh/release-name"] == "web"


def test_application() -> None:
    made = apply_form.marked(WANTED, APPLICATION)["metadata"]
    assert made["annotations"] == {"argocd.argoproj.io/tracking-id": "web:apps/Deployment:apps/web"}


def test_application_tracks_as_the_live_object_says() -> None:
    tracked = {"argocd.argoproj.io/tracking-id": "argocd_web:apps/Deployment:other/web"}
    made = apply_form.marked(WANTED, APPLICATION, live=live(annotations=tracked))["metadata"]
    assert made["annotations"] == tracked
    made = apply_form.marked(WANTED, APPLICATION, live=live(labels={"app.kubernetes.io/instance": "web"}))["metadata"]
    assert made["labels"] == {"app": "web", "app.kubernetes.io/instance": "web"}
    assert "annotations" not in made


def test_tracking_of_another_application_is_not_taken() -> None:
    tracked = {"argocd.argoproj.io/tracking-id": "other:apps/Deployment:apps/web"}
    made = apply_form.marked(WANTED, APPLICATION, live=live(annotations=tracked))["metadata"]
    assert made["annotations"] == {"argocd.argoproj.io/tracking-id": "web:apps/Deployment:apps/web"}


@pytest.mark.parametrize("owner", [ObjectOwner(Party.BOOTSTRAP), ObjectOwner(Party.TALOS, "inline")])
def test_others_leave_no_marks(owner: ObjectOwner) -> None:
    assert apply_form.marked(WANTED, owner)["metadata"] == WANTED["metadata"]


SECRET: dict[str, Any] = {
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"a": "b"},
}  # fmt: skip


@pytest.mark.parametrize("owner", [KUSTOMIZATION, ObjectOwner(Party.BOOTSTRAP)])
def test_string_data_is_data_for_those_who_make_it_so(owner: ObjectOwner) -> None:
    made = apply_form.marked(SECRET, owner)
    assert made["data"] == {"a": "Yg=="}
    assert "stringData" not in made
    assert apply_form.lingering(SECRET, owner) == ()


@pytest.mark.parametrize("owner", [RELEASE, APPLICATION, ObjectOwner(Party.HELM, "x"), ObjectOwner(Party.TALOS, "x")])
def test_string_data_is_applied_as_written_by_all_others_and_stays(owner: ObjectOwner) -> None:
    made = apply_form.marked(SECRET, owner)
    assert made["stringData"] == {"a": "b"}
    assert "data" not in made
    assert apply_form.lingering(SECRET, owner) == ("a",)


@pytest.mark.parametrize("owner", [KUSTOMIZATION, RELEASE, APPLICATION])
def test_the_marks_tell_the_owner(owner: ObjectOwner) -> None:
    mark = engine_marks.of(apply_form.marked(WANTED, owner))
    assert mark is not None
    assert mark.owner == owner.name
