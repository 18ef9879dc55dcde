"""What engines do to all objects alike: namespaces for those that name none, and their own marks."""

from collections.abc import Mapping
from typing import Any

from firstlight.model.component import Form, ObjectId, Origin
from firstlight.model.rendition import Object
from firstlight.render import served as served_kinds
from firstlight.render.flux_kustomization import with_metadata
from firstlight.render.raw import Raw
from firstlight.render.served import Served

_TRACKING = "argocd.argoproj.io/tracking-id"


def unknown_scopes(objects: tuple[Object, ...], namespace: str, served: Served) -> bool:
    """Whether there are objects of which only the cluster's other CRDs tell whether they are in a namespace."""
    return bool(namespace) and any(
        not each.id.namespace and served_kinds.is_namespaced(each.id, served) is None for each in objects
    )


def in_namespaces(objects: tuple[Object, ...], namespace: str, served: Served) -> tuple[Object, ...]:
    """Objects with the namespace that they go to, where they name none and their kind is in one."""
    if not namespace:
        return objects
    return tuple(_in_namespace(each, namespace, served) for each in objects)


def marked(objects: tuple[Object, ...], origin: Origin, raw: Raw) -> tuple[Object, ...]:
    """Objects with the labels and annotations by which Helm and the engine know their own."""
    released = raw.release and origin.form != Form.APPLICATION
    unreleased = set(raw.unreleased)
    made = []
    for before, each in zip(raw.objects, objects, strict=True):
        if released and before.id not in unreleased and not _is_hook(each):
            annotations = {"meta.helm.sh/release-name": raw.release, "meta.helm.sh/release-namespace": raw.namespace}
            each = with_metadata(each, {"app.kubernetes.io/managed-by": "Helm"}, annotations)
        made.append(_marked(each, origin, raw.namespace))
    return tuple(made)


def _in_namespace(obj: Object, namespace: str, served: Served) -> Object:
    if obj.id.namespace or served_kinds.is_namespaced(obj.id, served) is not True:
        return obj
    metadata = obj.value.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    return Object({**obj.value, "metadata": {**fields, "namespace": namespace}})


def _is_hook(obj: Object) -> bool:
    metadata = obj.value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return isinstance(annotations, Mapping) and "helm.sh/hook" in annotations


def _marked(obj: Object, origin: Origin, namespace: str) -> Object:
    match origin.form:
        case Form.KUSTOMIZATION:
            group = "kustomize.toolkit.fluxcd.io"
            return with_metadata(obj, _owner(group, origin), {})
        case Form.HELM_RELEASE:
            return with_metadata(obj, _owner("helm.toolkit.fluxcd.io", origin), {})
        case Form.APPLICATION:
            return with_metadata(obj, {}, {_TRACKING: _tracking_id(origin.name, obj.id, namespace)})
        case _:
            return obj


def _owner(group: str, origin: Origin) -> dict[str, Any]:
    return {f"{group}/name": origin.name, f"{group}/namespace": origin.namespace}


def _tracking_id(app: str, id: ObjectId, namespace: str) -> str:
    """How Argo CD names an object of an Application; also one in no namespace has that of the destination."""
    return f"{app}:{id.group}/{id.kind}:{id.namespace or namespace}/{id.name}"
