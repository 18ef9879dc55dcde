"""What the control plane of a lab is built from: the lab's own settings, or the config of a machine.

A machine says in ``control-plane.json`` what its static pods should be; ``of_machine`` reads that.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from firstlight import errors
from firstlight.lab import network as networks
from firstlight.lab import settings as lab_settings
from firstlight.lab import stages

TALOS_AUDIT_RULES = [{"level": "Metadata"}]
"""The policy of a machine config that says nothing of it."""


class Component(msgspec.Struct, frozen=True, rename="camel"):
    """What a machine config says of one part of the control plane."""

    image: str = ""
    version: str = ""
    extra_args: dict[str, tuple[str, ...]] = {}


class ApiServer(Component, frozen=True, rename="camel"):
    """What it says of the API server."""

    admission_plugins: tuple[str, ...] = ()


class _Said(msgspec.Struct, frozen=True, rename="camel"):
    """A machine's ``control-plane.json``."""

    cluster_name: str
    endpoint: str
    etcd: str
    pod_cidrs: tuple[str, ...]
    service_cidrs: tuple[str, ...]
    dns_domain: str = "cluster.local"
    cert_sans: tuple[str, ...] = ()
    api_server: ApiServer = ApiServer()
    controller_manager: Component = Component()
    scheduler: Component = Component()
    audit_policy: dict[str, Any] | None = None


class ClusterConfig(msgspec.Struct, frozen=True):
    """One control plane."""

    etcd: str
    """Where its etcd answers."""
    advertised: str
    """The API server's address in endpoints."""
    names: tuple[str, ...]
    """Names and addresses in the API server's certificate, besides those that every cluster has."""
    pod_cidrs: tuple[str, ...]
    service_cidrs: tuple[str, ...]
    dns_domain: str
    issuer: str
    """Of ServiceAccount tokens."""
    cluster_name: str = ""
    api_server: ApiServer = ApiServer()
    controller_manager: Component = Component()
    scheduler: Component = Component()
    audit_policy: dict[str, Any] | None = None
    has_own_etcd: bool = False
    """Whether etcd is a part of the lab, and not of a machine."""

    @property
    def heartbeat(self) -> float:
        """Seconds between signs of life of the kubelets: several within the time after which a node counts as lost."""
        given = self.controller_manager.extra_args.get("node-monitor-grace-period", ("",))[-1]
        return min(stages.HEARTBEAT, _seconds(given) / 5) if _seconds(given) else stages.HEARTBEAT


_DURATION = re.compile(r"([0-9.]+)(ms|s|m|h)")


def _seconds(duration: str) -> float:
    """A span of time as Go writes it; 0 if it is none."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    return sum(float(number) * units[unit] for number, unit in _DURATION.findall(duration))


def of_settings(wanted: lab_settings.Settings, net: networks.Network) -> ClusterConfig:
    """The control plane of a lab without machines."""
    return ClusterConfig(
        etcd=f"https://{net.loopback}:{net.etcd}",
        advertised=net.declared,
        names=(net.declared,),
        pod_cidrs=(wanted.pod_cidr,),
        service_cidrs=(wanted.service_cidr,),
        dns_domain="cluster.local",
        issuer="https://kubernetes.default.svc.cluster.local",
        has_own_etcd=True,
    )


def of_machine(path: Path, *, address: str) -> ClusterConfig:
    """The control plane that a machine asks for.

    Args:
        path: Its ``control-plane.json``.
        address: The machine's declared address.

    Raises:
        errors.LabError: The file says something that no control plane can be built from.
        OSError: It cannot be read.
    """
    try:
        said = msgspec.json.decode(path.read_bytes(), type=_Said)
        host = urlsplit(said.endpoint).hostname
    except (msgspec.MsgspecError, ValueError) as error:
        raise errors.LabError(f"{path} cannot be understood: {error}") from error
    if not said.pod_cidrs or not said.service_cidrs:
        raise errors.LabError(f"{path} names no network for {'services' if said.pod_cidrs else 'pods'}")
    policy = said.audit_policy
    return ClusterConfig(
        etcd=said.etcd,
        advertised=address,
        names=tuple(dict.fromkeys(name for name in (*said.cert_sans, host, address) if name)),
        pod_cidrs=said.pod_cidrs,
        service_cidrs=said.service_cidrs,
        dns_domain=said.dns_domain,
        # Talos lets the cluster's endpoint issue the tokens, not the name of the service.
        issuer=said.endpoint,
        cluster_name=said.cluster_name,
        api_server=said.api_server,
        controller_manager=said.controller_manager,
        scheduler=said.scheduler,
        # Its default logs every heartbeat; the lab's own policy logs the same of what users do.
        audit_policy=None if policy is None or policy.get("rules") == TALOS_AUDIT_RULES else policy,
    )


def skew(config: ClusterConfig, version: str) -> list[str]:
    """Where the config asks for another Kubernetes than the lab runs, in words."""
    asked = {
        "kube-apiserver": config.api_server.version,
        "kube-controller-manager": config.controller_manager.version,
        "kube-scheduler": config.scheduler.version,
    }
    others: dict[str, list[str]] = {}
    for name, each in asked.items():
        if each and each != version:
            others.setdefault(each, []).append(name)
    return [
        f"version skew: the machine config asks for {'Kubernetes' if len(names) == 3 else ' and '.join(names)} {each}, "
        f"the lab runs {version}"
        for each, names in others.items()
    ]
