"""The labels by which Flux's controllers mark what they apply."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping
from firstlight.engines.adapter import EngineMark
from firstlight.model import flux_names
from firstlight.model.cluster import Engine

MARKS = {
    flux_names.KUSTOMIZE_GROUP: flux_names.KUSTOMIZATION,
    flux_names.HELM_GROUP: flux_names.HELM_RELEASE,
    flux_names.OPERATOR_GROUP: flux_names.FLUX_INSTANCE,
    flux_names.RESOURCE_SET_LABEL_PREFIX: flux_names.RESOURCE_SET,
}
"""Flux's controllers put ``<group>/name`` and ``<group>/namespace`` on everything that they apply."""


def marks(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[EngineMark, ...]:
    """Return the marks on a live object; what bootstrap wants of it has none that could be mistaken for one."""
    labels = mapping(live, "metadata", "labels")
    found = []
    for group, kind in MARKS.items():
        if name := labels.get(f"{group}/name"):
            namespace = labels.get(f"{group}/namespace") or ""
            found.append(EngineMark(Engine.FLUX, f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"))
    return tuple(found)
