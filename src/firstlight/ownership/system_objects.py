"""Objects that Kubernetes makes by itself: nobody applies them, and they are no orphans."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping
from firstlight.model.component import ObjectId
from firstlight.model.owner import Party
from firstlight.ownership.managers import Manager

KINDS = frozenset(
    {
        ("", "Node"),
        ("", "Endpoints"),
        ("", "Event"),
        ("", "ComponentStatus"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("coordination.k8s.io", "Lease"),
        ("coordination.k8s.io", "LeaseCandidate"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("events.k8s.io", "Event"),
        ("internal.apiserver.k8s.io", "StorageVersion"),
        ("networking.k8s.io", "IPAddress"),
        ("resource.k8s.io", "ResourceSlice"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""Those that only parts of the system make: their objects carry labels of others, such as a Service's."""
_NAMES = frozenset(
    {
        ("Namespace", "", "default"),
        ("Namespace", "", "kube-system"),
        ("Namespace", "", "kube-public"),
        ("Namespace", "", "kube-node-lease"),
        ("Service", "default", "kubernetes"),
        ("ServiceCIDR", "", "kubernetes"),
        ("PriorityClass", "", "system-cluster-critical"),
        ("PriorityClass", "", "system-node-critical"),
        ("ConfigMap", "kube-system", "extension-apiserver-authentication"),
        ("ConfigMap", "kube-system", "kube-apiserver-legacy-service-account-token-tracking"),
        ("ConfigMap", "kube-public", "cluster-info"),
    }
)
_EVERYWHERE = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})
"""Made in every namespace."""
_LABELS = ("kubernetes.io/bootstrapping", "kube-aggregator.kubernetes.io/automanaged")
_UPDATED = "apf.kubernetes.io/autoupdate-spec"


def is_one(id: ObjectId, live: Mapping[str, Any], managers: Sequence[Manager]) -> bool:
    """Whether the system makes an object by itself.

    Args:
        id: What it is called.
        live: The object; its metadata is enough.
        managers: Who owns fields of it.
    """
    if (id.group, id.kind) in KINDS or (id.kind, id.name) in _EVERYWHERE:
        return True
    if (id.kind, id.namespace, id.name) in _NAMES:
        return True
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    if any(each in labels for each in _LABELS) or _UPDATED in annotations:
        return True
    if managers:
        return all(each.party == Party.SYSTEM for each in managers)
    # kube-controller-manager makes one for each of its controllers, with nothing in it that could be owned.
    return (id.kind, id.namespace) == ("ServiceAccount", "kube-system")
