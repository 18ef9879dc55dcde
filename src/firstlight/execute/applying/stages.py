"""In which order objects are written that are applied together."""

from firstlight.execute.applying.difference import Difference
from firstlight.model.component import ObjectId

_FOUNDATIONS = frozenset(
    {"ClusterRole", "ClusterRoleBinding", "ConfigMap", "IngressClass", "LimitRange", "NetworkPolicy",
     "PersistentVolume", "PersistentVolumeClaim", "PriorityClass", "ResourceQuota", "Role", "RoleBinding",
     "RuntimeClass", "Secret", "ServiceAccount", "StorageClass"}
)  # fmt: skip
"""What pods cannot start without."""
_HOOKED_IN = frozenset({"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
"""What stops others for as long as the pods behind it are not there."""

DEFINITIONS = 1
_FOUNDATION = 2


def is_early(difference: Difference) -> bool:
    """Whether others of the same component may need it to start."""
    return _stage(difference.object.id) <= _FOUNDATION


def order(differences: list[Difference]) -> list[tuple[int, list[Difference]]]:
    """Stages that come after each other; what is in one is written at the same time."""
    found: dict[int, list[Difference]] = {}
    for each in differences:
        found.setdefault(_stage(each.object.id), []).append(each)
    return sorted(found.items())


def _stage(id: ObjectId) -> int:
    if id.kind == "Namespace" and not id.group:
        return 0
    if id.kind == "CustomResourceDefinition":
        return DEFINITIONS
    if id.kind in _FOUNDATIONS:
        return _FOUNDATION
    return 4 if id.kind in _HOOKED_IN else 3
