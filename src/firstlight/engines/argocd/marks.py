"""The annotation or label by which Argo CD marks what it applies."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, sequence
from firstlight.engines.adapter import EngineMark
from firstlight.model import argocd_names
from firstlight.model.cluster import Engine
from firstlight.model.component import ObjectId

INSTANCES = (argocd_names.INSTANCE_LABEL, "app.kubernetes.io/instance")
"""The labels that it uses instead of the annotation, as it is set up."""


def marks(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[EngineMark, ...]:
    """Return the mark on a live object, if it has one.

    Bootstrap may have applied it as Argo CD's manager itself. So a label that charts use as well counts only where that
    manager owns it, and bootstrap does not want it.

    Args:
        live: The object.
        wanted: What bootstrap would apply.
    """
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    app, _, what = str(annotations.get(argocd_names.TRACKING_ID_ANNOTATION) or "").partition(":")
    if app and _is_itself(what, ObjectId.of(live)):
        return (_mark(app),)
    own = mapping(wanted, "metadata", "labels")
    for label in INSTANCES:
        if labels.get(label) and own.get(label) != labels[label] and _is_owned(live, label):
            return (_mark(labels[label]),)
    return ()


def _mark(app: object) -> EngineMark:
    return EngineMark(Engine.ARGOCD, f"{argocd_names.APPLICATION} {app}")


def _is_owned(live: Mapping[str, Any], label: str) -> bool:
    """Whether a label is one that Argo CD's manager applied."""
    return any(
        f"f:{label}" in mapping(each, "fieldsV1", "f:metadata", "f:labels")
        for each in sequence(live, "metadata", "managedFields")
        if mapping(each).get("manager") == argocd_names.FIELD_MANAGER
    )


def _is_itself(what: str, id: ObjectId) -> bool:
    """Whether a tracking id is of the object that carries it, and not a copy; a namespace may be implied."""
    group_kind, _, place = what.partition(":")
    namespace, _, name = place.partition("/")
    return group_kind == f"{id.group}/{id.kind}" and name == id.name and (not id.namespace or namespace == id.namespace)
