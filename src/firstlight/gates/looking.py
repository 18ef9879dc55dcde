"""What to watch, by what an object is called; and in which version a kind is asked for."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.model.component import ObjectId
from firstlight.model.observation import Look

NODES = Look(api_version="v1", kind="Node")
"""All of them; few gates can judge without."""
_VERSIONS = {
    "": "v1",
    "apps": "v1",
    "batch": "v1",
    "discovery.k8s.io": "v1",
    "apiextensions.k8s.io": "v1",
    "admissionregistration.k8s.io": "v1",
    "kustomize.toolkit.fluxcd.io": "v1",
    "helm.toolkit.fluxcd.io": "v2",
    "source.toolkit.fluxcd.io": "v1",
    "fluxcd.controlplane.io": "v1",
    "argoproj.io": "v1alpha1",
    "cert-manager.io": "v1",
    "external-secrets.io": "v1",
}
"""Asked for where no rendered object says a version."""


def at(identity: ObjectId, declared: Mapping[str, Any] | None = None, *, with_content: bool = True) -> Look:
    """The look at one object; its version is the one that it was rendered with."""
    version = text(declared, "apiVersion")
    if not version:
        found = _VERSIONS.get(identity.group, "v1")
        version = f"{identity.group}/{found}" if identity.group else found
    return Look(
        api_version=version,
        kind=identity.kind,
        namespace=identity.namespace,
        name=identity.name,
        with_content=with_content,
    )


def short(identity: ObjectId) -> str:
    """An object without its kind: ``cert-manager/cert-manager-webhook``."""
    return f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
