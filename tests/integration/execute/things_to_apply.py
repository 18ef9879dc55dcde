"""Objects of many kinds for tests that apply them, and who wrote to them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.clients import kube
from firstlight.execute.world import RunPrograms, World
from firstlight.model import work
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret

MANAGER = "kustomize-controller"


async def unresolved(reference: str) -> Secret:
    raise AssertionError(reference)


def world(client: kube.Client, tmp_path: Path) -> tuple[World, list[str]]:
    told: list[str] = []
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    made = World(cluster=cluster, programs=RunPrograms(), resolve=unresolved, state=tmp_path)
    made.tell = lambda step, text: told.append(text)
    made._kube = client
    return made, told


def config_map(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data,
    }  # fmt: skip


def deployment(namespace: str, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "main", "image": "registry.example/main:1",
        "ports": [{"containerPort": 53, "protocol": "UDP", "name": "dns"}, {"containerPort": 53, "name": "dns-tcp"}],
        "env": [
            {"name": "EMPTY", "value": ""},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        ],
        "resources": {"limits": {"cpu": "1000m", "memory": "0.5Gi"}, "requests": {"cpu": 0.1, "memory": "64Mi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": False}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": 0},
        "securityContext": {},
    }  # fmt: skip
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "main", "namespace": namespace},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "main"}},
            "template": {
                "metadata": {"labels": {"app": "main"}, "creationTimestamp": None},
                "spec": {
                    "containers": [container], "nodeSelector": {"disk": "fast"}, "hostNetwork": False,
                    "tolerations": [{"operator": "Exists"}], "volumes": [{"name": "data", "emptyDir": {}}],
                },
            },
            **spec,
        },
    }  # fmt: skip


def definition(plural: str, *versions: str, **annotations: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    group = f"{plural}.example.org"
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": annotations},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": plural.capitalize(), "plural": plural},
            "versions": [
                {"name": each, "served": True, "storage": each == versions[-1], "schema": schema} for each in versions
            ],
        },
    }  # fmt: skip


def others(namespace: str) -> list[dict[str, Any]]:
    """Kinds with defaults, quantities and atomic lists of their own."""
    place = {"namespace": namespace}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
             "resources": {"requests": {"storage": "1024Mi"}}}}  # fmt: skip
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "main", **place}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "main", **place, "labels": None},
         "spec": {"selector": {"app": "main"}, "ports": [{"port": 80, "name": "a"}, {"port": 443, "name": "b"}]}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "main", **place, "annotations": {}},
         "stringData": {"key": "hunter2"}, "data": {"other": "YQ=="}},
        {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "main", **place},
         "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}], "from": [{"podSelector": {}}]}]}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "main", **place},
         "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "main", **place},
         "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "main"}}}, "status": {}},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "main", **place},
         "spec": {"replicas": 0, "serviceName": "main", "selector": {"matchLabels": {"app": "set"}},
                  "volumeClaimTemplates": [claim], "template": {
                      "metadata": {"labels": {"app": "set"}},
                      "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]}}}},
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "main", **place},
         "spec": {"schedule": "0 0 * * *", "suspend": True, "jobTemplate": {"spec": {"template": {"spec": {
             "restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.example/main:1"}]}}}}}},
    ]  # fmt: skip


def task(*values: Mapping[str, Any], manager: str = MANAGER, **more: Any) -> work.Apply:
    return work.Apply(objects=tuple(map(Object, values)), manager=manager, **more)


async def written(client: kube.Client, values: list[dict[str, Any]]) -> list[Any]:
    """What tells of every write but those of controllers: the entries of all others, with their times."""
    found = []
    for value in values:
        metadata = value["metadata"]
        live = await client.get(
            value["apiVersion"], value["kind"], metadata["name"], namespace=metadata.get("namespace")
        )
        entries = live["metadata"].get("managedFields") or ()
        found.append([each for each in entries if each["manager"] not in ("kube-controller-manager", "simulator")])
    return found
