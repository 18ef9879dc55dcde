"""Objects as an engine applies them: Git's render with the engine's own marks."""

import copy
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner
from firstlight.ownership import normal_values

_LABELS = {
    "Kustomization": "kustomize.toolkit.fluxcd.io",
    "HelmRelease": "helm.toolkit.fluxcd.io",
    "FluxInstance": "fluxcd.controlplane.io",
    "ResourceSet": "resourceset.fluxcd.controlplane.io",
}
"""Flux's controllers put ``<group>/name`` and ``<group>/namespace`` on everything that they apply."""
_HELM = "meta.helm.sh/release-"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_TRACKING = "argocd.argoproj.io/tracking-id"
_INSTANCES = ("argocd.argoproj.io/instance", "app.kubernetes.io/instance")


def marked(wanted: Mapping[str, Any], owner: ObjectOwner, *, live: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An object as its owner applies it.

    Args:
        wanted: As Git has it.
        owner: Who of the engine has it.
        live: The object in the cluster, whose marks are taken where it has them: how a release is called and how
            Argo CD tracks are settings of those.
    """
    value = {name: copy.deepcopy(part) for name, part in normal_values.without_string_data(wanted).items()}
    value.pop("status", None)
    labels, annotations = _marks(value, owner, live or {})
    metadata = value["metadata"] = dict(mapping(value, "metadata"))
    for name, marks in (("labels", labels), ("annotations", annotations)):
        if marks:
            metadata[name] = {**mapping(metadata, name), **marks}
    return value


def _marks(
    value: Mapping[str, Any], owner: ObjectOwner, live: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and the annotations of an owner."""
    kind, _, called = owner.name.partition(" ")
    namespace, _, name = called.rpartition("/")
    if kind == "Application":
        return _argocd(value, called, live)
    if kind not in _LABELS:
        return {}, {}
    labels = {f"{_LABELS[kind]}/name": name, f"{_LABELS[kind]}/namespace": namespace}
    if kind != "HelmRelease":
        return labels, {}
    seen = mapping(live, "metadata", "annotations")
    if value.get("kind") == "CustomResourceDefinition" and f"{_HELM}name" not in seen:
        return labels, {}  # those of a chart's own directory are no part of its release
    annotations = {
        f"{_HELM}name": str(seen.get(f"{_HELM}name") or name),
        f"{_HELM}namespace": str(seen.get(f"{_HELM}namespace") or namespace),
    }
    return {**labels, _MANAGED_BY: "Helm"}, annotations


def _argocd(value: Mapping[str, Any], app: str, live: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    tracked = str(annotations.get(_TRACKING) or "")
    found = {name: str(labels[name]) for name in _INSTANCES if labels.get(name) == app}
    if tracked.partition(":")[0].rpartition("_")[2] == app.rpartition("/")[2]:
        own = {name: each for name, each in found.items() if name == _INSTANCES[0]}
        return own, {_TRACKING: tracked}
    if found:
        return found, {}
    id = ObjectId.of(value)
    if id.kind == "CustomResourceDefinition":
        return {}, {}  # Argo CD knows them by their names alone
    return {}, {_TRACKING: f"{app}:{id.group}/{id.kind}:{id.namespace}/{id.name}"}
