"""The control plane as processes: which flags each part gets.

Everything here is what a real control plane runs with (RBAC, Node authorizer, audit log, no anonymous access,
separate authorities) except three things, each for a reason: etcd does not fsync, since a lab may lose its last second;
the API server reaches pods and kubelets through an egress socket, since they are simulated; and leader election is off,
since there is one of each.
"""

from collections.abc import Mapping
from pathlib import Path

from firstlight.clients import interpreter
from firstlight.lab import certificates, lab_directory, lab_settings, loopback_network, procfs
from firstlight.lab.control_plane import cluster_config, component_flags
from firstlight.lab.control_plane.cluster_config import ClusterConfig
from firstlight.lab.lab_part import Part, ReadinessProbe, Reality

COMPONENTS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "lab-proxy", "lab-kubelet",
)  # fmt: skip
"""What must be installed, in the order in which something can start with it."""

PARTS: Mapping[str, tuple[str, Reality]] = {
    "kube-apiserver": ("the API, with RBAC and an audit log", "real"),
    "kube-controller-manager": ("all controllers", "real"),
    "kube-scheduler": ("places pods", "real"),
    "kwok": ("kubelets: node and pod status", "simulated"),
    "simulator": ("what no program does; see below", "simulated"),
    "lab-kubelet": ("logs and exec, by rule", "simulated"),
    "lab-proxy": ("a way to the API, with faults", "simulated"),
}
"""What each is, and whether it is real; etcd is one of them only where no machine has one."""

ACTORS = ("kube-controller-manager", "kube-scheduler", "kwok", "simulator")
"""Parts that write to the API; they rest while etcd's data is copied."""

