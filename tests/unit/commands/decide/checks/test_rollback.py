"""What a revert does not bring back."""

import dataclasses
from typing import Any

import pytest

from firstlight.commands.decide.checks import rollback
from firstlight.commands.decide.checks.check_input import ObjectPair
from firstlight.model.cluster import Cluster, Network
from firstlight.model.component import ObjectId
from firstlight.model.decision import CheckState
from firstlight.model.place import Place

FAILED, PERSON = CheckState.FAILED, CheckState.PERSON


def obj(api_version: str, kind: str, *, spec: Any = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "web", **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **({"spec": spec} if spec else {}), **more}


def answers(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[tuple[CheckState, str]]:
    one = ObjectPair(id=ObjectId.of(after or before or {}), place=Place("a.yaml", 2), before=before, after=after)
    found = rollback.irreversible_pairs([one])
    return [(each.state, each.diagnostic.code) for each in found if each.diagnostic is not None]


CLAIM = {"resources": {"requests": {"storage": "10Gi"}}, "storageClassName": "fast"}
VERSIONS = [{"name": "v1", "storage": True, "served": True}, {"name": "v1beta1", "storage": False, "served": True}]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (obj("v1", "PersistentVolumeClaim", spec=CLAIM), None, [(FAILED, "data-lost-with-object")]),
        (obj("v1", "Namespace"), None, [(FAILED, "data-lost-with-object")]),
        (obj("apiextensions.k8s.io/v1", "CustomResourceDefinition"), None, [(FAILED, "data-lost-with-object")]),
        (obj("postgresql.cnpg.io/v1", "Cluster"), None, [(FAILED, "data-lost-with-object")]),
        (obj("cluster.example.org/v1", "Cluster"), None, []),
        (obj("v1", "ConfigMap"), None, []),
        (None, obj("v1", "Namespace"), []),
        (obj("v1", "Namespace", metadata={"annotations": {"kustomize.toolkit.fluxcd.io/prune": "disabled"}}), None, []),
        (obj("v1", "Namespace", metadata={"annotations": {"helm.sh/resource-policy": "keep"}}), None, []),
        (
            obj("v1", "Namespace", metadata={"annotations": {"argocd.argoproj.io/sync-options": "Prune=false"}}),
            None,
            [],
        ),
        (
            obj("v1", "PersistentVolumeClaim", spec=CLAIM),
            obj("v1", "PersistentVolumeClaim", spec={**CLAIM, "resources": {"requests": {"storage": "5Gi"}}}),
            [(FAILED, "volume-shrinks")],
        ),
        (
            obj("v1", "PersistentVolumeClaim", spec=CLAIM),
            obj("v1", "PersistentVolumeClaim", spec={**CLAIM, "resources": {"requests": {"storage": "20Gi"}}}),
            [(PERSON, "volume-grows")],
        ),
        (
            obj("v1", "PersistentVolumeClaim", spec=CLAIM),
            obj("v1", "PersistentVolumeClaim", spec={**CLAIM, "resources": {"requests": {"storage": "10240Mi"}}}),
            [],
        ),
        (
            obj("v1", "PersistentVolumeClaim", spec=CLAIM),
            obj("v1", "PersistentVolumeClaim", spec={**CLAIM, "storageClassName": "slow"}),
            [(FAILED, "immutable-field")],
        ),
        (
            obj("apps/v1", "StatefulSet", spec={"serviceName": "a", "replicas": 1}),
            obj("apps/v1", "StatefulSet", spec={"serviceName": "b", "replicas": 1}),
            [(FAILED, "immutable-field")],
        ),
        (
            obj("apps/v1", "StatefulSet", spec={"serviceName": "a", "replicas": 1}),
            obj("apps/v1", "StatefulSet", spec={"serviceName": "a", "replicas": 3}),
            [],
        ),
        (
            obj("apps/v1", "Deployment", spec={"selector": {"matchLabels": {"a": "b"}}}),
            obj("apps/v1", "Deployment", spec={"selector": {"matchLabels": {"a": "c"}}}),
            [(FAILED, "immutable-field")],
        ),
        (
            obj("storage.k8s.io/v1", "StorageClass", parameters={"pool": "a"}),
            obj("storage.k8s.io/v1", "StorageClass", parameters={"pool": "b"}),
            [(FAILED, "immutable-field")],
        ),
        (
            obj("postgresql.cnpg.io/v1", "Cluster", spec={"storage": {"size": "2Gi"}}),
            obj("postgresql.cnpg.io/v1", "Cluster", spec={"storage": {"size": "1Gi"}}),
            [(FAILED, "volume-shrinks")],
        ),
        (
            obj("v1", "ConfigMap", data={"a": "b"}, immutable=True),
            obj("v1", "ConfigMap", data={"a": "c"}, immutable=True),
            [(FAILED, "immutable-field")],
        ),
        (
            obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"versions": VERSIONS}),
            obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"versions": VERSIONS[:1]}),
            [(PERSON, "crd-version-dropped")],
        ),
        (
            obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"versions": VERSIONS}),
            obj(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                spec={"versions": [{**VERSIONS[1], "storage": True}]},
            ),
            [(FAILED, "crd-version-dropped")],
        ),
        (
            obj("kustomize.toolkit.fluxcd.io/v1", "Kustomization", spec={"prune": True}),
            None,
            [(PERSON, "owner-removed-with-objects")],
        ),
        (obj("kustomize.toolkit.fluxcd.io/v1", "Kustomization", spec={"prune": False}), None, []),
        (obj("helm.toolkit.fluxcd.io/v2", "HelmRelease"), None, [(PERSON, "owner-removed-with-objects")]),
        (
            obj(
                "argoproj.io/v1alpha1",
                "Application",
                metadata={"finalizers": ["resources-finalizer.argocd.argoproj.io"]},
            ),
            None,
            [(PERSON, "owner-removed-with-objects")],
        ),
    ],
)
def test_objects(
    before: dict[str, Any] | None, after: dict[str, Any] | None, expected: list[tuple[CheckState, str]]
) -> None:
    assert answers(before, after) == expected


def test_networks_of_a_cluster() -> None:
    place = Place("talconfig.yaml", 7)
    one = Cluster(
        name="infra",
        place=Place("talconfig.yaml"),
        said={"network.pods": place},
        network=Network(pods=("10.1.0.0/16",)),
    )
    other = dataclasses.replace(one, network=Network(pods=("10.2.0.0/16",)))

    assert rollback.irreversible_networks([one], [one]) == []
    assert rollback.irreversible_networks([], [one]) == []
    assert rollback.irreversible_networks([dataclasses.replace(one, network=Network())], [one]) == []
    (found,) = rollback.irreversible_networks([one], [other])
    assert found.state == FAILED
    assert found.place == place
    assert found.message.startswith("the pods of infra are in 10.2.0.0/16 instead of 10.1.0.0/16")
