"""The contents of an inline manifest: objects in the order in which Talos applies them, written in one way only.

Talos sorts the objects of all its manifests together: Namespaces by name, then CRDs by name, then everything else as
it stands (``manifest_apply.go``). So CRDs come first in the same contents, and "as it stands" is what is decided here.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from firstlight.document import yaml_writer
from firstlight.model.component import ObjectId
from firstlight.model.inline_manifest import InlineObjectChange, ObjectChangeKind
from firstlight.model.rendition import Object
from firstlight.render.inline import confidential

STYLE = yaml_writer.YamlStyle(dash=0)
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


def dump_objects(objects: Iterable[Object]) -> str:
    """The text of objects in this order.

    Raises:
        ValueError: A value cannot be written so that Go reads it back.
    """
    return yaml_writer.dump_all((plain_value(each.value) for each in objects), style=STYLE)


def fingerprint(each: Object) -> bytes:
    """The same for two objects if and only if they say the same, whatever the order of their keys."""
    return _ENCODER.encode(each.value)


def object_text(each: Object) -> str:
    """The text of one object.

    Raises:
        ValueError: A value cannot be written so that Go reads it back.
    """
    return yaml_writer.dump(plain_value(each.value), style=STYLE)


def plain_value(value: Any) -> Any:
    """A value with its keys sorted, and with numbers as JSON has them, for which 1.0 is 1."""
    if isinstance(value, Mapping):
        return {key: plain_value(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
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


# What is different between two sets of objects, in a form that shows no secrets.


_CONTEXT = 3


def object_changes(old: Sequence[Object], new: Sequence[Object], *, path: str) -> tuple[InlineObjectChange, ...]:
    """The objects that are in one of both only, or differ; in the order in which Talos applies them.

    Args:
        old: What stands in the file.
        new: What is to stand there.
        path: What the file is called.
    """
    before, after = ({each.id: each for each in objects} for objects in (old, new))
    found = []
    for each in in_order({**before, **after}.values()):
        was, is_ = before.get(each.id), after.get(each.id)
        if was is not None and is_ is not None:
            if fingerprint(was) != fingerprint(is_):
                found.append(
                    InlineObjectChange(id=each.id, what=ObjectChangeKind.CHANGED, lines=_lines(was, is_, path))
                )
        elif is_ is not None:
            found.append(InlineObjectChange(id=each.id, what=ObjectChangeKind.ADDED, lines=_lines(None, is_, path)))
        else:
            found.append(InlineObjectChange(id=each.id, what=ObjectChangeKind.REMOVED, lines=_lines(was, None, path)))
    return tuple(found)


def _lines(old: Object | None, new: Object | None, path: str) -> tuple[str, ...]:
    """A unified diff of one object, with masks where its secrets are."""
    shown = str((new or old or Object({})).id)
    one = object_text(confidential.masked(old)).splitlines() if old else []
    other = object_text(confidential.masked(new, other=old)).splitlines() if new else []
    # What both begin and end with is taken off: a diff of a CRD with ten thousand lines takes seconds else.
    head = _common(one, other)
    tail = _common(one[head:][::-1], other[head:][::-1])
    first = max(head - _CONTEXT, 0)
    last = max(tail - _CONTEXT, 0)
    diff = difflib.unified_diff(
        one[first : len(one) - last], other[first : len(other) - last],
        f"{path}: {shown}", f"rendered: {shown}", lineterm="", n=_CONTEXT,
    )  # fmt: skip
    return tuple(_shifted(line, first) for line in diff)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def _shifted(line: str, first: int) -> str:
    """A line of a diff; the numbers of a hunk count from the beginning of the object."""
    if not first or not line.startswith("@@ -"):
        return line
    _, old, new, _ = line.split(" ", 3)
    return f"@@ {_moved(old, first)} {_moved(new, first)} @@"


def _moved(span: str, first: int) -> str:
    start, comma, length = span[1:].partition(",")
    return f"{span[0]}{int(start) + first}{comma}{length}"
