"""Objects that failures are made of."""

import base64
from typing import Any

APPS = "apps/v1"


def deployment(
    name: str, space: str, *, image: str = "example.org/web:1", replicas: int = 1, **pod: Any
) -> dict[str, Any]:
    """A Deployment."""
    labels = {"app": name}
    container = {"name": name, "image": image, **pod.pop("container", {})}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": APPS, "kind": "Deployment", "metadata": {"name": name, "namespace": space}, "spec": spec}


def service(name: str, space: str, **spec: Any) -> dict[str, Any]:
    """A Service of the pods of the same name."""
    return {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": space},
        "spec": {"selector": {"app": name}, "ports": [{"port": 443, "targetPort": 8443}], **spec},
    }  # fmt: skip


def validating(
    name: str, service: tuple[str, str], *, space: str, resources: list[str], ca: str = "", **metadata: Any
) -> dict[str, Any]:
    """A webhook that is asked about objects of one namespace, by a Service."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": resources}
    hook = {
        "name": f"{name}.example.org", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 2,
        "failurePolicy": "Fail", "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
        "clientConfig": {"service": {"namespace": service[0], "name": service[1], "path": "/"},
                         **({"caBundle": base64.b64encode(ca.encode()).decode()} if ca else {})},
    }  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name, **metadata}, "webhooks": [hook],
    }  # fmt: skip


def config_map(name: str, space: str, **metadata: Any) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space, **metadata}}
