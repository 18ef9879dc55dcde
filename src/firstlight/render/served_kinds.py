"""What a cluster serves: the kinds that its CRDs define, beside those of Kubernetes itself."""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from firstlight.model import versions
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.rendition import Object


@dataclasses.dataclass(frozen=True)
class ServedKinds:
    """Kinds that CRDs define."""

    api_versions: tuple[str, ...] = ()
    """``monitoring.coreos.com/v1`` and ``monitoring.coreos.com/v1/ServiceMonitor``, sorted."""
    scopes: Mapping[tuple[str, str], bool] = dataclasses.field(default_factory=dict)
    """Whether a kind is in a namespace, by group and kind."""
    missing: tuple[str, ...] = ()
    """Components that could not be rendered, so that their kinds are not known."""


def served_by(objects: Iterable[Object], *, missing: Iterable[str] = ()) -> ServedKinds:
    """What the CRDs among objects define."""
    versions: set[str] = set()
    scopes: dict[tuple[str, str], bool] = {}
    for each in objects:
        if not each.is_crd:
            continue
        spec = _mapping(each.value.get("spec"))
        group, kind = str(spec.get("group") or ""), str(_mapping(spec.get("names")).get("kind") or "")
        scopes[group, kind] = spec.get("scope") != "Cluster"
        listed = spec.get("versions")
        for version in listed if isinstance(listed, list) else ():
            if _mapping(version).get("served") is not False and (name := _mapping(version).get("name")):
                versions |= {f"{group}/{name}", f"{group}/{name}/{kind}"}
    return ServedKinds(tuple(sorted(versions)), scopes, tuple(sorted(missing)))


def is_namespaced(id: ObjectId, served: ServedKinds) -> bool | None:
    """Whether a kind is in a namespace; None where nothing tells."""
    known = builtin_scopes().get((id.group, id.kind))
    return known if known is not None else served.scopes.get((id.group, id.kind))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# The kinds of Kubernetes itself: which of them are in a namespace, and since when they are served.


_KINDS = {
    "v1": (
        "Binding ComponentStatus* ConfigMap Endpoints Event LimitRange Namespace* Node* PersistentVolume*"
        " PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
    ),
    "admissionregistration.k8s.io/v1": (
        "MutatingAdmissionPolicy*@1.36 MutatingAdmissionPolicyBinding*@1.36 MutatingWebhookConfiguration*"
        " ValidatingAdmissionPolicy*@1.30 ValidatingAdmissionPolicyBinding*@1.30 ValidatingWebhookConfiguration*"
    ),
    "apiextensions.k8s.io/v1": "CustomResourceDefinition*",
    "apiregistration.k8s.io/v1": "APIService*",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1": "SelfSubjectReview*@1.28 TokenReview*",
    "authorization.k8s.io/v1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview* SelfSubjectRulesReview* SubjectAccessReview*"
    ),
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest*",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
    "flowcontrol.apiserver.k8s.io/v1": "FlowSchema*@1.29 PriorityLevelConfiguration*@1.29",
    "networking.k8s.io/v1": "IPAddress*@1.33 Ingress IngressClass* NetworkPolicy ServiceCIDR*@1.33",
    "node.k8s.io/v1": "RuntimeClass*",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole* ClusterRoleBinding* Role RoleBinding",
    "resource.k8s.io/v1": ("DeviceClass*@1.34 ResourceClaim@1.34 ResourceClaimTemplate@1.34 ResourceSlice*@1.34"),
    "scheduling.k8s.io/v1": "PriorityClass*",
    "storage.k8s.io/v1": (
        "CSIDriver* CSINode* CSIStorageCapacity StorageClass* VolumeAttachment* VolumeAttributesClass*@1.34"
    ),
}
"""What the API server of 1.36 serves by itself; a star is for those in no namespace, a version for when they came."""

_OTHERS = {
    ("certificates.k8s.io", "ClusterTrustBundle"): False,
    ("extensions", "Ingress"): True,
    ("policy", "PodSecurityPolicy"): False,
    ("storagemigration.k8s.io", "StorageVersionMigration"): False,
}
"""Kinds that only older or newer ones serve, or only where a feature is turned on."""

_ENTRY = re.compile(r"(?P<kind>\w+)(?P<star>\*?)(?:@1\.(?P<since>\d+))?")


@cache
def builtin_scopes() -> dict[tuple[str, str], bool]:
    """Whether a kind is in a namespace, by group and kind."""
    found = dict(_OTHERS)
    for version, kinds in _KINDS.items():
        group = version.rpartition("/")[0]
        for match in _ENTRY.finditer(kinds):
            found[group, match["kind"]] = not match["star"]
    return found


@cache
def builtin_api_versions(kubernetes: str) -> tuple[str, ...]:
    """What templates find in a cluster of a version, with kinds: ``apps/v1/Deployment``.

    ``helm template`` knows the versions of groups by itself, but not the kinds in them.
    """
    line = versions.minor(kubernetes)
    minor = line[1] if line is not None and line[0] == 1 else 1000
    return tuple(
        f"{version}/{entry['kind']}"
        for version, kinds in _KINDS.items()
        for entry in _ENTRY.finditer(kinds)
        if int(entry["since"] or 0) <= minor
    )


# What is known of a cluster before anything runs in it.


@dataclasses.dataclass(frozen=True)
class TemplateFacts:
    """What templates may ask for."""

    cluster: str = ""
    kube_version: str = ""
    """Empty for whatever Helm takes by itself."""


def facts_of(cluster: Cluster | None) -> TemplateFacts:
    """The facts of a cluster; a version that is no version, such as a template, is none."""
    if cluster is None:
        return TemplateFacts()
    return TemplateFacts(cluster.name, cluster.kubernetes if versions.is_kubernetes(cluster.kubernetes) else "")
