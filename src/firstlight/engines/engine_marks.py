"""Marks that engines leave on what is theirs: from then on bootstrap only reads it."""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.model import argocd_names, flux_names
from firstlight.model.cluster import Engine
from firstlight.model.component import ObjectId

FLUX = {
    flux_names.KUSTOMIZE_GROUP: flux_names.KUSTOMIZATION,
    flux_names.HELM_GROUP: flux_names.HELM_RELEASE,
    flux_names.OPERATOR_GROUP: flux_names.FLUX_INSTANCE,
    flux_names.RESOURCE_SET_LABEL_PREFIX: flux_names.RESOURCE_SET,
}
"""Flux's controllers put ``<group>/name`` and ``<group>/namespace`` on everything that they apply."""
INSTANCES = (argocd_names.INSTANCE_LABEL, "app.kubernetes.io/instance")
"""The labels that it uses instead, as it is set up."""
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
"""What Go takes for true."""
_LONGEST = 53
"""Letters of the name of a release; Helm allows no more."""


@dataclasses.dataclass(frozen=True, slots=True)
class EngineMark:
    """Whose an object is."""

    engine: Engine
    owner: str
    """``Kustomization flux-system/cilium``, ``Application cilium``."""


def of(live: Mapping[str, Any], *, wanted: Mapping[str, Any] | None = None) -> EngineMark | None:
    """The mark of an engine on a live object; None if it has none.

    Bootstrap may have applied it as Argo CD's manager itself. So a label that charts use as well counts only where that
    manager owns it, and bootstrap does not want it.

    Args:
        live: The object.
        wanted: What bootstrap would apply.
    """
    return next(iter(every(live, wanted=wanted)), None)


def every(live: Mapping[str, Any], *, wanted: Mapping[str, Any] | None = None) -> tuple[EngineMark, ...]:
    """All marks on a live object: two mean that two engines, or two owners of one, apply it or have applied it.

    Args:
        live: The object.
        wanted: What bootstrap would apply.
    """
    metadata = live.get("metadata") or {}
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    found = []
    for group, kind in FLUX.items():
        if name := labels.get(f"{group}/name"):
            namespace = labels.get(f"{group}/namespace") or ""
            found.append(EngineMark(Engine.FLUX, f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"))
    app, _, what = str(annotations.get(argocd_names.TRACKING_ID_ANNOTATION) or "").partition(":")
    if app and _is_itself(what, ObjectId.of(live)):
        return (*found, EngineMark(Engine.ARGOCD, f"Application {app}"))
    own = ((wanted or {}).get("metadata") or {}).get("labels") or {}
    for label in INSTANCES:
        if labels.get(label) and own.get(label) != labels[label] and _is_owned(metadata, label):
            return (*found, EngineMark(Engine.ARGOCD, f"Application {labels[label]}"))
    return tuple(found)


def is_suspended(holder: Mapping[str, Any]) -> bool:
    """Whether somebody lets a Kustomization, HelmRelease or Application rest."""
    is_skipped = (
        str(mapping(holder, "metadata", "annotations").get(argocd_names.SKIP_RECONCILE_ANNOTATION) or "") in _TRUE
    )
    return mapping(holder, "spec").get("suspend") is True or is_skipped


def release_of(
    releases: Iterable[Mapping[str, Any]], *, name: str, namespace: str, is_kept: bool = False
) -> EngineMark | None:
    """The HelmRelease that has a Helm release, or is about to take it; None if there is none.

    One with a history of it has it. One without any takes it when its controller comes to it, unless it is suspended.
    A history stays where bootstrap has taken the release back: then who rests does not have it.

    Args:
        releases: HelmReleases of the cluster.
        name: Of the Helm release.
        namespace: Where it keeps its Secrets.
        is_kept: Whether the repo says that bootstrap keeps the release; without that whoever rests still has it.
    """
    for each in releases:
        if is_kept and is_suspended(each):
            continue
        metadata, spec, status = each.get("metadata") or {}, each.get("spec") or {}, each.get("status") or {}
        own = str(metadata.get("namespace") or "")
        history = status.get("history") or ()
        is_coming = not history and not spec.get("suspend") and release_name(each) == name
        if is_coming and (spec.get("storageNamespace") or own) == namespace:
            return EngineMark(Engine.FLUX, f"HelmRelease {own}/{metadata.get('name')}")
        for entry in history:
            if (
                entry.get("name") == name
                and (status.get("storageNamespace") or entry.get("namespace") or own) == namespace
            ):
                return EngineMark(Engine.FLUX, f"HelmRelease {own}/{metadata.get('name')}")
    return None


def release_name(release: Mapping[str, Any]) -> str:
    """The Helm release of a HelmRelease, as Flux calls it."""
    spec = mapping(release, "spec")
    parts = (spec.get("targetNamespace"), mapping(release, "metadata").get("name"))
    name = str(spec.get("releaseName") or "-".join(str(each) for each in parts if each))
    return name if len(name) <= _LONGEST else f"{name[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _is_owned(metadata: Mapping[str, Any], label: str) -> bool:
    """Whether a label is one that Argo CD's manager applied."""
    for each in metadata.get("managedFields") or ():
        if each.get("manager") == argocd_names.FIELD_MANAGER:
            fields = ((each.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
            if f"f:{label}" in fields:
                return True
    return False


def _is_itself(what: str, id: ObjectId) -> bool:
    """Whether a tracking id is of the object that carries it, and not a copy; a namespace may be implied."""
    group_kind, _, place = what.partition(":")
    namespace, _, name = place.partition("/")
    return group_kind == f"{id.group}/{id.kind}" and name == id.name and (not id.namespace or namespace == id.namespace)
