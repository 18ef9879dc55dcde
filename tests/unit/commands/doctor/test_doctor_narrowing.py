"""A diagnosis of one component or object: only what is behind it, with the way there."""

from typing import Any

import pytest

from firstlight.commands.doctor import diagnosis_scope
from firstlight.commands.doctor.symptoms import Diagnosis, RootCause, Symptom, SymptomLayer
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource
from firstlight.observe.cluster.observation import ClusterObservation

PLACE = Place("a.yaml")


def symptom(subject: str, *because: str) -> Symptom:
    return Symptom(
        code="r",
        severity=Severity.ERROR,
        layer=SymptomLayer.COMPONENT,
        subject=subject,
        message="x",
        because=tuple(f"r {b}" for b in because),
    )


ROOT = symptom("GitRepository flux-system/home")
BASE = symptom("Kustomization flux-system/base", ROOT.subject)
SHOP = symptom("Kustomization flux-system/shop", BASE.subject)
POD = symptom("Deployment shop/web", SHOP.subject)
OTHER = symptom("Kustomization flux-system/other", BASE.subject)
QUOTA = symptom("Deployment blog/web")
RELEASE = symptom("Helm release blog/db")
FOUND = Diagnosis(
    cluster="home",
    causes=(
        RootCause(symptom=ROOT, effects=(BASE, OTHER, SHOP, POD)),
        RootCause(symptom=QUOTA),
        RootCause(symptom=RELEASE),
    ),
)


def thing(kind: str, name: str, namespace: str = "", **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace, **metadata}}


OBJECTS = (
    thing("Namespace", "shop"), thing("Namespace", "blog"), thing("Deployment", "web", "shop"),
    thing("ReplicaSet", "web-1", "shop", ownerReferences=[{"kind": "Deployment", "name": "web"}]),
    thing("Pod", "web-1-x", "shop", ownerReferences=[{"kind": "ReplicaSet", "name": "web-1"}]),
    thing("ConfigMap", "marked", "other", labels={"kustomize.toolkit.fluxcd.io/name": "shop"}),
)  # fmt: skip
SCENE = ClusterObservation(cluster=Cluster(name="home", place=PLACE), now=0.0, objects=OBJECTS)
COMPONENT = Component(
    name="store", cluster="home", phase=Phase.GITOPS, side=Side.GITOPS, owner=Owner.GITOPS, why="",
    origins=(Origin(form=SourceForm.KUSTOMIZATION, side=Side.GITOPS, place=PLACE, name="shop", namespace="flux-system",
                    source=DirectorySource(path="shop")),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "roots", "effects"),
    [
        ("shop", [ROOT], [BASE, SHOP, POD]),
        ("store", [ROOT], [BASE, SHOP]),
        ("Deployment shop/web", [ROOT], [BASE, SHOP, POD]),
        ("shop/web", [ROOT], [BASE, SHOP, POD]),
        ("deployment blog/web", [QUOTA], []),
        ("web", [ROOT, QUOTA], [BASE, SHOP, POD]),
        ("blog", [QUOTA, RELEASE], []),
        ("Helm release blog/db", [RELEASE], []),
        ("home", [ROOT], []),
    ],
)
def test_what_is_behind_it(asked: str, roots: list[Symptom], effects: list[Symptom]) -> None:
    scope = diagnosis_scope.scope(asked, SCENE, FOUND, [COMPONENT])
    assert scope is not None

    found = diagnosis_scope.narrow(FOUND, scope)

    assert [each.symptom for each in found.causes] == roots
    assert [each for cause in found.causes for each in cause.effects] == effects


def test_what_it_has_made_and_what_is_marked_is_meant_too() -> None:
    web = diagnosis_scope.scope("Deployment shop/web", SCENE, FOUND)
    store = diagnosis_scope.scope("store", SCENE, FOUND, [COMPONENT])

    assert web is not None
    assert web.holds("Pod shop/web-1-x")
    assert store is not None
    assert store.holds("ConfigMap other/marked")
    assert not store.holds("Deployment blog/web")


def test_what_nothing_is_called() -> None:
    assert diagnosis_scope.scope("shpo", SCENE, FOUND, [COMPONENT]) is None
    assert diagnosis_scope.near("stroe", SCENE, [COMPONENT]) == ("store",)
