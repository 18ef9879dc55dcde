"""The control plane as processes: which flags each part gets, and the files that they read.

Everything here is what a real control plane runs with (RBAC, Node authorizer, audit log, no anonymous access,
separate authorities) except three things, each for a reason: etcd does not fsync, since a lab may lose its last second;
the API server reaches pods and kubelets through an egress socket, since they are simulated; and leader election is off,
since there is one of each.
"""

import ipaddress
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from firstlight.lab import certificates, directory, kubeconfig, stages
from firstlight.lab import network as networks
from firstlight.lab import settings as lab_settings
from firstlight.lab.part import Part, Probe
from firstlight.lab.simulations import egress

COMPONENTS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "lab-proxy", "lab-kubelet",
)  # fmt: skip
"""What must be installed, in the order in which something can start with it."""

ACTORS = ("kube-controller-manager", "kube-scheduler", "kwok", "simulator")
"""Parts that write to the API; they rest while etcd's data is copied."""

UNTHROTTLED = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""With the default of 20 requests a second, the controllers of an empty cluster start 5 s late."""


def build(
    home: directory.Directory,
    net: networks.Network,
    wanted: lab_settings.Settings,
    programs: Mapping[str, Path],
) -> tuple[Part, ...]:
    """Write what the parts read and say how they are started."""
    write_files(home, wanted)
    parts = _Parts(home, net, wanted, pki=_certificates(home, net, wanted), programs=programs)
    return (
        parts.etcd(), parts.apiserver(), parts.controller_manager(), parts.scheduler(), parts.kwok(),
        parts.simulator(), parts.kubelet(), parts.proxy(),
    )  # fmt: skip


class _Pki:
    """The pairs that the parts name in their flags."""

    def __init__(self, home: directory.Directory, net: networks.Network, wanted: lab_settings.Settings) -> None:
        folder = home.certificates
        self.cluster = certificates.Authority(folder, "ca")
        self.etcd = certificates.Authority(folder, "etcd-ca")
        self.front = certificates.Authority(folder, "front-proxy-ca")
        self.signing = certificates.signing_key(folder / "service-accounts.key")
        service = str(ipaddress.ip_network(wanted.service_cidr)[1])
        names = [
            "kubernetes",
            "kubernetes.default",
            certificates.SERVER_NAME,
            "kubernetes.default.svc.cluster.local",
        ]
        self.api = self.cluster.issue(
            "apiserver", common_name="kube-apiserver", server_names=[*names, service, net.declared]
        )
        # etcd is no Kubernetes object and has no other address than the loopback one.
        self.etcd_server = self.etcd.issue("etcd", common_name="etcd", server_names=[net.loopback])
        self.etcd_client = self.etcd.issue("apiserver-etcd", common_name="kube-apiserver")
        self.front_client = self.front.issue("front-proxy", common_name="front-proxy")
        self.kubelet_client = self.cluster.issue(
            "apiserver-kubelet", common_name="kube-apiserver-kubelet", organizations=["system:masters"]
        )
        self.parts = self.cluster.issue("parts", common_name="lab:parts", server_names=[certificates.SERVER_NAME])


def _certificates(home: directory.Directory, net: networks.Network, wanted: lab_settings.Settings) -> _Pki:
    pki = _Pki(home, net, wanted)
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


def write_files(home: directory.Directory, wanted: lab_settings.Settings) -> None:
    """Write what the API server, kwok and the kubelet read besides their flags."""
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
    rules = {
        "logs": [msgspec.to_builtins(rule) for rule in wanted.logs],
        "exec": [msgspec.to_builtins(rule) for rule in wanted.exec],
    }
    for name, content in (
        ("audit.json", AUDIT_POLICY),
        ("egress.json", selector),
        ("kubelet-rules.json", rules),
    ):
        directory.write_whole(home.run / name, msgspec.json.encode(content))
    directory.write_whole(home.run / "kwok.yaml", stages.render(wanted).encode())


class _Parts:
    """What all parts are made from, and how each is made."""

    def __init__(
        self,
        home: directory.Directory,
        net: networks.Network,
        wanted: lab_settings.Settings,
        *,
        pki: _Pki,
        programs: Mapping[str, Path],
    ) -> None:
        self.home = home
        self.net = net
        self.wanted = wanted
        self.pki = pki
        self.programs = programs

    def etcd(self) -> Part:
        """The store."""
        client, peer = (
            f"https://{self.net.loopback}:{self.net.etcd}",
            f"https://{self.net.loopback}:{self.net.etcd_peer}",
        )
        server = self.pki.etcd_server
        return Part(
            name="etcd",
            what="the store, without fsync",
            reality="real",
            argv=(
                str(self.programs["etcd"]),
                "--name=lab",
                f"--data-dir={self.home.etcd}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=lab={peer}",
                f"--listen-metrics-urls=http://{self.net.loopback}:{self.net.etcd_metrics}",
                "--client-cert-auth",
                f"--trusted-ca-file={self.pki.etcd.pair.certificate}",
                f"--cert-file={server.certificate}",
                f"--key-file={server.key}",
                "--peer-client-cert-auth",
                f"--peer-trusted-ca-file={self.pki.etcd.pair.certificate}",
                f"--peer-cert-file={server.certificate}",
                f"--peer-key-file={server.key}",
                "--unsafe-no-fsync",
                "--snapshot-count=10000",
                "--auto-compaction-retention=30m",
                "--log-level=warn",
            ),
            probe=Probe(url=f"http://{self.net.loopback}:{self.net.etcd_metrics}/readyz"),
        )

    def apiserver(self) -> Part:
        """The API."""
        ca = self.pki.cluster.pair
        return Part(
            name="kube-apiserver",
            what="the API, with RBAC and an audit log",
            reality="real",
            argv=(
                str(self.programs["kube-apiserver"]),
                f"--bind-address={self.net.loopback}",
                f"--secure-port={self.net.api}",
                f"--advertise-address={self.net.declared}",
                f"--etcd-servers=https://{self.net.loopback}:{self.net.etcd}",
                f"--etcd-cafile={self.pki.etcd.pair.certificate}",
                f"--etcd-certfile={self.pki.etcd_client.certificate}",
                f"--etcd-keyfile={self.pki.etcd_client.key}",
                f"--tls-cert-file={self.pki.api.certificate}",
                f"--tls-private-key-file={self.pki.api.key}",
                f"--client-ca-file={ca.certificate}",
                "--anonymous-auth=false",
                "--authorization-mode=Node,RBAC",
                "--enable-admission-plugins=NodeRestriction",
                "--enable-bootstrap-token-auth",
                "--allow-privileged",
                f"--service-cluster-ip-range={self.wanted.service_cidr}",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-key-file={self.pki.signing}",
                f"--service-account-signing-key-file={self.pki.signing}",
                f"--requestheader-client-ca-file={self.pki.front.pair.certificate}",
                "--requestheader-allowed-names=front-proxy",
                "--requestheader-username-headers=X-Remote-User",
                "--requestheader-group-headers=X-Remote-Group",
                "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                f"--proxy-client-cert-file={self.pki.front_client.certificate}",
                f"--proxy-client-key-file={self.pki.front_client.key}",
                f"--kubelet-client-certificate={self.pki.kubelet_client.certificate}",
                f"--kubelet-client-key={self.pki.kubelet_client.key}",
                "--kubelet-preferred-address-types=InternalIP",
                # With it a webhook whose pods are not ready fails by itself: "no endpoints available".
                "--enable-aggregator-routing=true",
                "--egress-selector-config-file=egress.json",
                "--audit-policy-file=audit.json",
                f"--audit-log-path={self.home.audit_log}",
                "--audit-log-maxsize=100",
                "--audit-log-maxbackup=2",
                "--shutdown-delay-duration=0s",
                "--profiling=false",
            ),
            probe=Probe(url=f"https://{self.net.loopback}:{self.net.api}/readyz"),
            needs=("etcd",),
            grace=8,
        )

    def controller_manager(self) -> Part:
        """The controllers."""
        name = "kube-controller-manager"
        ca = self.pki.cluster.pair
        return Part(
            name=name,
            what="all controllers",
            reality="real",
            argv=(
                str(self.programs[name]),
                *self._shared_flags(name, self.net.controller_manager),
                "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
                "--use-service-account-credentials",
                f"--service-account-private-key-file={self.pki.signing}",
                f"--root-ca-file={ca.certificate}",
                f"--cluster-signing-cert-file={ca.certificate}",
                f"--cluster-signing-key-file={ca.key}",
                "--allocate-node-cidrs",
                f"--cluster-cidr={self.wanted.pod_cidr}",
                f"--service-cluster-ip-range={self.wanted.service_cidr}",
            ),
            probe=Probe(url=f"https://{self.net.loopback}:{self.net.controller_manager}/healthz"),
            needs=("kube-apiserver",),
        )

    def scheduler(self) -> Part:
        """The scheduler."""
        name = "kube-scheduler"
        return Part(
            name=name,
            what="places pods",
            reality="real",
            argv=(
                str(self.programs[name]),
                *self._shared_flags(name, self.net.scheduler),
            ),
            probe=Probe(url=f"https://{self.net.loopback}:{self.net.scheduler}/readyz"),
            needs=("kube-apiserver",),
        )

    def kwok(self) -> Part:
        """The kubelets that write."""
        return Part(
            name="kwok",
            what="kubelets: node and pod status",
            reality="simulated",
            argv=(
                str(self.programs["kwok"]),
                f"--kubeconfig={self.home.certificates / 'kwok.kubeconfig'}",
                "--config=kwok.yaml",
                "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                f"--cidr={self.wanted.pod_cidr}",
                f"--node-port={egress.KUBELET_PORT}",
                # Heartbeats are in the status (stages.yaml): with leases, a kwok that comes back would wait until
                # those of its predecessor expire, and all nodes would play dead for 40 s.
                "--node-lease-duration-seconds=0",
                f"--server-address={self.net.loopback}:{self.net.kwok}",
                "--v=WARN",
            ),
            probe=Probe(url=f"http://{self.net.loopback}:{self.net.kwok}/healthz"),
            needs=("kube-apiserver",),
            env={"HOME": str(self.home.run)},
        )

    def kubelet(self) -> Part:
        """The kubelet that answers."""
        return Part(
            name="lab-kubelet",
            what="logs and exec, by rule",
            reality="simulated",
            argv=(
                str(self.programs["lab-kubelet"]),
                f"--listen={self.net.loopback}:{self.net.kubelet}",
                f"--tls-cert={self.pki.parts.certificate}",
                f"--tls-key={self.pki.parts.key}",
                f"--client-ca={self.pki.cluster.pair.certificate}",
                f"--rules={self.home.run / 'kubelet-rules.json'}",
            ),
            probe=Probe(url=f"https://{self.net.loopback}:{self.net.kubelet}/healthz"),
        )

    def proxy(self) -> Part:
        """The way with faults."""
        return Part(
            name="lab-proxy",
            what="a way to the API, with faults",
            reality="simulated",
            argv=(
                str(self.programs["lab-proxy"]),
                f"--listen={self.net.loopback}:{self.net.faults}",
                f"--upstream=https://{self.net.loopback}:{self.net.api}",
                f"--tls-cert={self.pki.api.certificate}",
                f"--tls-key={self.pki.api.key}",
                f"--client-ca={self.pki.cluster.pair.certificate}",
                f"--upstream-ca={self.pki.cluster.pair.certificate}",
                f"--upstream-name={certificates.SERVER_NAME}",
                f"--front-cert={self.pki.front_client.certificate}",
                f"--front-key={self.pki.front_client.key}",
                f"--control={self.home.faults}",
            ),
            probe=Probe(url="http://lab/healthz", socket=self.home.faults),
        )

    def simulator(self) -> Part:
        """What nobody else does."""
        return Part(
            name="simulator",
            what="what no program does; see below",
            reality="simulated",
            argv=(sys.executable, "-m", "firstlight.lab.simulator", str(self.home.path)),
            probe=Probe(mark=self.home.run / "simulator.ready"),
            # It waits for the API server itself, so that its imports do not add to the time that a start takes.
            needs=("etcd",),
        )

    def _shared_flags(self, name: str, port: int) -> tuple[str, ...]:
        """Flags that controller manager and scheduler have in common."""
        access = self.home.certificates / f"{name}.kubeconfig"
        return (
            f"--kubeconfig={access}",
            f"--authentication-kubeconfig={access}",
            f"--authorization-kubeconfig={access}",
            f"--bind-address={self.net.loopback}",
            f"--secure-port={port}",
            f"--tls-cert-file={self.pki.parts.certificate}",
            f"--tls-private-key-file={self.pki.parts.key}",
            "--leader-elect=false",
            "--profiling=false",
            *UNTHROTTLED,
        )
