"""Many objects, with 30 that come back in another way than they are written, and 20 that somebody changes."""

import os
from collections.abc import Iterator
from typing import Any

from firstlight.model.owner import ObjectOwner, Party
from firstlight.ownership import apply_form

NAMESPACE = "bench"
LIMITED = "bench-limited"
"""Where quotas are, so that they limit nothing else."""
SIZES = tuple(int(each) for each in os.environ.get("BENCH_SIZES", "2000,10000").split(","))
OWNER = ObjectOwner(Party.FLUX, "Kustomization flux-system/bench")
MANAGER = "kustomize-controller"
CHANGES = 20
_SHARES = {"ConfigMap": 0.45, "Secret": 0.1, "ServiceAccount": 0.1, "Role": 0.15, "Service": 0.1, "Deployment": 0.1}


def objects(count: int) -> list[dict[str, Any]]:
    """So many objects, as Git has them."""
    traps = list(_traps())
    rest = count - len(traps)
    counts = {kind: int(share * rest) for kind, share in _SHARES.items()}
    counts["ConfigMap"] += rest - sum(counts.values())
    return [*traps, *(_plain(kind, number) for kind, many in counts.items() for number in range(many))]


def marked(value: dict[str, Any]) -> dict[str, Any]:
    """As Flux applies it."""
    return apply_form.marked(value, OWNER)


def edits(count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """What somebody changes: an object, and a merge patch of it; nothing to delete it."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for each in objects(count)[30:]:
        by_kind.setdefault(each["kind"], []).append(each)
    for number in range(5):
        yield by_kind["ConfigMap"][number * 7], {"data": {"key-3": "by hand"}}
    for number in range(3):
        yield by_kind["Secret"][number * 3], {"data": {"key": "Ynk="}}
    for number in range(3):
        yield by_kind["Service"][number * 2], {"spec": {"selector": {"app": "by-hand"}}}
    yield by_kind["Deployment"][0], {"spec": {"replicas": 1}}
    yield by_kind["Deployment"][1], {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
    yield by_kind["Deployment"][2], {"metadata": {"labels": {"app.kubernetes.io/name": "other"}}}
    yield by_kind["Deployment"][3], {"spec": {"paused": True}}
    yield by_kind["Role"][0], {"rules": []}
    yield by_kind["Role"][1], {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    for kind in ("ConfigMap", "Role", "ServiceAccount"):
        yield by_kind[kind][-1], None


def _plain(kind: str, number: int) -> dict[str, Any]:
    name = f"{kind.lower()}-{number}"
    base: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": _metadata(name)}
    match kind:
        case "ConfigMap":
            return {**base, "data": {f"key-{n}": f"value {n} of {number}" for n in range(10)}}
        case "Secret":
            return {**base, "data": {"key": "dmFsdWU="}}
        case "ServiceAccount":
            return base
        case "Role":
            rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
            return {**base, "apiVersion": "rbac.authorization.k8s.io/v1", "rules": [rule]}
        case "Service":
            ports = [{"name": "http", "port": 80}, {"name": "https", "port": 443}]
            return {**base, "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": ports}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
    return _deployment(name, {}, strategy=strategy, paused=False)


def _metadata(name: str, namespace: str = NAMESPACE) -> dict[str, Any]:
    return {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/name": name}}


def _pod(name: str, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "registry.example.org/main:1", **container}]
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **spec}}


def _deployment(
    name: str, container: dict[str, Any], *, pod: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    whole = {
        "replicas": 0,
        "selector": {"matchLabels": {"app": name}},
        "template": _pod(name, container, **(pod or {})),
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _metadata(name), "spec": {**whole, **spec}}


def _traps() -> Iterator[dict[str, Any]]:
    """What the server writes in another way: quantities, empties, nulls, defaults, times."""
    containers: list[dict[str, Any]] = [
        {"resources": {"limits": {"cpu": "1000m"}}},
        {"resources": {"limits": {"memory": "1024Mi"}}},
        {"resources": {"requests": {"cpu": 0.5}}},
        {"resources": {"requests": {"memory": 1073741824}}},
        {"resources": {"limits": {"memory": "1.5Gi"}}},
        {"resources": {}},
        {"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]},
        {"env": [{"name": "EMPTY", "value": ""}, {"name": "NULL", "value": None}]},
        {"env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]},
        {"env": [{"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]},
        {"livenessProbe": {"httpGet": {"port": "http"}, "initialDelaySeconds": 0}},
        {"readinessProbe": {"tcpSocket": {"port": 80}}, "securityContext": {}},
        {"command": [], "args": None},
        {"tty": False, "stdin": False},
    ]  # fmt: skip
    for number, each in enumerate(containers):
        yield _deployment(f"trap-{number}", each)
    yield _deployment("trap-pod", {}, pod={"tolerations": [], "nodeSelector": {}, "hostNetwork": False})
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {"sizeLimit": "1024Mi"}}]
    yield _deployment("trap-volumes", {}, pod={"volumes": volumes, "securityContext": {}})
    percent = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}}
    yield _deployment("trap-percent", {}, strategy=percent, minReadySeconds=0, paused=False)
    created = _deployment("trap-created", {})
    created["metadata"]["creationTimestamp"] = None
    created["metadata"]["annotations"] = {}
    yield created
    yield from _other_traps()


def _other_traps() -> Iterator[dict[str, Any]]:
    def made(version: str, kind: str, namespace: str = NAMESPACE, **rest: Any) -> dict[str, Any]:
        return {"apiVersion": version, "kind": kind, "metadata": _metadata(f"trap-{kind.lower()}", namespace), **rest}

    yield made("v1", "Secret", stringData={"password": "as text"})
    ports = [{"port": 80, "targetPort": "http"}]
    yield made("v1", "Service", spec={"clusterIP": "None", "ports": ports, "selector": {"a": "x"}})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
    yield made("v1", "PersistentVolumeClaim", spec={**claim, "storageClassName": "none"})
    yield made("v1", "ResourceQuota", LIMITED, spec={"hard": {"limits.cpu": "2000m", "pods": 10}})
    yield made("v1", "LimitRange", LIMITED, spec={"limits": [{"type": "Container", "default": {"cpu": "1000m"}}]})
    yield made("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}, "ingress": [{}]})
    subject = {"kind": "ServiceAccount", "name": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role-0"}
    yield made(
        "rbac.authorization.k8s.io/v1", "RoleBinding", roleRef=role, subjects=[{**subject, "namespace": "bench"}]
    )
    job = {"spec": {"template": _pod("trap-job", {}, restartPolicy="Never")}}
    yield made("batch/v1", "CronJob", spec={"schedule": "0 0 * * *", "suspend": True, "jobTemplate": job})
    template = {"metadata": {"name": "data"}, "spec": claim}
    stateful = {"replicas": 0, "serviceName": "x", "selector": {"matchLabels": {"app": "trap-set"}},
                "template": _pod("trap-set", {}), "volumeClaimTemplates": [template]}  # fmt: skip
    yield made("apps/v1", "StatefulSet", spec=stateful)
    times = {
        "holderIdentity": "x",
        "acquireTime": "2026-01-01T02:00:00.500000+02:00",
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }
    yield made("coordination.k8s.io/v1", "Lease", spec=times)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nothing"}
    used = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    scaling = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [{"type": "Resource", "resource": used}]}
    yield made("autoscaling/v2", "HorizontalPodAutoscaler", spec=scaling)
    backend = {"service": {"name": "x", "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    yield made("networking.k8s.io/v1", "Ingress", spec={"rules": [{"host": "a.example.org", "http": {"paths": paths}}]})
