"""The contents of an inline manifest: objects in the order in which Talos applies them, written in one way only.

Talos sorts the objects of all its manifests together: Namespaces by name, then CRDs by name, then everything else as
it stands (``manifest_apply.go``). So CRDs come first in the same contents, and "as it stands" is what is decided here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.document import writing
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object

STYLE = writing.Style(dash=0)
"""As kustomize, helm and kubectl write lists, so that a first embedding changes few lines."""

_ENCODER = msgspec.json.Encoder(order="deterministic", enc_hook=dict)
_CORE = ""
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_ORDER: Sequence[tuple[str, str]] = (
    ("scheduling.k8s.io", "PriorityClass"),
    ("networking.k8s.io", "NetworkPolicy"),
    (_CORE, "ResourceQuota"),
    (_CORE, "LimitRange"),
    ("policy", "PodDisruptionBudget"),
    (_CORE, "ServiceAccount"),
    (_CORE, "Secret"),
    (_CORE, "ConfigMap"),
    ("storage.k8s.io", "StorageClass"),
    (_CORE, "PersistentVolume"),
    (_CORE, "PersistentVolumeClaim"),
    (_RBAC, "ClusterRole"),
    (_RBAC, "ClusterRoleBinding"),
    (_RBAC, "Role"),
    (_RBAC, "RoleBinding"),
    (_CORE, "Service"),
    ("apps", "DaemonSet"),
    (_CORE, "Pod"),
    ("apps", "ReplicaSet"),
    ("apps", "Deployment"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "Ingress"),
)
"""What others are made of comes first; Helm installs in about the same order."""
_LAST: Sequence[tuple[str, str]] = (
    ("apiregistration.k8s.io", "APIService"),
    (_ADMISSION, "MutatingWebhookConfiguration"),
    (_ADMISSION, "ValidatingWebhookConfiguration"),
    (_ADMISSION, "MutatingAdmissionPolicy"),
    (_ADMISSION, "MutatingAdmissionPolicyBinding"),
    (_ADMISSION, "ValidatingAdmissionPolicy"),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"),
)
"""Behind kinds that are not listed: a webhook that nobody answers yet would end Talos's pass at the next object."""
_RANKS = {
    **{kind: n for n, kind in enumerate(_ORDER)},
    **{kind: len(_ORDER) + 1 + n for n, kind in enumerate(_LAST)},
}


def in_order(objects: Iterable[Object]) -> tuple[Object, ...]:
    """Objects as Talos applies them; the same order whatever theirs was."""
    return tuple(sorted(objects, key=lambda each: (_stage(each), *_rank(each.id), str(each.value.get("apiVersion")))))


def dump(objects: Iterable[Object]) -> str:
    """The text of objects in this order.

    Raises:
        ValueError: A value cannot be written so that Go reads it back.
    """
    return writing.dump_all((plain(each.value) for each in objects), style=STYLE)


def fingerprint(each: Object) -> bytes:
    """The same for two objects if and only if they say the same, whatever the order of their keys."""
    return _ENCODER.encode(each.value)


def text(each: Object) -> str:
    """The text of one object.

    Raises:
        ValueError: A value cannot be written so that Go reads it back.
    """
    return writing.dump(plain(each.value), style=STYLE)


def plain(value: Any) -> Any:
    """A value with its keys sorted, and with numbers as JSON has them, for which 1.0 is 1."""
    if isinstance(value, Mapping):
        return {key: plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return int(value)
    return value


def _stage(each: Object) -> int:
    if each.id.kind == "Namespace" and str(each.value.get("apiVersion")).rpartition("/")[2] == "v1":
        return 0
    return 1 if each.is_crd else 2


def _rank(id: ObjectId) -> tuple[int, str, str, str, str]:
    if id.kind == "Namespace" or id.kind == "CustomResourceDefinition":
        return 0, id.name, id.group, id.namespace, id.kind
    return _RANKS.get((id.group, id.kind), len(_ORDER)), id.group, id.kind, id.namespace, id.name
