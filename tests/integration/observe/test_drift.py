"""Live objects of a real API server against what Git has: every difference is found, and nothing else."""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from firstlight.clients import kube as clients_kube
from firstlight.clients.kube.client_config import Impersonation
from firstlight.lab import running_lab
from firstlight.model.drift import Drifted, DriftKind
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.observe import drift
from firstlight.ownership import apply_form
from firstlight.ownership.drift_judgement import WantedObject
from tests.labs import until

MANAGER = "kustomize-controller"
OWNER = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")
NOBODY = [ObjectOwner(Party.FLUX, f"{kind} flux-system/nothing") for kind in ("Kustomization", "HelmRelease")]


def config_map(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data,
    }  # fmt: skip


def deployment(namespace: str, name: str = "web", **spec: Any) -> dict[str, Any]:
    container = {
        "name": "main", "image": "registry.example/main:1", "ports": [{"containerPort": 80}],
        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": 0.5}},
        "env": [{"name": "EMPTY", "value": ""}],
    }  # fmt: skip
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], "tolerations": []}}
    whole = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": pod, **spec}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": whole,
    }  # fmt: skip


def wanted(value: Mapping[str, Any], definition: Mapping[str, Any] | None = None) -> WantedObject:
    return WantedObject(
        object=Object(value), component="apps", manager=MANAGER, owner=OWNER, definition=definition or {}
    )


async def apply(kube: clients_kube.Client, *values: Mapping[str, Any]) -> None:
    """As the engine does it."""
    for each in values:
        await kube.apply(apply_form.marked(each, OWNER), manager=MANAGER, force=True)


async def found(kube: clients_kube.Client, *values: WantedObject) -> list[Drifted]:
    return list((await drift.compare(values, kube, owners={})).drifted)


async def test_what_was_applied_is_no_drift(kube: clients_kube.Client, namespace: str) -> None:
    values = [config_map(namespace, a="b"), deployment(namespace)]
    await apply(kube, *values)
    seen = await drift.compare([wanted(each) for each in values], kube, owners={})
    assert seen.drifted == ()


async def test_what_kubectl_changed_is_told_with_who_and_when(kube: clients_kube.Client, namespace: str) -> None:
    await apply(kube, deployment(namespace))
    body = {"spec": {"replicas": 2}}
    await kube.patch("apps/v1", "Deployment", "web", body, manager="kubectl-edit", namespace=namespace)
    (one,) = await found(kube, wanted(deployment(namespace)))
    assert one.difference == DriftKind.CHANGED
    (field,) = one.fields
    assert (field.path, field.wanted, field.live, field.manager) == ("spec.replicas", "0", "2", "kubectl-edit")
    assert not one.is_beside
    assert field.since.startswith("20")
    assert one.says == "1 field changed by kubectl-edit"


async def test_a_field_of_an_item_is_named_by_the_item(kube: clients_kube.Client, namespace: str) -> None:
    await apply(kube, deployment(namespace))
    body = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "registry.example/main:2"}]}}}}
    await kube.patch("apps/v1", "Deployment", "web", body, form="strategic", manager="kubectl-set", namespace=namespace)
    (one,) = await found(kube, wanted(deployment(namespace)))
    assert [each.path for each in one.fields] == ["spec.template.spec.containers[name=main].image"]


async def test_what_a_person_added_is_drift_and_its_defaults_are_not(kube: clients_kube.Client, namespace: str) -> None:
    await apply(kube, deployment(namespace))
    sidecar = {"name": "debug", "image": "registry.example/debug:1"}
    body = {"spec": {"template": {"spec": {"containers": [sidecar]}}}, "metadata": {"annotations": {"by": "hand"}}}
    await kube.patch(
        "apps/v1", "Deployment", "web", body, form="strategic", manager="kubectl-edit", namespace=namespace
    )
    (one,) = await found(kube, wanted(deployment(namespace)))
    assert [each.path for each in one.fields] == [
        "metadata.annotations.by",
        "spec.template.spec.containers[name=debug]",
    ]
    assert {each.wanted for each in one.fields} == {""}
    assert one.is_beside


async def test_what_was_created_by_hand_first_has_no_false_fields(kube: clients_kube.Client, namespace: str) -> None:
    """Who creates an object owns all of its defaults: they are not drift, and the owner is the wrong one."""
    value = deployment(namespace)
    await kube.create(value, manager="kubectl-create")
    (one,) = await found(kube, wanted(value))
    assert one.difference == DriftKind.WRONG_OWNER
    assert one.fields == ()
    await apply(kube, value)
    assert await found(kube, wanted(value)) == []


