"""What a Talos machine says of itself: its resources, as ``talosctl get`` shows them, and the answers of its services.

The names are Talos's own. Fields that a release may lack have a default; unknown ones are ignored.
"""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class TalosResource(Generic[T]):
    """One resource of one machine; what it contains is not shown, since many contain secrets."""

    node: str
    """The machine as it was asked for; empty in maintenance mode, where there is only one."""
    type: str
    namespace: str
    id: str
    version: str
    phase: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: T = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class RunningVersion:
    """What a machine runs."""

    node: str
    tag: str
    sha: str = ""
    arch: str = ""
    platform: str = ""
    mode: str = ""
    has_rbac: bool = False


class DiscoveredMember(msgspec.Struct, frozen=True, rename="camel"):
    """A machine of the cluster, as discovery knows it."""

    node_id: str
    hostname: str
    machine_type: str
    addresses: tuple[str, ...] = ()
    operating_system: str = ""


class UnmetCondition(msgspec.Struct, frozen=True):
    """Why a machine is not ready."""

    name: str
    reason: str = ""


class MachineReadiness(msgspec.Struct, frozen=True, rename="camel"):
    """Whether a machine is ready, and if not, why."""

    ready: bool
    unmet_conditions: tuple[UnmetCondition, ...] = ()


class MachineStage(msgspec.Struct, frozen=True):
    """How far a machine is."""

    stage: str
    """booting, installing, maintenance, running, rebooting, shutting down, resetting, upgrading or unknown."""
    status: MachineReadiness

    @property
    def is_ready(self) -> bool:
        """Whether it runs and nothing is missing."""
        return self.stage == "running" and self.status.ready


class InstallDisk(msgspec.Struct, frozen=True):
    """A disk that could be installed to."""

    dev_path: str
    size: int = 0
    pretty_size: str = ""
    readonly: bool = False
    cdrom: bool = False
    model: str = ""
    serial: str = ""
    wwid: str = ""
    uuid: str = ""
    bus_path: str = ""
    transport: str = ""
    rotational: bool = False
    symlinks: tuple[str, ...] = ()


class SystemDisk(msgspec.Struct, frozen=True):
    """The disk that Talos is installed on."""

    disk_id: str = msgspec.field(name="diskID")
    dev_path: str = msgspec.field(name="devPath")


class NetworkLink(msgspec.Struct, frozen=True, rename="camel"):
    """A network interface."""

    type: str
    kind: str = ""
    hardware_addr: str = ""
    permanent_addr: str = ""
    mtu: int = 0
    operational_state: str = ""
    link_state: bool = False
    bus_path: str = ""
    driver: str = ""
    alt_names: tuple[str, ...] = ()


class LinkAddress(msgspec.Struct, frozen=True, rename="camel"):
    """An address of an interface, with its prefix."""

    address: str
    link_name: str = ""
    family: str = ""
    scope: str = ""


class Nodename(msgspec.Struct, frozen=True, rename="camel"):
    """The name of the Kubernetes node that the machine is, or will be."""

    nodename: str
    skip_node_registration: bool = False


class TalosService(msgspec.Struct, frozen=True):
    """A service of Talos, as a resource: only running ones are there."""

    running: bool
    healthy: bool = False
    unknown: bool = False

    @property
    def is_healthy(self) -> bool:
        """Whether its health check passes; services without one are healthy when they run."""
        return self.running and (self.healthy or self.unknown)


@dataclasses.dataclass(frozen=True)
class TalosServiceState:
    """A service of Talos in whatever state, with the last that happened to it."""

    node: str
    id: str
    state: str
    is_healthy: bool | None
    """None if it has no health check, or did not run it yet."""
    last_event: str
    last_change: float | None
    """Seconds since then."""


class TalosDiagnostic(msgspec.Struct, frozen=True):
    """Something that Talos warns of."""

    message: str
    details: tuple[str, ...] = ()
    id: str = ""
    """``address-overlap``, ``kubelet-csr``."""


@dataclasses.dataclass(frozen=True)
class Memory:
    """Memory of a machine, in bytes."""

    node: str
    total: int
    free: int
    available: int


@dataclasses.dataclass(frozen=True)
class Clock:
    """The time that a machine has, and the one that a time server gave it."""

    node: str
    server: str
    node_time: datetime.datetime
    server_time: datetime.datetime

    @property
    def offset(self) -> float:
        """How many seconds the machine is ahead of the server."""
        return (self.node_time - self.server_time).total_seconds()


@dataclasses.dataclass(frozen=True)
class TalosManifest:
    """Kubernetes objects that a control-plane machine applies: Talos's own, extra and inline ones."""

    objects: tuple[Mapping[str, Any], ...] = dataclasses.field(repr=False)


class TalosManifestStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The manifests that a control-plane machine has applied, by their ids."""

    manifests_applied: tuple[str, ...] = ()


# etcd as Talos's machines run it: its members, their state, and snapshots of what it holds.


@dataclasses.dataclass(frozen=True)
class EtcdMember:
    """A member as one machine knows it."""

    node: str
    """The machine that was asked."""
    id: str
    hostname: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]
    is_learner: bool


@dataclasses.dataclass(frozen=True)
class EtcdStatus:
    """How the member on a machine is."""

    node: str
    member: str
    leader: str
    """The member that leads; empty if none does."""
    size: int
    """Bytes of the database, rounded by talosctl to two or three digits."""
    in_use: int
    raft_index: int
    raft_term: int
    raft_applied_index: int
    is_learner: bool
    errors: str = ""

    @property
    def is_leader(self) -> bool:
        """Whether this member leads."""
        return self.member == self.leader


@dataclasses.dataclass(frozen=True)
class EtcdAlarm:
    """An alarm that a member has raised, such as NOSPACE."""

    node: str
    member: str
    alarm: str


@dataclasses.dataclass(frozen=True)
class EtcdSnapshot:
    """A snapshot in a file."""

    path: Path
    hash: str
    revision: int
    keys: int
    size: int


# What ``talosctl health`` finds, check by check.


HealthCheckState = Literal["passed", "skipped", "waiting", "failing"]


@dataclasses.dataclass(frozen=True)
class HealthCheck:
    """One check in its last state."""

    name: str
    state: HealthCheckState
    detail: str = ""


@dataclasses.dataclass(frozen=True)
class ClusterHealth:
    """All checks that were made; the first that does not pass ends them."""

    is_healthy: bool
    checks: tuple[HealthCheck, ...]
    reason: str = ""
    """Why it ended if it is not healthy."""
    lines: tuple[str, ...] = ()

    @property
    def pending(self) -> tuple[HealthCheck, ...]:
        """Those that did not pass."""
        return tuple(check for check in self.checks if check.state in {"waiting", "failing"})
