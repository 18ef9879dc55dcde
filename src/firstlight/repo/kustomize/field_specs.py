"""Fields of an object by the paths that kustomize gives them, changed without touching the object itself."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from firstlight.repo.kustomize.resources import ANY, Gvk, KustomizationError


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of some kinds of objects."""

    path: tuple[str, ...]
    """Names of fields; lists on the way are gone through, and one that ends with ``[]`` must be a list."""
    gvk: Gvk = ANY
    create: bool = False
    """Whether the field, and what leads there, is made where it is missing."""


def field_spec(path: str, kind: str = "", *, group: str = "", version: str = "", create: bool = False) -> FieldSpec:
    """A field as kustomize writes it: ``spec/template/spec/containers[]/image``."""
    return FieldSpec(split_path(path), Gvk(group, version, kind), create)


def split_path(path: str, separator: str = "/") -> tuple[str, ...]:
    """The names in a path, where a separator after a backslash belongs to the name."""
    parts = path.split(separator)
    if len(parts) > 1 and not parts[0]:
        parts = parts[1:]
    found = parts[:1]
    for part in parts[1:]:
        if found[-1].endswith("\\"):
            found[-1] = found[-1][:-1] + separator + part
        else:
            found.append(part)
    return tuple(found)


def change_field(
    value: Any, path: Sequence[str], edit: Callable[[Any], Any], *, create: Callable[[], Any] | None
) -> Any:
    """A value with what stands at a path edited; what did not change is shared, and nothing is changed in place.

    Args:
        value: The object.
        path: Where.
        edit: What becomes of what stands there.
        create: Makes what is missing at the end of the path; without it nothing is made.

    Raises:
        Problem: A text or a number stands on the way.
    """
    if not path:
        return edit(value)
    if value is None:
        return None
    if isinstance(value, list):
        items = [change_field(each, path, edit, create=create) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        raise KustomizationError(
            "kustomize-field-path-wrong", f"a list or a mapping is expected before {'/'.join(path)}"
        )
    name, rest = path[0].removesuffix("[]"), path[1:]
    old = value.get(name)
    if old is None and (create is None or name != path[0]):
        return value
    made = (create() if not rest else {}) if old is None and create is not None else old
    new = change_field(made, rest, edit, create=create)
    return value if new is old else {**value, name: new}


def with_entry(name: str, text: str) -> Callable[[Any], Any]:
    """An edit that puts an entry into a mapping."""

    def edit(value: Any) -> Any:
        if value is None:
            return {name: text}
        if not isinstance(value, dict):
            raise KustomizationError("kustomize-field-path-wrong", f"a mapping is expected where {name} is to go")
        return value if value.get(name) == text else {**value, name: text}

    return edit


def changed_resources(
    value: Mapping[str, Any], specs: Sequence[FieldSpec], edit: Callable[[Any], Any], create: Callable[[], Any] | None
) -> Mapping[str, Any]:
    """An object with several of its fields edited."""
    for each in specs:
        changed = change_field(value, each.path, edit, create=create if each.create else None)
        assert isinstance(changed, dict)
        value = changed
    return value


# The fields that kustomize's transformers change, by kind; a kustomization may add to them with ``configurations``.


_WORKLOADS = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job")
_PODS = {
    "Pod": "spec",
    "PodTemplate": "template/spec",
    **dict.fromkeys(_WORKLOADS, "spec/template/spec"),
    "CronJob": "spec/jobTemplate/spec/template/spec",
}
"""Where each kind has the spec of a pod."""
_ACCOUNTS = {**_PODS, "ReplicationController": "spec/template/spec"}


def _in_pods(*paths: str, where: Mapping[str, str] = _PODS, but: Iterable[str] = ()) -> list[FieldSpec]:
    return [field_spec(f"{at}/{path}", kind) for path in paths for kind, at in where.items() if kind not in but]


_METADATA_LABELS = (
    field_spec("metadata/labels", create=True),
    field_spec("spec/template/metadata/labels", "ReplicationController", version="v1", create=True),
    field_spec("spec/template/metadata/labels", "Deployment", create=True),
    field_spec("spec/template/metadata/labels", "ReplicaSet", create=True),
    field_spec("spec/template/metadata/labels", "DaemonSet", create=True),
    field_spec("spec/template/metadata/labels", "StatefulSet", group="apps", create=True),
    field_spec("spec/template/metadata/labels", "Job", group="batch", create=True),
    field_spec("spec/jobTemplate/metadata/labels", "CronJob", group="batch", create=True),
    field_spec("spec/jobTemplate/spec/template/metadata/labels", "CronJob", group="batch", create=True),
)
_CLAIM_LABELS = (field_spec("spec/volumeClaimTemplates[]/metadata/labels", "StatefulSet", group="apps", create=True),)

_SPREAD = tuple(
    field_spec(f"spec/template/spec/{path}/matchLabels", kind, group="apps")
    for kind in ("Deployment", "StatefulSet")
    for path in (
        "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector",
        "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector",
        "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector",
        "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector",
        "topologySpreadConstraints/labelSelector",
    )
)

_COMMON_LABELS = (
    field_spec("spec/selector", "Service", version="v1", create=True),
    field_spec("spec/selector", "ReplicationController", version="v1", create=True),
    field_spec("spec/selector/matchLabels", "Deployment", create=True),
    field_spec("spec/selector/matchLabels", "ReplicaSet", create=True),
    field_spec("spec/selector/matchLabels", "DaemonSet", create=True),
    field_spec("spec/selector/matchLabels", "StatefulSet", group="apps", create=True),
    *_SPREAD,
    field_spec("spec/selector/matchLabels", "Job", group="batch"),
    field_spec("spec/jobTemplate/spec/selector/matchLabels", "CronJob", group="batch"),
    field_spec("spec/selector/matchLabels", "PodDisruptionBudget", group="policy"),
    field_spec("spec/podSelector/matchLabels", "NetworkPolicy", group="networking.k8s.io"),
    field_spec("spec/ingress/from/podSelector/matchLabels", "NetworkPolicy", group="networking.k8s.io"),
    field_spec("spec/egress/to/podSelector/matchLabels", "NetworkPolicy", group="networking.k8s.io"),
    *_METADATA_LABELS,
    *_CLAIM_LABELS,
)

_COMMON_ANNOTATIONS = (
    field_spec("metadata/annotations", create=True),
    field_spec("spec/template/metadata/annotations", "ReplicationController", version="v1", create=True),
    *(
        field_spec("spec/template/metadata/annotations", kind, create=True)
        for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
    ),
    field_spec("spec/template/metadata/annotations", "Job", group="batch", create=True),
    field_spec("spec/jobTemplate/metadata/annotations", "CronJob", group="batch", create=True),
    field_spec("spec/jobTemplate/spec/template/metadata/annotations", "CronJob", group="batch", create=True),
)

_NAMESPACE = (
    field_spec("metadata/name", "Namespace", create=True),
    field_spec("spec/service/namespace", "APIService", group="apiregistration.k8s.io", create=True),
    field_spec(
        "spec/conversion/webhook/clientConfig/service/namespace",
        "CustomResourceDefinition",
        group="apiextensions.k8s.io",
    ),
)

_IMAGES = (
    *(
        field_spec(f"{at}/{path}", create=True)
        for at in ("spec", "spec/template/spec")
        for path in ("containers[]/image", "initContainers[]/image", "volumes[]/image/reference")
    ),
    field_spec("spec/jobTemplate/spec/template/spec/volumes[]/image/reference", create=True),
)
_REPLICAS = tuple(
    field_spec("spec/replicas", kind, create=True)
    for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
)

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_RESOURCE_NAMES = (field_spec("rules/resourceNames", "Role"), field_spec("rules/resourceNames", "ClusterRole"))
_SCALED = (field_spec("spec/scaleTargetRef/name", "HorizontalPodAutoscaler"),)
_INGRESS = "metadata/annotations/nginx.ingress.kubernetes.io\\/"

_NAME_REFERENCES: tuple[tuple[Gvk, tuple[FieldSpec, ...]], ...] = (
    *((Gvk(kind=kind), _SCALED) for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")),
    (
        Gvk("", "v1", "ConfigMap"),
        (
            *_in_pods(
                "volumes/configMap/name",
                "containers/env/valueFrom/configMapKeyRef/name",
                "initContainers/env/valueFrom/configMapKeyRef/name",
                "containers/envFrom/configMapRef/name",
                "initContainers/envFrom/configMapRef/name",
                "volumes/projected/sources/configMap/name",
            ),
            field_spec("spec/configSource/configMap", "Node"),
            *_RESOURCE_NAMES,
            field_spec(f"{_INGRESS}fastcgi-params-configmap", "Ingress"),
        ),
    ),
    (
        Gvk("", "v1", "Secret"),
        (
            *_in_pods(
                "volumes/secret/secretName",
                "containers/env/valueFrom/secretKeyRef/name",
                "initContainers/env/valueFrom/secretKeyRef/name",
                "containers/envFrom/secretRef/name",
                "initContainers/envFrom/secretRef/name",
                "imagePullSecrets/name",
                "volumes/projected/sources/secret/name",
            ),
            field_spec("spec/tls/secretName", "Ingress"),
            field_spec("metadata/annotations/ingress.kubernetes.io\\/auth-secret", "Ingress"),
            field_spec(f"{_INGRESS}auth-secret", "Ingress"),
            field_spec(f"{_INGRESS}auth-tls-secret", "Ingress"),
            field_spec("imagePullSecrets/name", "ServiceAccount"),
            *(
                field_spec(f"parameters/{name}", "StorageClass")
                for name in ("secretName", "adminSecretName", "userSecretName", "secretRef")
            ),
            *_RESOURCE_NAMES,
            field_spec(
                "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
                "Service",
                group="serving.knative.dev",
                version="v1",
            ),
            field_spec("spec/azureFile/secretName", "PersistentVolume"),
        ),
    ),
    (
        Gvk("", "v1", "Service"),
        (
            field_spec("spec/serviceName", "StatefulSet", group="apps"),
            field_spec("spec/rules/http/paths/backend/serviceName", "Ingress"),
            field_spec("spec/backend/serviceName", "Ingress"),
            field_spec("spec/rules/http/paths/backend/service/name", "Ingress"),
            field_spec("spec/defaultBackend/service/name", "Ingress"),
            field_spec("spec/service/name", "APIService", group="apiregistration.k8s.io"),
            *(field_spec("webhooks/clientConfig/service", kind, group=_ADMISSION) for kind in _WEBHOOKS),
        ),
    ),
    (Gvk(_RBAC, "", "Role"), (field_spec("roleRef/name", "RoleBinding", group=_RBAC),)),
    (
        Gvk(_RBAC, "", "ClusterRole"),
        tuple(field_spec("roleRef/name", kind, group=_RBAC) for kind in ("RoleBinding", "ClusterRoleBinding")),
    ),
    (
        Gvk("", "v1", "ServiceAccount"),
        (
            *(field_spec("subjects", kind, group=_RBAC) for kind in ("RoleBinding", "ClusterRoleBinding")),
            *_in_pods("serviceAccountName", where=_ACCOUNTS, but=("PodTemplate", "ReplicaSet")),
        ),
    ),
    (
        Gvk("", "v1", "PersistentVolumeClaim"),
        tuple(_in_pods("volumes/persistentVolumeClaim/claimName", where=_ACCOUNTS, but=("PodTemplate", "ReplicaSet"))),
    ),
    (
        Gvk("", "v1", "PersistentVolume"),
        (field_spec("spec/volumeName", "PersistentVolumeClaim"), field_spec("rules/resourceNames", "ClusterRole")),
    ),
    (
        Gvk("storage.k8s.io", "v1", "StorageClass"),
        (
            field_spec("spec/storageClassName", "PersistentVolume"),
            field_spec("spec/storageClassName", "PersistentVolumeClaim"),
            field_spec("spec/volumeClaimTemplates/spec/storageClassName", "StatefulSet"),
        ),
    ),
    (
        Gvk("scheduling.k8s.io", "v1", "PriorityClass"),
        tuple(_in_pods("priorityClassName", where=_ACCOUNTS, but=("PodTemplate", "ReplicaSet"))),
    ),
    (
        Gvk(_ADMISSION, "", "ValidatingAdmissionPolicy"),
        (field_spec("spec/policyName", "ValidatingAdmissionPolicyBinding", group=_ADMISSION),),
    ),
)


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSpecs:
    """The fields of every transformer."""

    common_labels: tuple[FieldSpec, ...] = _COMMON_LABELS
    template_labels: tuple[FieldSpec, ...] = _METADATA_LABELS
    claim_labels: tuple[FieldSpec, ...] = _CLAIM_LABELS
    labels: tuple[FieldSpec, ...] = ()
    common_annotations: tuple[FieldSpec, ...] = _COMMON_ANNOTATIONS
    namespace: tuple[FieldSpec, ...] = _NAMESPACE
    name_prefix: tuple[FieldSpec, ...] = (field_spec("metadata/name"),)
    name_suffix: tuple[FieldSpec, ...] = (field_spec("metadata/name"),)
    images: tuple[FieldSpec, ...] = _IMAGES
    replicas: tuple[FieldSpec, ...] = _REPLICAS
    name_references: tuple[tuple[Gvk, tuple[FieldSpec, ...]], ...] = _NAME_REFERENCES
    """Objects of a kind, and the fields of others that name them."""


DEFAULT = FieldSpecs()
_KINDS = 1000
"""Kinds whose fields are remembered; there are a few dozen in a platform."""

_WRITTEN = {
    "commonLabels": "common_labels",
    "templateLabels": "template_labels",
    "volumeClaimTemplateLabels": "claim_labels",
    "labels": "labels",
    "commonAnnotations": "common_annotations",
    "namespace": "namespace",
    "namePrefix": "name_prefix",
    "nameSuffix": "name_suffix",
    "images": "images",
    "replicas": "replicas",
}


_references: dict[Gvk, list[tuple[Gvk, FieldSpec]]] = {}


def references_of(gvk: Gvk, specs: FieldSpecs) -> list[tuple[Gvk, FieldSpec]]:
    """The fields of a kind that name other objects, each with the kind of those."""
    if specs is DEFAULT and gvk in _references:
        return _references[gvk]
    found = [
        (target, each) for target, referrers in specs.name_references for each in referrers if gvk.is_selected(each.gvk)
    ]
    if specs is DEFAULT and len(_references) < _KINDS:
        _references[gvk] = found
    return found


def merged_specs(one: FieldSpecs, other: FieldSpecs) -> FieldSpecs:
    """Both, each field once."""
    if other is DEFAULT or other is one:
        return one
    if one is DEFAULT:
        return other
    return FieldSpecs(
        **{
            field.name: tuple(dict.fromkeys([*getattr(one, field.name), *getattr(other, field.name)]))
            for field in dataclasses.fields(FieldSpecs)
        }
    )


def with_configuration(specs: FieldSpecs, written: Mapping[str, Any]) -> FieldSpecs:
    """Fields with what a file of ``configurations`` adds; what is not understood in it is passed over."""
    more: dict[str, Any] = {}
    for name, field in _WRITTEN.items():
        if found := tuple(_read(written.get(name))):
            more[field] = tuple(dict.fromkeys([*getattr(specs, field), *found]))
    named = written.get("nameReference")
    references = [
        (_gvk(each), tuple(_read(each.get("fieldSpecs"))))
        for each in (named if isinstance(named, list) else ())
        if isinstance(each, dict)
    ]
    if references:
        more["name_references"] = (*specs.name_references, *references)
    return dataclasses.replace(specs, **more) if more else specs


def _read(written: Any) -> Iterable[FieldSpec]:
    for each in written if isinstance(written, list) else ():
        if isinstance(each, dict) and each.get("path"):
            gvk = _gvk(each)
            create = each.get("create") is True
            yield field_spec(str(each["path"]), gvk.kind, group=gvk.group, version=gvk.version, create=create)


def _gvk(written: Mapping[str, Any]) -> Gvk:
    return Gvk(*(str(written.get(name) or "") for name in ("group", "version", "kind")))