async def test_the_right_value_of_a_wrong_owner(kube: clients_kube.Client, namespace: str) -> None:
    value = config_map(namespace, a="b", c="d")
    await apply(kube, config_map(namespace, a="b"))
    await kube.patch("v1", "ConfigMap", "settings", {"data": {"c": "d"}}, manager="kubectl", namespace=namespace)
    (one,) = await found(kube, wanted(value))
    assert one.difference == DriftKind.WRONG_OWNER
    assert [(each.path, each.manager) for each in one.fields] == [("data.c", "kubectl")]
    assert one.says == "1 field of Git is owned by kubectl, not by kustomize-controller"


async def test_what_git_has_no_more(kube: clients_kube.Client, namespace: str) -> None:
    await apply(kube, config_map(namespace, a="b", c="d"))
    (one,) = await found(kube, wanted(config_map(namespace, a="b")))
    assert [(each.path, each.wanted, each.live, each.manager) for each in one.fields] == [
        ("data.c", "", '"d"', MANAGER)
    ]
    assert not one.is_beside
    assert one.says == "1 field that kustomize-controller applied with another value than Git has now"


async def test_a_missing_object_and_a_kind_that_is_not_served(kube: clients_kube.Client, namespace: str) -> None:
    strange = {"apiVersion": "example.org/v1", "kind": "Strange", "metadata": {"name": "x", "namespace": namespace}}
    both = await found(kube, wanted(config_map(namespace, a="b")), wanted(strange))
    assert [(each.difference, each.says) for each in both] == [
        (DriftKind.MISSING, "it is not there"),
        (DriftKind.MISSING, "it is not there: its kind is not served"),
    ]


async def test_secrets_are_compared_and_not_shown(kube: clients_kube.Client, namespace: str) -> None:
    metadata = {"name": "login", "namespace": namespace}
    value = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": "in-git"}}
    await apply(kube, value)
    assert await found(kube, wanted(value)) == []
    await kube.patch(
        "v1", "Secret", "login", {"stringData": {"password": "by-hand"}}, manager="kubectl-edit", namespace=namespace
    )
    (one,) = await found(kube, wanted(value))
    assert [(each.path, each.wanted, each.live, each.manager) for each in one.fields] == [
        ("data.password", "", "", "kubectl-edit")
    ]


async def test_a_secret_of_a_release_is_its_own_as_it_is_written(kube: clients_kube.Client, namespace: str) -> None:
    """Helm applies stringData as it is: what it becomes is nobody's, and that is no drift."""
    metadata = {"name": "login", "namespace": namespace}
    value = {
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": "in-git", "user": "me"},
    }  # fmt: skip
    owner, manager = ObjectOwner(Party.FLUX, "HelmRelease shop/web"), "helm-controller"
    one = WantedObject(object=Object(value), component="apps", manager=manager, owner=owner)
    await kube.apply(apply_form.marked(value, owner), manager=manager)
    seen = await drift.compare([one], kube, owners={})
    assert (seen.drifted, seen.results[one.id].dry_runs) == ((), 0)
    await kube.patch("v1", "Secret", "login", {"stringData": {"password": "x"}}, manager="kubectl", namespace=namespace)
    (found_one,) = await found(kube, one)
    assert [(each.path, each.manager) for each in found_one.fields] == [("data.password", "kubectl")]

    # What Git has no more stays: nobody owned it. So it is said beforehand.
    less = {**value, "stringData": {"user": "me"}}
    after = await kube.apply(apply_form.marked(less, owner), manager=manager, dry_run=True)
    assert set(after["data"]) == {"password", "user"}
    assert apply_form.lingering(value, owner) == ("password", "user")


async def test_nobody_hides_what_he_did_by_an_annotation(kube: clients_kube.Client, namespace: str) -> None:
    value = config_map(namespace, a="b")
    await apply(kube, value)
    mark = {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}
    body = {"metadata": {"annotations": mark}, "data": {"a": "c"}}
    await kube.patch("v1", "ConfigMap", "settings", body, manager="some-operator", namespace=namespace)
    (one,) = await found(kube, wanted(value, {"kind": "Kustomization"}))
    assert [each.path for each in one.fields] == [
        "data.a",
        "metadata.annotations[kustomize.toolkit.fluxcd.io/reconcile]",
    ]
    assert one.says.endswith("kustomize.toolkit.fluxcd.io/reconcile on it keeps the engine away")


