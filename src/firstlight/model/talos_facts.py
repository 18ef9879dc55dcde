"""What Talos brings to a cluster, from the whole of its machine configs, each fact with its standing.

Absence means different things. A config that a tool generates has everything that the generator adds; a config that
stands whole in the repo has what it says, and Talos 1.14 reads a missing document in another way than a missing field.
A patch that is silent about something says nothing. Therefore nothing here is decided by one document alone.
"""

import enum
from collections.abc import Iterator
from typing import Any

from firstlight.model import fact, versions
from firstlight.model.cluster import Cluster, ConfigBase, MachinePart, MachineRole
from firstlight.model.fact import Fact

CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"
DOCUMENTS = (1, 14)
"""Since this version Kubernetes' settings are documents of their own."""
PRISM_PORT = 7445
_GENERATES_PRISM = (1, 6)


class TalosField(enum.StrEnum):
    """Facts by the name under which ``Cluster.said`` has their places."""

    CNI = "network.cni"
    KUBE_PROXY = "network.kube_proxy"
    CORE_DNS = "network.core_dns"
    SCHEDULES = "schedules_on_control_planes"


def cni(cluster: Cluster) -> Fact[str]:
    """Return the CNI that Talos brings: ``flannel``, ``custom`` or ``none``."""
    if cluster.network.cni:
        return _read(cluster, TalosField.CNI, cluster.network.cni)
    if unread := _unread(cluster, "flannel"):
        return unread
    if cluster.base is ConfigBase.GENERATED or _has(cluster, "cluster", "network"):
        return _default(cluster, "flannel", "no CNI is set", is_in_all_versions=True)
    if has_documents(cluster):
        return fact.default("none", "Talos without KubeFlannelCNIConfig", place=cluster.place)
    line = versions.minor(cluster.talos)
    if line is not None and line >= DOCUMENTS:
        return fact.default("none", "Talos 1.14 without cluster.network", place=cluster.place)
    return _default(cluster, "flannel", "no CNI is set")


def kube_proxy(cluster: Cluster) -> Fact[bool]:
    """Return whether Talos runs kube-proxy."""
    if cluster.network.kube_proxy is not None:
        return _read(cluster, TalosField.KUBE_PROXY, cluster.network.kube_proxy)
    return _unread(cluster, True) or _default(cluster, True, "kube-proxy is not disabled", is_in_all_versions=True)


def core_dns(cluster: Cluster) -> Fact[bool]:
    """Return whether Talos brings CoreDNS."""
    if cluster.network.core_dns is not None:
        return _read(cluster, TalosField.CORE_DNS, cluster.network.core_dns)
    return _unread(cluster, True) or _default(cluster, True, "CoreDNS is not disabled", is_in_all_versions=True)


def schedules_on_control_planes(cluster: Cluster) -> Fact[bool]:
    """Return whether control planes take workloads."""
    if cluster.schedules_on_control_planes is not None:
        return _read(cluster, TalosField.SCHEDULES, cluster.schedules_on_control_planes)
    if unread := _unread(cluster, False):
        return unread
    for part in _control_plane(cluster):
        if part.kind == "KubeNodeConfig" and cluster.base is ConfigBase.WHOLE:
            # A document that is there is taken as it is: without the taint, workloads are scheduled.
            return fact.read(CONTROL_PLANE_TAINT not in _mapping(part.config.get("taints")), part.config.place())
    return _default(cluster, False, "control planes are tainted", is_in_all_versions=True)


