"""Which lists of the built-in kinds are merged item by item, and by which fields their items are told apart.

The facts are those of Kubernetes's own API description (``x-kubernetes-patch-merge-key``). A list that is not here is
replaced as a whole, and so is every list of a custom resource.
"""

import dataclasses
from collections.abc import Mapping

from firstlight.repo.kustomize.resource import Gvk


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """What there is to know of an object: its fields, and for a list of mappings the keys of its items."""

    fields: Mapping[str, "Shape"] = dataclasses.field(default_factory=dict)
    keys: tuple[str, ...] | None = None
    """Of a list that is merged; empty where its items are plain texts."""


UNKNOWN = Shape()


def _merged(*keys: str, **fields: Shape) -> Shape:
    return Shape(fields, keys)


def _nested(**fields: Shape) -> Shape:
    return Shape(fields)


_CONTAINER = {
    "env": _merged("name"),
    "ports": _merged("containerPort", "protocol"),
    "volumeDevices": _merged("devicePath"),
    "volumeMounts": _merged("mountPath"),
}
_METADATA = _nested(finalizers=_merged(), ownerReferences=_merged("uid"))
_POD = _nested(
    containers=_merged("name", **_CONTAINER),
    initContainers=_merged("name", **_CONTAINER),
    ephemeralContainers=_merged("name", **_CONTAINER),
    hostAliases=_merged("ip"),
    imagePullSecrets=_merged("name"),
    topologySpreadConstraints=_merged("topologyKey", "whenUnsatisfiable"),
    volumes=_merged("name"),
)
_TEMPLATE = _nested(metadata=_METADATA, spec=_POD)
_WORKLOAD = _nested(metadata=_METADATA, spec=_nested(template=_TEMPLATE))
_PLAIN = _nested(metadata=_METADATA)
_WEBHOOKS = _nested(metadata=_METADATA, webhooks=_merged("name"))

_KINDS: Mapping[tuple[str, str], Shape] = {
    ("", "Pod"): _nested(metadata=_METADATA, spec=_POD),
    ("", "PodTemplate"): _nested(metadata=_METADATA, template=_TEMPLATE),
    ("", "ReplicationController"): _WORKLOAD,
    ("", "Service"): _nested(metadata=_METADATA, spec=_nested(ports=_merged("port", "protocol"))),
    ("", "ServiceAccount"): _nested(metadata=_METADATA, secrets=_merged("name")),
    ("", "Node"): _nested(metadata=_METADATA, spec=_nested(podCIDRs=_merged())),
    ("apps", "DaemonSet"): _WORKLOAD,
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "ReplicaSet"): _WORKLOAD,
    ("apps", "StatefulSet"): _WORKLOAD,
    ("batch", "Job"): _WORKLOAD,
    ("batch", "CronJob"): _nested(metadata=_METADATA, spec=_nested(jobTemplate=_WORKLOAD)),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("storage.k8s.io", "CSINode"): _nested(metadata=_METADATA, spec=_nested(drivers=_merged("name"))),
}

_GROUPS = {
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling", "batch",
    "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
}  # fmt: skip


def of(gvk: Gvk) -> Shape:
    """What is known of a kind."""
    known = _KINDS.get((gvk.group, gvk.kind))
    if known is not None:
        return known
    return _PLAIN if gvk.group in _GROUPS or (not gvk.group and gvk.version == "v1") else UNKNOWN