async def test_a_person_whom_the_server_has_forgotten_is_still_one(kube: clients_kube.Client, namespace: str) -> None:
    value = config_map(namespace, a="b")
    await apply(kube, value)
    await kube.patch(
        "v1", "ConfigMap", "settings", {"data": {"mine": "x"}}, manager="kubectl-edit", namespace=namespace
    )
    for number in range(11):
        body = {"metadata": {"annotations": {f"n{number}": "x"}}}
        await kube.patch("v1", "ConfigMap", "settings", body, manager=f"operator-{number}", namespace=namespace)
    (one,) = await found(kube, wanted(value))
    told = {each.path: each.manager for each in one.fields}
    assert told["data.mine"] == "ancient-changes"


async def test_a_scale_that_nobody_owns_is_seen_where_nobody_is_to_scale(
    kube: clients_kube.Client, namespace: str
) -> None:
    value = deployment(namespace)
    del value["spec"]["replicas"]
    await apply(kube, value)
    assert await found(kube, wanted(value)) == []
    await kube.patch(
        "apps/v1", "Deployment", "web", {"spec": {"replicas": 3}}, manager="kubectl", namespace=namespace,
        subresource="scale",
    )  # fmt: skip
    (one,) = await found(kube, wanted(value))
    assert [(each.path, each.live, each.manager) for each in one.fields] == [("spec.replicas", "3", "")]
    assert not one.is_beside
    ignored = {"kind": "Kustomization", "spec": {"ignore": [{"paths": ["/spec/replicas"]}]}}
    seen = await drift.compare([wanted(value, ignored)], kube, owners={})
    assert (seen.drifted, sum(each.dry_runs for each in seen.results.values())) == ((), 0)


async def test_what_cannot_be_changed_is_said_to_be_refused(kube: clients_kube.Client, namespace: str) -> None:
    await apply(kube, deployment(namespace))
    other = copy.deepcopy(deployment(namespace))
    other["spec"]["selector"]["matchLabels"] = {"app": "other"}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    (one,) = await found(kube, wanted(other))
    assert one.difference == DriftKind.CHANGED
    assert "field is immutable" in one.says


async def test_an_autoscaler_has_the_replicas(kube: clients_kube.Client, namespace: str) -> None:
    value = deployment(namespace)
    await apply(kube, value)
    metadata = {"name": "web", "namespace": namespace}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata,
              "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3}}  # fmt: skip
    await apply(kube, scaler)
    await kube.patch("apps/v1", "Deployment", "web", {"spec": {"replicas": 2}}, manager="hpa", namespace=namespace)
    seen = await drift.compare([wanted(value), wanted(scaler)], kube, owners={})
    assert seen.drifted == ()
    assert sum(each.judgement.ignored for each in seen.results.values()) == 1


@pytest.mark.parametrize(
    ("definition", "ignored"),
    [
        ({"kind": "Kustomization", "spec": {"ignore": [{"paths": ["/data/a"]}]}}, 1),
        ({"kind": "Kustomization", "spec": {"ignore": [{"paths": ["/data/a"], "target": {"kind": "Secret"}}]}}, None),
        ({"kind": "HelmRelease", "spec": {"driftDetection": {"ignore": [{"paths": ["/data"]}]}}}, 1),
        ({"kind": "Application", "spec": {"ignoreDifferences": [{"kind": "ConfigMap", "jsonPointers": ["/data/a"]}]}},
         1),
        ({"kind": "Application",
          "spec": {"ignoreDifferences": [{"kind": "ConfigMap", "managedFieldsManagers": ["someone"]}]}}, 1),
    ],
)  # fmt: skip
async def test_what_is_declared_is_not_looked_at(
    kube: clients_kube.Client, namespace: str, definition: Mapping[str, Any], ignored: int | None
) -> None:
    value = config_map(namespace, a="b")
    await apply(kube, value)
    await kube.patch("v1", "ConfigMap", "settings", {"data": {"a": "c"}}, manager="someone", namespace=namespace)
    seen = await drift.compare([wanted(value, definition)], kube, owners={})
    assert len(seen.drifted) == (ignored is None)
    assert sum(each.judgement.ignored for each in seen.results.values()) == (ignored or 0)