def kube_prism(cluster: Cluster) -> Fact[int]:
    """Return the port of KubePrism on every node; 0 where it is off."""
    found: Fact[int] | None = None
    for part in cluster.parts:
        if part.kind == "KubePrismConfig":
            port = part.config.get("port")
            found = fact.read(port if isinstance(port, int) else PRISM_PORT, part.config.place("port"))
        elif not part.kind and isinstance(prism := part.config.get("machine", "features", "kubePrism"), dict):
            is_on = prism.get("enabled", found is None or found.value > 0) is not False
            port = prism.get("port", PRISM_PORT)
            value = (port if isinstance(port, int) else PRISM_PORT) if is_on else 0
            found = fact.read(value, part.config.place("machine", "features", "kubePrism"))
    if found is not None:
        return found
    if unread := _unread(cluster, PRISM_PORT):
        return unread
    if cluster.base is ConfigBase.WHOLE:
        return fact.default(0, "no KubePrism is configured", place=cluster.place)
    line = versions.minor(cluster.talos)
    return _default(cluster, 0 if line is not None and line < _GENERATES_PRISM else PRISM_PORT, "generated configs")


_OFF = {
    TalosField.CNI: ("cluster.network.cni.name: none", "delete the document KubeFlannelCNIConfig ($patch: delete)"),
    TalosField.KUBE_PROXY: ("cluster.proxy.disabled: true", "set enabled: false in a KubeProxyConfig document"),
    TalosField.CORE_DNS: ("cluster.coreDNS.disabled: true", "set enabled: false in a KubeCoreDNSConfig document"),
}
_TAINT = (
    "cluster.allowSchedulingOnControlPlanes: true",
    f"leave the taint {CONTROL_PLANE_TAINT} out of the KubeNodeConfig document ($patch: delete on its key)",
)


def how_to_turn_off(cluster: Cluster, field: TalosField) -> str:
    """Return what to write in the machine config so that Talos leaves a part to others.

    Talos refuses the old field beside the document that replaces it, so the form follows the configs at hand.
    """
    legacy, document = _TAINT if field is TalosField.SCHEDULES else _OFF[field]
    if has_documents(cluster):
        return f"In the machine config, {document}."
    line = versions.minor(cluster.talos)
    if cluster.base is ConfigBase.GENERATED and (line is None or line >= DOCUMENTS):
        return f"In the machine config, set {legacy}; in configs generated for Talos 1.14 or later, {document} instead."
    return f"Set {legacy} in the machine config."


def has_documents(cluster: Cluster) -> bool:
    """Return whether the settings of Kubernetes stand in documents of their own, as Talos has them since 1.14."""
    return any(part.kind.startswith("Kube") and part.kind not in _EARLIER for part in cluster.parts)


_EARLIER = frozenset({"KubeletConfiguration"})
"""Kinds that begin alike and are not Talos's."""


def _control_plane(cluster: Cluster) -> Iterator[MachinePart]:
    """Yield the parts that all control planes have."""
    for part in cluster.parts:
        if part.role in (None, MachineRole.CONTROL_PLANE) and not part.machine:
            yield part


def _has(cluster: Cluster, *steps: str) -> bool:
    return any(not part.kind and part.config.get(*steps) is not None for part in _control_plane(cluster))


def _read(cluster: Cluster, field: TalosField, value: Any) -> Fact[Any]:
    return fact.read(value, cluster.said.get(field, cluster.place))


def _unread(cluster: Cluster, guess: Any) -> Fact[Any] | None:
    """Return why nothing can be said of what the configs do not say; None where all of them were read."""
    if cluster.unread:
        first = cluster.unread[0]
        more = f" and {len(cluster.unread) - 1} more" if len(cluster.unread) > 1 else ""
        return fact.unknown(guess, f"{first.place}: {first.message}{more}", place=first.place)
    if cluster.base is ConfigBase.UNKNOWN:
        return fact.unknown(guess, "the repo does not hold whole machine configs", place=cluster.place)
    return None


def _default(cluster: Cluster, value: Any, why: str, *, is_in_all_versions: bool = False) -> Fact[Any]:
    line = versions.minor(cluster.talos)
    of_version = f"Talos {line[0]}.{line[1]}" if line else "Talos"
    return fact.default(
        value,
        f"default of {of_version}, {why}",
        place=cluster.place,
        is_certain=line is not None or is_in_all_versions,
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
