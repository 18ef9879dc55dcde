"""2,000 objects of many kinds, 40 of them CRDs: what the contestants of ``bench.apply`` bring into a cluster."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMESPACE = "bench"
DEFINITIONS = 40
PART = float(os.environ.get("BENCH_PART", "1"))
"""Of the objects, for a quick look."""
_ALL = {"ConfigMap": 800, "Secret": 200, "ServiceAccount": 100, "Role": 150, "Service": 200, "Deployment": 110}
COUNTS = {kind: int(count * PART) for kind, count in _ALL.items()}
CUSTOM = max(DEFINITIONS, int(400 * PART))
"""Custom resources: ten of each kind."""


def definitions() -> list[dict[str, Any]]:
    spec = {"type": "object", "properties": {
        "size": {"type": "string"}, "replicas": {"type": "integer", "default": 1},
        "rules": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }}  # fmt: skip
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"thing{n}s.bench.example.org"},
            "spec": {
                "group": "bench.example.org", "scope": "Namespaced",
                "names": {"kind": f"Thing{n}", "plural": f"thing{n}s", "singular": f"thing{n}",
                          "listKind": f"Thing{n}List"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
            },
        }
        for n in range(DEFINITIONS)
    ]  # fmt: skip


def others() -> list[dict[str, Any]]:
    made = [_object(kind, number) for kind, count in COUNTS.items() for number in range(count)]
    return [*made, *_custom()]


def write(folder: Path) -> None:
    """Files for each of the contestants: lists for kubectl and kapp, a chart for Helm."""
    crds, rest = definitions(), others()
    for name, items in (("crds", crds), ("rest", rest), ("all", [*crds, *rest])):
        (folder / f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    chart = folder / "chart"
    (chart / "crds").mkdir(parents=True)
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: bench\nversion: 1.0.0\n")
    for each in crds:
        (chart / "crds" / f"{each['metadata']['name']}.yaml").write_text(json.dumps(each))
    (chart / "objects.yaml").write_text("\n---\n".join(json.dumps(each) for each in rest))
    (chart / "templates/all.yaml").write_text('{{ .Files.Get "objects.yaml" }}\n')


def _custom() -> Iterator[dict[str, Any]]:
    for number in range(CUSTOM):
        rules = [{"from": f"10.0.{n}.0/24", "to": {"port": n}} for n in range(3)]
        yield {
            "apiVersion": "bench.example.org/v1", "kind": f"Thing{number % DEFINITIONS}",
            "metadata": _metadata(f"thing-{number}"), "spec": {"size": f"{number}Gi", "rules": rules},
        }  # fmt: skip


def _metadata(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/name": name}}


def _object(kind: str, number: int) -> dict[str, Any]:
    name = f"{kind.lower()}-{number}"
    base = {"kind": kind, "metadata": _metadata(name)}
    match kind:
        case "ConfigMap":
            return {"apiVersion": "v1", **base, "data": {f"key-{n}": f"value {n} of {number}" for n in range(10)}}
        case "Secret":
            return {"apiVersion": "v1", **base, "data": {"key": "dmFsdWU="}}
        case "ServiceAccount":
            return {"apiVersion": "v1", **base}
        case "Role":
            rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
            return {"apiVersion": "rbac.authorization.k8s.io/v1", **base, "rules": [rule]}
        case "Service":
            ports = [{"name": "http", "port": 80, "protocol": "TCP"}, {"name": "https", "port": 443, "protocol": "TCP"}]
            # Without an address: the lab has no 2,000 of them.
            spec = {"clusterIP": "None", "selector": {"app": name}, "ports": ports}
            return {"apiVersion": "v1", **base, "spec": spec}
    container = {
        "name": "main", "image": "registry.example/main:1", "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "env": [{"name": f"KEY_{n}", "value": str(n)} for n in range(5)],
        "resources": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "10m"}},
    }  # fmt: skip
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    whole = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": pod}
    return {"apiVersion": "apps/v1", **base, "spec": whole}