async def test_what_an_engine_applied_and_git_has_no_more_is_extra(kube: clients_kube.Client, namespace: str) -> None:
    owner = ObjectOwner(Party.FLUX, f"Kustomization {namespace}/apps")
    for name in ("settings", "old"):
        await kube.apply(apply_form.marked(config_map(namespace, name, a="b"), owner), manager=MANAGER)
    # A copy of the labels by somebody else is not the engine's word.
    await kube.apply(apply_form.marked(config_map(namespace, "copied", a="b"), owner), manager="an-operator")
    value = dataclasses.replace(wanted(config_map(namespace, a="b")), owner=owner)
    seen = await drift.compare([value], kube, owners={owner: "apps"})
    assert [(each.id.name, each.difference) for each in seen.drifted] == [("old", DriftKind.EXTRA)]
    # What says itself that it stays is not too much.
    for name, mark in (("claim", {"kustomize.toolkit.fluxcd.io/prune": "Disabled"}),
                       ("chart", {"helm.sh/resource-policy": "keep"}),
                       ("synced", {"argocd.argoproj.io/sync-options": "Validate=false, Prune=false"})):  # fmt: skip
        staying = config_map(namespace, name, a="b")
        staying["metadata"]["annotations"] = mark
        await kube.apply(apply_form.marked(staying, owner), manager=MANAGER)
    again = await drift.compare([value], kube, owners={owner: "apps"})
    assert [each.id.name for each in again.drifted] == ["old"]
    other = ObjectOwner(Party.FLUX, f"Kustomization {namespace}/other")
    assert (await drift.compare([value], kube, owners={other: "apps"})).drifted == ()


async def test_extra_objects_of_a_version_that_its_group_does_not_prefer(
    kube: clients_kube.Client, namespace: str
) -> None:
    group = f"{namespace}.example.org"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}

    async def define(kind: str, version: str) -> None:
        plural = f"{kind.lower()}s"
        names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
        versions = [{"name": version, "served": True, "storage": True, "schema": schema}]
        spec = {"group": group, "names": names, "scope": "Namespaced", "versions": versions}
        crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
               "metadata": {"name": f"{plural}.{group}"}, "spec": spec}  # fmt: skip
        await kube.apply(crd, manager="tests")

    await define("Preferred", "v2")
    await define("Announced", "v2alpha1")
    owner = ObjectOwner(Party.FLUX, f"Kustomization {namespace}/apps")
    one = {"apiVersion": f"{group}/v2alpha1", "kind": "Announced", "metadata": {"name": "a", "namespace": namespace}}

    async def is_served() -> bool:
        catalog = await kube.catalog(refresh=True)
        return catalog.preferred.get(group) == "v2" and (f"{group}/v2alpha1", "Announced") in {
            (each.api_version, each.kind) for each in catalog.resources.values()
        }

    await until(is_served, "both kinds to be served")
    await kube.apply(apply_form.marked(one, owner), manager=MANAGER)
    seen = await drift.compare([], kube, owners={owner: "apps"})
    assert [(each.id.kind, each.difference) for each in seen.drifted] == [("Announced", DriftKind.EXTRA)]


@pytest.mark.parametrize("count", [1, 5])
async def test_a_kind_that_may_not_be_read_is_unread_and_the_rest_is_compared(
    lab: running_lab.Lab, kube: clients_kube.Client, namespace: str, count: int
) -> None:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "patch", "create"]}]
    meta = {"name": namespace}
    rbac = "rbac.authorization.k8s.io"
    await kube.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules},
                     manager="tests")  # fmt: skip
    subject = {"kind": "User", "name": namespace, "apiGroup": rbac}
    reference = {"apiGroup": rbac, "kind": "ClusterRole", "name": namespace}
    await kube.apply({"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": meta,
                      "subjects": [subject], "roleRef": reference}, manager="tests")  # fmt: skip
    secrets = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"login-{each}", "namespace": namespace}}
        for each in range(count)
    ]
    await apply(kube, *secrets, config_map(namespace, a="b"))
    await kube.patch("v1", "ConfigMap", "settings", {"data": {"a": "c"}}, manager="kubectl-edit", namespace=namespace)
    acting = dataclasses.replace(clients_kube.load(lab.kubeconfig), impersonation=Impersonation(user=namespace))
    given = [wanted(each) for each in (*secrets, config_map(namespace, a="b"))]
    async with clients_kube.Client(acting) as limited:
        seen = await drift.compare(given, limited, owners=dict.fromkeys(NOBODY, "apps"))
    assert [each.id.kind for each in seen.drifted] == ["ConfigMap"]
    unread = [each.unread for each in seen.results.values() if each.unread]
    assert len(unread) == count
    assert f"Secret {namespace}/login-0 could not be read" in unread[0]
    assert 0 < len(seen.unread) == len(set(seen.unread)), "each kind is told once, whoever's objects were looked for"
    await kube.delete(f"{rbac}/v1", "ClusterRoleBinding", namespace)
    await kube.delete(f"{rbac}/v1", "ClusterRole", namespace)
