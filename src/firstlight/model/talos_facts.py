"""What Talos brings to a cluster, from the whole of its machine configs, each fact with its standing.

Absence means different things. A config that a tool generates has everything that the generator adds; a config that
stands whole in the repo has what it says, and Talos 1.14 reads a missing document in another way than a missing field.
A patch that is silent about something says nothing. Therefore nothing here is decided by one document alone.
"""

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any

from firstlight.model import fact, versions
from firstlight.model.cluster import Cluster, ConfigBase, MachinePart, MachineRole
from firstlight.model.fact import Fact
from firstlight.model.place import Place

CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"
PODS, SERVICES = ("10.244.0.0/16",), ("10.96.0.0/12",)
"""What Talos takes, in all versions, where ``cluster.network`` or the generator says nothing."""
DOCUMENTS = (1, 14)
"""Since this version Kubernetes' settings are documents of their own."""
PRISM_PORT = 7445
_GENERATES_PRISM = (1, 6)
_FORWARDS_DNS = (1, 8)
"""Since this version generated configs let Talos's DNS on the host answer CoreDNS."""


class TalosField(enum.StrEnum):
    """Facts by the name under which ``Cluster.said`` has their places."""

    CNI = "network.cni"
    KUBE_PROXY = "network.kube_proxy"
    CORE_DNS = "network.core_dns"
    SCHEDULES = "schedules_on_control_planes"
    PODS = "network.pods"
    SERVICES = "network.services"
    HOST_DNS = "host_dns"


def cni(cluster: Cluster) -> Fact[str]:
    """Return the CNI that Talos brings: ``flannel``, ``custom`` or ``none``."""
    if cluster.network.cni:
        return _read(cluster, TalosField.CNI, cluster.network.cni)
    if unread := _unread(cluster, "flannel", TalosField.CNI):
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
    return _unread(cluster, True, TalosField.KUBE_PROXY) or _default(
        cluster, True, "kube-proxy is not disabled", is_in_all_versions=True
    )


def core_dns(cluster: Cluster) -> Fact[bool]:
    """Return whether Talos brings CoreDNS."""
    if cluster.network.core_dns is not None:
        return _read(cluster, TalosField.CORE_DNS, cluster.network.core_dns)
    return _unread(cluster, True, TalosField.CORE_DNS) or _default(
        cluster, True, "CoreDNS is not disabled", is_in_all_versions=True
    )


def pods(cluster: Cluster) -> Fact[tuple[str, ...]]:
    """Return the ranges that nodes get for their pods."""
    return _range(cluster, TalosField.PODS, cluster.network.pods, PODS)


def services(cluster: Cluster) -> Fact[tuple[str, ...]]:
    """Return the ranges that the API server gives services addresses of."""
    return _range(cluster, TalosField.SERVICES, cluster.network.services, SERVICES)


def _range(
    cluster: Cluster, field: TalosField, given: tuple[str, ...], usual: tuple[str, ...]
) -> Fact[tuple[str, ...]]:
    if given:
        return _read(cluster, field, given)
    if unread := _unread(cluster, usual, field):
        return unread
    if has_documents(cluster) and cluster.base is ConfigBase.WHOLE and not _has(cluster, "cluster", "network"):
        # Talos 1.14 makes no control plane without KubeNetworkConfig: it must be somewhere else.
        return fact.unknown(usual, "no document says them", place=cluster.place)
    return _default(cluster, usual, "no subnets are set", is_in_all_versions=True)


def host_dns_for_pods(cluster: Cluster) -> Fact[bool]:
    """Return whether CoreDNS asks Talos's DNS on the host."""
    found: Fact[bool] | None = None
    is_enabled = True
    for part in cluster.parts:
        steps = ("hostDNS",) if part.kind == "ResolverConfig" else ("machine", "features", "hostDNS")
        if part.kind not in ("", "ResolverConfig"):
            continue
        for field in ("enabled", "forwardKubeDNSToHost"):
            value = part.config.get(*steps, field)
            place = part.config.place(*steps, field)
            if isinstance(value, str):
                return fact.unknown(False, f"{'.'.join(steps)}.{field} is a variable", place=place)
            if field == "enabled":
                is_enabled = value is not False and is_enabled
            elif isinstance(value, bool):
                found = fact.read(value, place)
    if not is_enabled:
        return fact.read(False, None)
    if found is not None:
        return found
    if unread := _unread(cluster, False):
        return unread
    line = versions.minor(cluster.talos)
    is_whole = cluster.base is ConfigBase.WHOLE or _has(cluster, "machine", "type")
    if is_whole or line is None:
        return fact.default(False, "hostDNS is not configured", place=cluster.place, is_certain=line is not None)
    # The version for which the configs were generated first may be an earlier one.
    why = f"configs generated for Talos {line[0]}.{line[1]}"
    return fact.default(line >= _FORWARDS_DNS, why, place=cluster.place, is_certain=False)


def kubelet_dns(cluster: Cluster) -> Fact[tuple[tuple[Any, Place], ...]]:
    """Return the addresses of DNS that kubelets are told, each with its place; empty where it is Talos's tenth."""
    found: list[tuple[Any, Place]] = []
    for part in cluster.parts:
        steps = ("clusterDNS",) if part.kind == "KubeletConfig" else ("machine", "kubelet", "clusterDNS")
        value = part.config.get(*steps) if part.kind in ("", "KubeletConfig") else None
        for number, each in enumerate(value if isinstance(value, list) else ()):
            found.append((each, part.config.place(*steps, number)))
    if found:
        return fact.read(tuple(found), found[0][1])
    return _unread(cluster, ()) or fact.default((), "the tenth address of the services", place=cluster.place)


def schedules_on_control_planes(cluster: Cluster) -> Fact[bool]:
    """Return whether control planes take workloads."""
    if cluster.schedules_on_control_planes is not None:
        return _read(cluster, TalosField.SCHEDULES, cluster.schedules_on_control_planes)
    if unread := _unread(cluster, False, TalosField.SCHEDULES):
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
            if isinstance(port, str):
                return fact.unknown(PRISM_PORT, "the port of KubePrism is a variable", place=part.config.place("port"))
            found = fact.read(port if isinstance(port, int) else PRISM_PORT, part.config.place("port"))
        elif not part.kind and isinstance(prism := part.config.get("machine", "features", "kubePrism"), dict):
            is_on = prism.get("enabled", found is None or found.value > 0) is not False
            port = prism.get("port", PRISM_PORT)
            if isinstance(port, str) or isinstance(prism.get("enabled"), str):
                place = part.config.place("machine", "features", "kubePrism")
                return fact.unknown(PRISM_PORT, "a field of KubePrism is a variable", place=place)
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
    TalosField.HOST_DNS: (
        "machine.features.hostDNS.forwardKubeDNSToHost: false",
        "set hostDNS.forwardKubeDNSToHost: false in the ResolverConfig document",
    ),
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
    doubt = cluster.doubts.get(field)
    found = fact.read(value, cluster.said.get(field, cluster.place))
    return dataclasses.replace(found, is_certain=False, why=doubt.why) if doubt else found


def _unread(cluster: Cluster, guess: Any, field: TalosField | None = None) -> Fact[Any] | None:
    """Return why nothing can be said of what the configs do not say; None where all of them were read."""
    if field is not None and (doubt := cluster.doubts.get(field)):
        return fact.unknown(guess, doubt.why, place=doubt.place)
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
