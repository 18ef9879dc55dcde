"""The kinds of Flux, told by group and kind; versions come and go."""

from collections.abc import Mapping
from typing import Any

from firstlight.repo.manifest import Manifest

KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
HELM = "helm.toolkit.fluxcd.io"
SOURCE = "source.toolkit.fluxcd.io"
OPERATOR = "fluxcd.controlplane.io"

_SOURCES = {"GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket", "ExternalArtifact"}


def is_kustomization(manifest: Manifest) -> bool:
    """Whether it is a Kustomization of Flux, and not a file of kustomize."""
    return manifest.id.kind == "Kustomization" and manifest.id.group == KUSTOMIZE


def is_helm_release(manifest: Manifest) -> bool:
    """Whether it is a HelmRelease."""
    return manifest.id.kind == "HelmRelease" and manifest.id.group == HELM


def is_source(manifest: Manifest) -> bool:
    """Whether it says where something is fetched from."""
    return manifest.id.group == SOURCE and manifest.id.kind in _SOURCES


def is_instance(manifest: Manifest) -> bool:
    """Whether it is a FluxInstance of the flux-operator."""
    return manifest.id.kind == "FluxInstance" and manifest.id.group == OPERATOR


def is_resource_set(manifest: Manifest) -> bool:
    """Whether it is a ResourceSet of the flux-operator, which makes objects of templates."""
    return manifest.id.kind == "ResourceSet" and manifest.id.group == OPERATOR


def mapping(value: Any) -> Mapping[str, Any]:
    """A value that should be a mapping; an empty one if it is something else."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """A value that should be a list; an empty one if it is something else."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """A value that should be a text, or a number that was meant as one."""
    return "" if value is None or isinstance(value, dict | list) else str(value)


def spec(manifest: Manifest) -> Mapping[str, Any]:
    """The spec of an object."""
    return mapping(manifest.value.get("spec"))


def called(manifest: Manifest) -> str:
    """An object as messages name it: ``flux-system/apps``."""
    return "/".join(each for each in (manifest.id.namespace, manifest.id.name) if each)
