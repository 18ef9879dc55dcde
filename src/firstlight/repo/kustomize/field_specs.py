"""The fields that kustomize's transformers change, by kind; a kustomization may add to them with ``configurations``."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.repo.kustomize.fields import FieldSpec, spec
from firstlight.repo.kustomize.resource import Gvk

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
    return [spec(f"{at}/{path}", kind) for path in paths for kind, at in where.items() if kind not in but]


_METADATA_LABELS = (
    spec("metadata/labels", create=True),
    spec("spec/template/metadata/labels", "ReplicationController", version="v1", create=True),
    spec("spec/template/metadata/labels", "Deployment", create=True),
    spec("spec/template/metadata/labels", "ReplicaSet", create=True),
    spec("spec/template/metadata/labels", "DaemonSet", create=True),
    spec("spec/template/metadata/labels", "StatefulSet", group="apps", create=True),
    spec("spec/volumeClaimTemplates[]/metadata/labels", "StatefulSet", group="apps", create=True),
    spec("spec/template/metadata/labels", "Job", group="batch", create=True),
    spec("spec/jobTemplate/metadata/labels", "CronJob", group="batch", create=True),
    spec("spec/jobTemplate/spec/template/metadata/labels", "CronJob", group="batch", create=True),
)

_SPREAD = tuple(
    spec(f"spec/template/spec/{path}/matchLabels", kind, group="apps")
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
    spec("spec/selector", "Service", version="v1", create=True),
    spec("spec/selector", "ReplicationController", version="v1", create=True),
    spec("spec/selector/matchLabels", "Deployment", create=True),
    spec("spec/selector/matchLabels", "ReplicaSet", create=True),
    spec("spec/selector/matchLabels", "DaemonSet", create=True),
    spec("spec/selector/matchLabels", "StatefulSet", group="apps", create=True),
    *_SPREAD,
    spec("spec/selector/matchLabels", "Job", group="batch"),
    spec("spec/jobTemplate/spec/selector/matchLabels", "CronJob", group="batch"),
    spec("spec/selector/matchLabels", "PodDisruptionBudget", group="policy"),
    spec("spec/podSelector/matchLabels", "NetworkPolicy", group="networking.k8s.io"),
    spec("spec/ingress/from/podSelector/matchLabels", "NetworkPolicy", group="networking.k8s.io"),
    spec("spec/egress/to/podSelector/matchLabels", "NetworkPolicy", group="networking.k8s.io"),
    *_METADATA_LABELS,
)

_COMMON_ANNOTATIONS = (
    spec("metadata/annotations", create=True),
    spec("spec/template/metadata/annotations", "ReplicationController", version="v1", create=True),
    *(
        spec("spec/template/metadata/annotations", kind, create=True)
        for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
    ),
    spec("spec/template/metadata/annotations", "Job", group="batch", create=True),
    spec("spec/jobTemplate/metadata/annotations", "CronJob", group="batch", create=True),
    spec("spec/jobTemplate/spec/template/metadata/annotations", "CronJob", group="batch", create=True),
)

_NAMESPACE = (
    spec("metadata/name", "Namespace", create=True),
    spec("spec/service/namespace", "APIService", group="apiregistration.k8s.io", create=True),
    spec(
        "spec/conversion/webhook/clientConfig/service/namespace",
        "CustomResourceDefinition",
        group="apiextensions.k8s.io",
    ),
)

_IMAGES = tuple(
    spec(f"{at}/{path}", create=True)
    for at in ("spec", "spec/template/spec")
    for path in ("containers[]/image", "initContainers[]/image", "volumes[]/image/reference")
)
_REPLICAS = tuple(
    spec("spec/replicas", kind, create=True)
    for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
)

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_RESOURCE_NAMES = (spec("rules/resourceNames", "Role"), spec("rules/resourceNames", "ClusterRole"))
_SCALED = (spec("spec/scaleTargetRef/name", "HorizontalPodAutoscaler"),)
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
            spec("spec/configSource/configMap", "Node"),
            *_RESOURCE_NAMES,
            spec(f"{_INGRESS}fastcgi-params-configmap", "Ingress"),
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
            spec("spec/tls/secretName", "Ingress"),
            spec("metadata/annotations/ingress.kubernetes.io\\/auth-secret", "Ingress"),
            spec(f"{_INGRESS}auth-secret", "Ingress"),
            spec(f"{_INGRESS}auth-tls-secret", "Ingress"),
            spec("imagePullSecrets/name", "ServiceAccount"),
            *(
                spec(f"parameters/{name}", "StorageClass")
                for name in ("secretName", "adminSecretName", "userSecretName", "secretRef")
            ),
            *_RESOURCE_NAMES,
            spec(
                "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
                "Service",
                group="serving.knative.dev",
                version="v1",
            ),
            spec("spec/azureFile/secretName", "PersistentVolume"),
        ),
    ),
    (
        Gvk("", "v1", "Service"),
        (
            spec("spec/serviceName", "StatefulSet", group="apps"),
            spec("spec/rules/http/paths/backend/serviceName", "Ingress"),
            spec("spec/backend/serviceName", "Ingress"),
            spec("spec/rules/http/paths/backend/service/name", "Ingress"),
            spec("spec/defaultBackend/service/name", "Ingress"),
            spec("spec/service/name", "APIService", group="apiregistration.k8s.io"),
            *(spec("webhooks/clientConfig/service", kind, group=_ADMISSION) for kind in _WEBHOOKS),
        ),
    ),
    (Gvk(_RBAC, "", "Role"), (spec("roleRef/name", "RoleBinding", group=_RBAC),)),
    (
        Gvk(_RBAC, "", "ClusterRole"),
        tuple(spec("roleRef/name", kind, group=_RBAC) for kind in ("RoleBinding", "ClusterRoleBinding")),
    ),
    (
        Gvk("", "v1", "ServiceAccount"),
        (
            *(spec("subjects", kind, group=_RBAC) for kind in ("RoleBinding", "ClusterRoleBinding")),
            *_in_pods("serviceAccountName", where=_ACCOUNTS, but=("PodTemplate", "ReplicaSet")),
        ),
    ),
    (
        Gvk("", "v1", "PersistentVolumeClaim"),
        tuple(_in_pods("volumes/persistentVolumeClaim/claimName", where=_ACCOUNTS, but=("PodTemplate", "ReplicaSet"))),
    ),
    (
        Gvk("", "v1", "PersistentVolume"),
        (spec("spec/volumeName", "PersistentVolumeClaim"), spec("rules/resourceNames", "ClusterRole")),
    ),
    (
        Gvk("storage.k8s.io", "v1", "StorageClass"),
        (
            spec("spec/storageClassName", "PersistentVolume"),
            spec("spec/storageClassName", "PersistentVolumeClaim"),
            spec("spec/volumeClaimTemplates/spec/storageClassName", "StatefulSet"),
        ),
    ),
    (
        Gvk("scheduling.k8s.io", "v1", "PriorityClass"),
        tuple(_in_pods("priorityClassName", where=_ACCOUNTS, but=("PodTemplate", "ReplicaSet"))),
    ),
    (
        Gvk(_ADMISSION, "", "ValidatingAdmissionPolicy"),
        (spec("spec/policyName", "ValidatingAdmissionPolicyBinding", group=_ADMISSION),),
    ),
)


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSpecs:
    """The fields of every transformer."""

    common_labels: tuple[FieldSpec, ...] = _COMMON_LABELS
    template_labels: tuple[FieldSpec, ...] = _METADATA_LABELS
    labels: tuple[FieldSpec, ...] = ()
    common_annotations: tuple[FieldSpec, ...] = _COMMON_ANNOTATIONS
    namespace: tuple[FieldSpec, ...] = _NAMESPACE
    name_prefix: tuple[FieldSpec, ...] = (spec("metadata/name"),)
    name_suffix: tuple[FieldSpec, ...] = (spec("metadata/name"),)
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


def merged(one: FieldSpecs, other: FieldSpecs) -> FieldSpecs:
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
            yield spec(str(each["path"]), gvk.kind, group=gvk.group, version=gvk.version, create=create)


def _gvk(written: Mapping[str, Any]) -> Gvk:
    return Gvk(*(str(written.get(name) or "") for name in ("group", "version", "kind")))
