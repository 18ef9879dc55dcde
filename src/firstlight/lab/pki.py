"""The certificates that the parts of a control plane name in their flags, and the kubeconfigs of those who use it."""

import ipaddress
from pathlib import Path

from firstlight import errors
from firstlight.lab import certificates, directory, kubeconfig
from firstlight.lab import network as networks
from firstlight.lab.cluster_config import ClusterConfig

AUTHORITIES = ("ca", "etcd-ca", "front-proxy-ca")
SIGNING_KEY = "service-accounts.key"


class Pki:
    """The pairs that the parts name in their flags."""

    def __init__(self, folder: Path, config: ClusterConfig) -> None:
        self.cluster = certificates.Authority(folder, "ca")
        self.etcd = certificates.Authority(folder, "etcd-ca")
        self.front = certificates.Authority(folder, "front-proxy-ca")
        self.signing = certificates.signing_key(folder / SIGNING_KEY)
        services = [str(ipaddress.ip_network(each, strict=False)[1]) for each in config.service_cidrs]
        names = [
            "kubernetes",
            "kubernetes.default",
            certificates.SERVER_NAME,
            f"{certificates.SERVER_NAME}.{config.dns_domain}",
        ]
        self.api = self.cluster.issue(
            "apiserver", common_name="kube-apiserver", server_names=[*names, *services, *config.names]
        )
        self.etcd_client = self.etcd.issue("apiserver-etcd", common_name="kube-apiserver")
        self.front_client = self.front.issue("front-proxy", common_name="front-proxy")
        self.kubelet_client = self.cluster.issue(
            "apiserver-kubelet", common_name="kube-apiserver-kubelet", organizations=["system:masters"]
        )
        self.parts = self.cluster.issue("parts", common_name="lab:parts", server_names=[certificates.SERVER_NAME])

    def etcd_server(self, loopback: str) -> certificates.Pair:
        """That of the lab's own etcd, which is no Kubernetes object and has no other address than this one."""
        return self.etcd.issue("etcd", common_name="etcd", server_names=[loopback])


def make(home: directory.Directory, net: networks.Network, config: ClusterConfig) -> Pki:
    """All certificates, and a kubeconfig for each user of the API."""
    pki = Pki(home.certificates, config)
    direct = f"https://{net.loopback}:{net.api}"
    ca = pki.cluster.pair.certificate
    users = {
        "admin": ("admin", ["system:masters"]),
        "kube-controller-manager": ("system:kube-controller-manager", []),
        "kube-scheduler": ("system:kube-scheduler", []),
        "kwok": ("lab:kwok", ["system:masters"]),
        "simulator": ("lab:simulator", ["system:masters"]),
    }
    for name, (user, groups) in users.items():
        pair = pki.cluster.issue(name, common_name=user, organizations=groups)
        path = home.kubeconfig if name == "admin" else home.certificates / f"{name}.kubeconfig"
        context = f"lab-{home.name}"
        kubeconfig.write(path, server=direct, authority=ca, user=user, pair=pair, context=context)
        if name == "admin":
            through = f"https://{net.loopback}:{net.faults}"
            kubeconfig.write(
                home.kubeconfig_faults, server=through, authority=ca, user=user, pair=pair, context=f"{context}-faults"
            )
    return pki


def adopt(source: Path, target: Path) -> None:
    """Take over the authorities of a machine config.

    Raises:
        errors.LabError: They are not all there.
    """
    for name in AUTHORITIES:
        certificates.adopt(source, target, name)
    try:
        certificates.adopt_key(source / SIGNING_KEY, target / SIGNING_KEY)
    except OSError as error:
        raise errors.LabError(f"{source / SIGNING_KEY} cannot be read: {error.strerror}") from error


def forget(home: directory.Directory) -> None:
    """Take away the way in to a cluster that is no more."""
    for path in (home.kubeconfig, home.kubeconfig_faults, home.certificates / "cluster"):
        path.unlink(missing_ok=True)
