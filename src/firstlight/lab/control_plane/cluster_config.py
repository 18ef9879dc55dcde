"""What the control plane of a lab is built from: the lab's own settings, or the config of a machine.

A machine says in ``control-plane.json`` what its static pods should be; ``of_machine`` reads that.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from firstlight import errors
from firstlight.lab import lab_directory, lab_settings, loopback_network
from firstlight.lab.simulations import egress
from firstlight.tools import catalogue

TALOS_AUDIT_RULES = [{"level": "Metadata"}]
"""The policy of a machine config that says nothing of it."""


class ControlPlaneComponent(msgspec.Struct, frozen=True, rename="camel"):
    """What a machine config says of one part of the control plane."""

    image: str = ""
    version: str = ""
    extra_args: dict[str, tuple[str, ...]] = {}


class ApiServerComponent(ControlPlaneComponent, frozen=True, rename="camel"):
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
    api_server: ApiServerComponent = ApiServerComponent()
    controller_manager: ControlPlaneComponent = ControlPlaneComponent()
    scheduler: ControlPlaneComponent = ControlPlaneComponent()
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
    api_server: ApiServerComponent = ApiServerComponent()
    controller_manager: ControlPlaneComponent = ControlPlaneComponent()
    scheduler: ControlPlaneComponent = ControlPlaneComponent()
    audit_policy: dict[str, Any] | None = None
    has_own_etcd: bool = False
    """Whether etcd is a part of the lab, and not of a machine."""

    @property
    def heartbeat(self) -> float:
        """Seconds between signs of life of the kubelets: several within the time after which a node counts as lost."""
        given = self.controller_manager.extra_args.get("node-monitor-grace-period", ("",))[-1]
        return min(HEARTBEAT, _seconds(given) / 5) if _seconds(given) else HEARTBEAT


_DURATION = re.compile(r"([0-9.]+)(ms|s|m|h)")


def _seconds(duration: str) -> float:
    """A span of time as Go writes it; 0 if it is none."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    return sum(float(number) * units[unit] for number, unit in _DURATION.findall(duration))


def of_settings(wanted: lab_settings.LabSettings, net: loopback_network.LoopbackNetwork) -> ClusterConfig:
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


# kwok's stages for a lab: ``stages.yaml`` with the settings filled in.


_TEMPLATE = Path(__file__).with_name("stages.yaml")


HEARTBEAT = 10.0
"""Seconds between two signs of life of a kubelet."""


def kwok_stages(wanted: lab_settings.LabSettings, *, heartbeat: float = HEARTBEAT) -> str:
    """The configuration file that kwok reads."""
    # Kubelets are as old as the API server that the lab runs.
    version = catalogue.load().get("kube-apiserver").version
    # Where nodes can be off, nothing starts on them before the simulator has said that it may.
    sandbox = '"False"' if wanted.machines else '{{ if .spec.hostNetwork }}"True"{{ else }}"False"{{ end }}'
    return (
        _TEMPLATE.read_text()
        .replace("@pullMilliseconds@", str(round(wanted.pull_seconds * 1000)))
        .replace("@kubernetesVersion@", f"v{version}")
        .replace("@imageState@", _image_state(wanted.broken_images))
        .replace("@sandbox@", sandbox)
        .replace("@kubeletPort@", str(egress.KUBELET_PORT))
        .replace("@heartbeat@", str(round(heartbeat * 1000)))
        .replace("@latestHeartbeat@", str(round(heartbeat * 1200)))
    )


def _image_state(broken: tuple[str, ...]) -> str:
    """A jq expression that is ``broken`` for pods with an image that matches a glob, ``fine`` for others."""
    if not broken:
        return '"fine"'
    regex = msgspec.json.encode("^(" + "|".join(map(_pattern, broken)) + ")$").decode()
    quoted = regex.replace("'", "''")
    is_broken = f"[(.spec.initContainers[]?, .spec.containers[]) | .image | test({quoted})] | any"
    return f'if {is_broken} then "broken" else "fine" end'


def _pattern(glob: str) -> str:
    """A glob for RE2, which does not know what ``fnmatch.translate`` writes."""
    return "".join({"*": ".*", "?": "."}.get(each, re.escape(each)) for each in glob)


# What the parts of the control plane read besides their flags: policies, rules, stages.


AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        # What the control plane reads, and its own leases, say nothing of those who use the lab.
        {
            "level": "None",
            "users": ["system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "lab:kwok",
                      "lab:simulator"],
            "verbs": ["get", "list", "watch"],
        },
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"], "verbs": ["get", "list", "watch"]},
        {"level": "None", "users": ["lab:kwok", "system:apiserver"],
         "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
        {"level": "Metadata"},
    ],
}  # fmt: skip


def write_control_plane_files(
    home: lab_directory.LabDirectory, wanted: lab_settings.LabSettings, config: ClusterConfig
) -> None:
    """Write what the API server, kwok and the kubelet read besides their flags."""
    write_kubelet_files(home, wanted, config)
    selector = {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [
            {
                "name": "cluster",
                "connection": {
                    "proxyProtocol": "HTTPConnect",
                    # Relative to the API server's working directory: a unix socket's path may have 108 bytes at most.
                    "transport": {"uds": {"udsName": egress.SOCKET}},
                },
            }
        ],
    }
    for name, content in (("audit.json", config.audit_policy or AUDIT_POLICY), ("egress.json", selector)):
        lab_directory.write_whole(home.run / name, msgspec.json.encode(content))


def write_kubelet_files(
    home: lab_directory.LabDirectory, wanted: lab_settings.LabSettings, config: ClusterConfig
) -> None:
    """Write what may change while the lab runs: how pods behave."""
    rules = {
        "logs": [msgspec.to_builtins(rule) for rule in wanted.logs],
        "exec": [msgspec.to_builtins(rule) for rule in wanted.exec],
    }
    lab_directory.write_whole(home.run / "kubelet-rules.json", msgspec.json.encode(rules))
    lab_directory.write_whole(home.run / "kwok.yaml", kwok_stages(wanted, heartbeat=config.heartbeat).encode())
