"""What the rules see: a cluster, its machines, its objects, events and logs, as plain data of one moment.

Whoever looks fills it as far as it got; what is not there is taken for not seen, and never for wrong. No value of a
Secret is in it.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import mapping, text
from firstlight.gates.causes import refusals
from firstlight.model import argocd_names, flux_names, machine
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.machine import Clock, InstallDisk, LinkAddress, NetworkLink, TalosDiagnostic, TalosServiceState
from firstlight.model.machine_report import MachineReport
from firstlight.model.override import Override

KINDS = (
    "/Node", "/Namespace", "/Pod", "/Service", "/PersistentVolumeClaim", "/PersistentVolume", "/ConfigMap", "/Secret",
    "/ResourceQuota", "/LimitRange", "/ServiceAccount",
    "apps/Deployment", "apps/DaemonSet", "apps/StatefulSet", "apps/ReplicaSet", "batch/Job",
    "discovery.k8s.io/EndpointSlice", "storage.k8s.io/StorageClass", "storage.k8s.io/CSIDriver",
    "networking.k8s.io/Ingress", "networking.k8s.io/IngressClass", "coordination.k8s.io/Lease",
    "certificates.k8s.io/CertificateSigningRequest", "apiregistration.k8s.io/APIService",
    "apiextensions.k8s.io/CustomResourceDefinition",
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    flux_names.GIT_REPOSITORY_GROUP_KIND, flux_names.OCI_REPOSITORY_GROUP_KIND,
    flux_names.HELM_REPOSITORY_GROUP_KIND, flux_names.HELM_CHART_GROUP_KIND, flux_names.BUCKET_GROUP_KIND,
    flux_names.KUSTOMIZATION_GROUP_KIND, flux_names.HELM_RELEASE_GROUP_KIND,
    flux_names.FLUX_INSTANCE_GROUP_KIND, argocd_names.APPLICATION_GROUP_KIND, argocd_names.APP_PROJECT_GROUP_KIND,
    "cilium.io/CiliumLoadBalancerIPPool", "metallb.io/IPAddressPool", "metallb.io/BGPAdvertisement",
    "metallb.io/L2Advertisement", "cilium.io/CiliumNode",
    "cilium.io/CiliumBGPClusterConfig", "cilium.io/CiliumBGPPeerConfig", "cilium.io/CiliumBGPAdvertisement",
    "cilium.io/CiliumBGPNodeConfig", "cilium.io/CiliumL2AnnouncementPolicy",
    "external-secrets.io/ExternalSecret", "external-secrets.io/SecretStore", "external-secrets.io/ClusterSecretStore",
    "cert-manager.io/Certificate", "cert-manager.io/Issuer", "cert-manager.io/ClusterIssuer",
    "gateway.networking.k8s.io/Gateway", "gateway.networking.k8s.io/GatewayClass",
    "gateway.networking.k8s.io/HTTPRoute",
)  # fmt: skip
"""The kinds that rules look at, as ``group/Kind``; others are looked at only where they are being deleted."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachineObservation:
    """One machine, with what it says of itself; nothing where it could not be asked."""

    report: MachineReport
    services: tuple[TalosServiceState, ...] = ()
    """All services, whatever their state."""
    diagnostics: tuple[TalosDiagnostic, ...] = ()
    """``talosctl get diagnostics``."""
    dmesg: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    """The last lines, some hundreds."""
    links: Mapping[str, NetworkLink] = dataclasses.field(default_factory=dict)
    disks: tuple[InstallDisk, ...] = ()
    addresses: tuple[LinkAddress, ...] = ()
    clock: Clock | None = None
    documents: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    """Of the machine config only what concerns disks and interfaces: ``machine.install``, ``machine.network``, and
    the documents ``LinkConfig``; for a machine in maintenance mode what it would be given, if that is known."""

    @property
    def machine(self) -> Machine:
        """The machine as it is declared."""
        return self.report.machine

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.report.machine.name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ApiObservation:
    """The Kubernetes API."""

    is_reached: bool | None = None
    """None where nobody tried."""
    why: str = ""
    """Why it is not reached, as the client says it: ``connection refused``, ``x509: certificate has expired …``."""
    is_foreign: bool = False
    """Whether somebody answers whose certificate another authority signed."""
    is_refused: bool = False
    """Whether it does not accept the credentials."""
    failed_checks: tuple[str, ...] = ()
    """Of ``/readyz?verbose``: lines that begin with ``[-]``, without that."""
    serving_until: float | None = None
    """When the certificate of the server expires."""
    kubeconfig_until: float | None = None
    """When the client certificate that was used expires."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class WantedLog:
    """The last lines of a container that rules want."""

    namespace: str
    pod: str
    container: str
    is_previous: bool = False
    """Of the one that ended before."""

    @property
    def key(self) -> str:
        """Under which the scene has the lines."""
        return f"{self.namespace}/{self.pod}/{self.container}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterObservation:
    """Everything that rules may look at."""

    cluster: Cluster
    now: float
    patience: float = 60.0
    """Seconds that something may take to become ready before that alone is a symptom. What says itself why it fails is
    told at once."""
    objects: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    """All kinds, mixed, each with apiVersion and kind. A Secret has ``type``, and ``keys`` (a list of the names in its
    data) in place of its data. Helm's Secrets (type ``helm.sh/release.v1``) have their labels, from which status and
    version are read. Objects need no managedFields, but a Deployment, DaemonSet or ConfigMap with them shows fights."""
    events: tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)
    """Kubernetes events (v1)."""
    logs: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict, repr=False)
    """The last lines of containers, by ``WantedLog.key``."""
    certificates: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """When the certificates in Secrets of type ``kubernetes.io/tls`` expire, by ``namespace/name``."""
    machines: tuple[MachineObservation, ...] = ()
    members: tuple[machine.EtcdMember, ...] = ()
    """The members of etcd as one healthy control plane knows them."""
    member_statuses: tuple[machine.EtcdStatus, ...] = ()
    alarms: tuple[machine.EtcdAlarm, ...] = ()
    api: ApiObservation = ApiObservation()
    unserved: frozenset[str] = frozenset()
    """Kinds of KINDS that the server does not know, as ``group/Kind``."""
    foundation: tuple[tuple[str, str], ...] = ()
    """Namespace and name of the foundation secrets that the repo declares for this cluster."""
    problems: tuple[Diagnostic, ...] = ()
    """What the plan of the repo says stands in the way; none where there is no repo."""
    overrides: tuple[Override, ...] = ()
    """The records of overrides that are not over."""
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why: ``machines: no talosconfig is given``."""
    unlisted: frozenset[str] = frozenset()
    """Kinds of KINDS that could not be listed, as ``group/Kind``: of these, that one is missing says nothing."""

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
        """Objects by ``group/Kind``; of the same name only one, in an order that does not depend on the looking."""
        found: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
        for each in self.objects:
            found.setdefault(kind_of(each), {})[_place(each)] = each
        return {kind: tuple(each[key] for key in sorted(each)) for kind, each in found.items()}

    def of(self, *kinds: str) -> tuple[Mapping[str, Any], ...]:
        """Objects of kinds, as ``group/Kind``; ``/Node`` for the core group."""
        return tuple(each for kind in kinds for each in self.by_kind.get(kind, ()))

    @cached_property
    def _spaces(self) -> Mapping[tuple[str, str], tuple[Mapping[str, Any], ...]]:
        found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for kind, all_of_it in self.by_kind.items():
            for each in all_of_it:
                found.setdefault((kind, _place(each)[0]), []).append(each)
        return {key: tuple(each) for key, each in found.items()}

    def inside(self, kind: str, namespace: str) -> tuple[Mapping[str, Any], ...]:
        """Objects of a kind in a namespace."""
        return self._spaces.get((kind, namespace), ())

    @cached_property
    def _index(self) -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
        return {(kind, *_place(each)): each for kind, found in self.by_kind.items() for each in found}

    def one(self, kind: str, name: str, *, namespace: str = "") -> Mapping[str, Any] | None:
        """An object by its name."""
        return self._index.get((kind, namespace, name))

    def is_listed(self, kind: str) -> bool:
        """Whether all of a kind were seen, so that what is not there is missing."""
        return self.api.is_reached is True and kind not in self.unlisted

    @cached_property
    def _events(self) -> Mapping[tuple[str, str, str], tuple[Mapping[str, Any], ...]]:
        found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
        for each in self.events:
            about = mapping(each, "involvedObject")
            found.setdefault((text(about, "kind"), text(about, "namespace"), text(about, "name")), []).append(each)
        return {key: tuple(sorted(each, key=_newest)) for key, each in found.items()}

    def events_of(self, value: Mapping[str, Any], *reasons: str) -> tuple[Mapping[str, Any], ...]:
        """The events about an object, of these reasons or of all; the newest first."""
        found = self._events.get((text(value, "kind"), *_place(value)), ())
        return tuple(each for each in found if not reasons or text(each, "reason") in reasons)

    def events_with(self, *reasons: str) -> Iterator[Mapping[str, Any]]:
        """All events of these reasons, in an order of their own."""
        for key in sorted(self._events):
            yield from (each for each in self._events[key] if text(each, "reason") in reasons)

    def is_over(self, since: float | None, *, times: float = 1.0) -> bool:
        """Whether something lasts longer than patience does, or several times as long; always, if nobody knows."""
        return since is None or self.now - since >= self.patience * times

    def log_of(self, namespace: str, pod: str) -> Iterable[tuple[str, tuple[str, ...]]]:
        """The logs of a pod, by container."""
        start = f"{namespace}/{pod}/"
        return sorted((key.removeprefix(start), lines) for key, lines in self.logs.items() if key.startswith(start))


def kind_of(value: Mapping[str, Any]) -> str:
    """``apps/Deployment``, ``/Pod``."""
    group, slash, _ = text(value, "apiVersion").rpartition("/")
    return f"{group if slash else ''}/{text(value, 'kind')}"


def name_of(value: Mapping[str, Any]) -> str:
    """``Deployment shop/web``, ``Node cp-1``: what symptoms call an object."""
    namespace, name = _place(value)
    return f"{text(value, 'kind')} {namespace}/{name}" if namespace else f"{text(value, 'kind')} {name}"


def _place(value: Mapping[str, Any]) -> tuple[str, str]:
    return text(value, "metadata", "namespace"), text(value, "metadata", "name")


def _newest(event: Mapping[str, Any]) -> tuple[float, str, str]:
    return -(refusals.event_time(event) or 0.0), text(event, "reason"), text(event, "message")


def age(value: Mapping[str, Any], now: float) -> float:
    """For how many seconds an object exists; endless where it does not say."""
    made = conditions.created(value)
    return now - made if made is not None else float("inf")