UNTHROTTLED = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""With the default of 20 requests a second, the controllers of an empty cluster start 5 s late."""


def build(
    home: lab_directory.LabDirectory,
    net: loopback_network.LoopbackNetwork,
    wanted: lab_settings.LabSettings,
    programs: Mapping[str, Path],
    *,
    config: ClusterConfig | None = None,
) -> tuple[Part, ...]:
    """Write what the parts read and say how they are started.

    Args:
        home: Where the lab is.
        net: Where it listens.
        wanted: What it is asked to be.
        programs: Where the components are.
        config: What the control plane is built from; the settings themselves if it is not given.
    """
    config = config or cluster_config.of_settings(wanted, net)
    cluster_config.write_control_plane_files(home, wanted, config)
    parts = _Parts(home, net, config, pki=certificates.make_pki(home, net, config), programs=programs)
    return (
        *((parts.etcd(),) if config.has_own_etcd else ()),
        parts.apiserver(), parts.controller_manager(), parts.scheduler(), parts.kwok(),
        parts.simulator(), parts.kubelet(), parts.proxy(),
    )  # fmt: skip


def unknown() -> tuple[Part, ...]:
    """The same parts before anybody has said what they are built from; they cannot run."""
    return tuple(
        Part(name=name, what=what, reality=reality, argv=(), probe=ReadinessProbe())
        for name, (what, reality) in PARTS.items()
    )


class _Parts:
    """What all parts are made from, and how each is made."""

    def __init__(
        self,
        home: lab_directory.LabDirectory,
        net: loopback_network.LoopbackNetwork,
        config: ClusterConfig,
        *,
        pki: certificates.Pki,
        programs: Mapping[str, Path],
    ) -> None:
        self.home = home
        self.net = net
        self.config = config
        self.pki = pki
        self.programs = programs

    def etcd(self) -> Part:
        """The store."""
        client, peer = (
            f"https://{self.net.loopback}:{self.net.etcd}",
            f"https://{self.net.loopback}:{self.net.etcd_peer}",
        )
        server = self.pki.etcd_server(self.net.loopback)
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
                # A file in its working directory, which is the lab's own: nobody else asks it, and no port is open.
                f"--listen-metrics-urls=unix://{self.home.etcd_health.name}",
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
            probe=ReadinessProbe(url="http://lab/readyz", socket=self.home.etcd_health),
        )

    def apiserver(self) -> Part:
        """The API."""
        ca = self.pki.cluster.pair
        plugins = ("NodeRestriction", *self.config.api_server.admission_plugins)
        return self._part(
            "kube-apiserver",
            (
                f"--bind-address={self.net.loopback}",
                f"--secure-port={self.net.api}",
                f"--advertise-address={self.config.advertised}",
                f"--etcd-servers={self.config.etcd}",
                f"--etcd-cafile={self.pki.etcd.pair.certificate}",
                f"--etcd-certfile={self.pki.etcd_client.certificate}",
                f"--etcd-keyfile={self.pki.etcd_client.key}",
                f"--tls-cert-file={self.pki.api.certificate}",
                f"--tls-private-key-file={self.pki.api.key}",
                f"--client-ca-file={ca.certificate}",
                "--anonymous-auth=false",
                "--authorization-mode=Node,RBAC",
                f"--enable-admission-plugins={','.join(dict.fromkeys(plugins))}",
                "--enable-bootstrap-token-auth",
                "--allow-privileged",
                f"--service-cluster-ip-range={','.join(self.config.service_cidrs)}",
                f"--service-account-issuer={self.config.issuer}",
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
            probe=ReadinessProbe(url=f"https://{self.net.loopback}:{self.net.api}/readyz"),
            needs=self._store,
            extra=self.config.api_server.extra_args,
            grace=8,
        )

    def controller_manager(self) -> Part:
        """The controllers."""
        name = "kube-controller-manager"
        ca = self.pki.cluster.pair
        return self._part(
            name,
            (
                *self._shared_flags(name, self.net.controller_manager),
                "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
                "--use-service-account-credentials",
                f"--service-account-private-key-file={self.pki.signing}",
                f"--root-ca-file={ca.certificate}",
                f"--cluster-signing-cert-file={ca.certificate}",
                f"--cluster-signing-key-file={ca.key}",
                "--allocate-node-cidrs",
                f"--cluster-cidr={','.join(self.config.pod_cidrs)}",
                f"--service-cluster-ip-range={','.join(self.config.service_cidrs)}",
                *((f"--cluster-name={self.config.cluster_name}",) if self.config.cluster_name else ()),
            ),
            probe=ReadinessProbe(url=f"https://{self.net.loopback}:{self.net.controller_manager}/healthz"),
            needs=("kube-apiserver",),
            extra=self.config.controller_manager.extra_args,
        )

    def scheduler(self) -> Part:
        """The scheduler."""
        name = "kube-scheduler"
        return self._part(
            name,
            self._shared_flags(name, self.net.scheduler),
            probe=ReadinessProbe(url=f"https://{self.net.loopback}:{self.net.scheduler}/readyz"),
            needs=("kube-apiserver",),
            extra=self.config.scheduler.extra_args,
        )

    def kwok(self) -> Part:
        """The kubelets that write."""
        return self._part(
            "kwok",
            (
                f"--kubeconfig={self.home.certificates / 'kwok.kubeconfig'}",
                "--config=kwok.yaml",
                "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                f"--cidr={self.config.pod_cidrs[0]}",
                # Heartbeats are in the status (stages.yaml): with leases, a kwok that comes back would wait until
                # those of its predecessor expire, and all nodes would play dead for 40 s.
                "--node-lease-duration-seconds=0",
                # Without both it has no server: no health, but no profiles for everybody either.
                "--server-address=",
                "--node-port=0",
                "--v=WARN",
            ),
            probe=ReadinessProbe(connected=procfs.SocketAddress(self.net.loopback, self.net.api)),
            needs=("kube-apiserver",),
            env={"HOME": str(self.home.run)},
        )

    def kubelet(self) -> Part:
        """The kubelet that answers."""
        return self._part(
            "lab-kubelet",
            (
                f"--listen={self.net.loopback}:{self.net.kubelet}",
                f"--tls-cert={self.pki.parts.certificate}",
                f"--tls-key={self.pki.parts.key}",
                f"--client-ca={self.pki.cluster.pair.certificate}",
                f"--rules={self.home.run / 'kubelet-rules.json'}",
            ),
            probe=ReadinessProbe(url=f"https://{self.net.loopback}:{self.net.kubelet}/healthz"),
        )

    def proxy(self) -> Part:
        """The way with faults."""
        return self._part(
            "lab-proxy",
            (
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
            probe=ReadinessProbe(url="http://lab/healthz", socket=self.home.faults),
        )

    def simulator(self) -> Part:
        """What nobody else does."""
        what, reality = PARTS["simulator"]
        return Part(
            name="simulator",
            what=what,
            reality=reality,
            argv=interpreter.module("firstlight.lab.simulator", str(self.home.path)),
            probe=ReadinessProbe(mark=self.home.run / "simulator.ready", what="its simulations to start"),
            # It waits for the API server itself, so that its imports do not add to the time that a start takes.
            needs=self._store,
            reads=(self.home.certificates / "simulator.kubeconfig",),
        )

    @property
    def _store(self) -> tuple[str, ...]:
        """The part that must be ready before the API server; machines see to their own etcd."""
        return ("etcd",) if self.config.has_own_etcd else ()

    def _part(
        self,
        name: str,
        ours: tuple[str, ...],
        *,
        probe: ReadinessProbe,
        needs: tuple[str, ...] = (),
        extra: Mapping[str, tuple[str, ...]] | None = None,
        env: Mapping[str, str] | None = None,
        grace: float = 5,
    ) -> Part:
        what, reality = PARTS[name]
        argv = (str(self.programs[name]), *component_flags.merge_flags(ours, extra or {}))
        return Part(
            name=name, what=what, reality=reality, argv=argv, probe=probe, needs=needs, env=env or {}, grace=grace
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
