"""An Omni cluster template as data: one cluster, one control plane, sets of workers, single machines, their patches."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

RESERVED = "omni.sidero.dev/"
"""Labels and annotations that begin so are Omni's own."""
CONTROL_PLANES = "control-planes"
WORKERS = "workers"

Mode = Literal["one-time", "full"]
Role = Literal["control-plane", "worker"]


@dataclasses.dataclass(frozen=True)
class Patch:
    """A patch as it is declared."""

    name: str
    """What it is called, else its file; may be empty when there is an id."""
    id_override: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    file: str
    """As it is written in the template; empty if the patch is written there itself."""
    data: str = dataclasses.field(repr=False)
    """The patch as omnictl would send it; hidden, since people put passwords of registries into patches."""
    path: str
    """Where errors in it are to be looked for: its file, or the template."""
    line: int


@dataclasses.dataclass(frozen=True)
class Manifest:
    """Kubernetes objects that Omni's server would apply (Omni 1.7 and newer)."""

    name: str
    mode: Mode
    objects: tuple[Mapping[str, Any], ...] = dataclasses.field(repr=False)
    file: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    line: int


@dataclasses.dataclass(frozen=True)
class Marks:
    """What the cluster, the sets and the machines have in common."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    system_extensions: tuple[str, ...]
    kernel_args: tuple[str, ...] | None
    """None leaves them alone, an empty list clears them."""
    patches: tuple[Patch, ...]
    line: int


@dataclasses.dataclass(frozen=True)
class Features:
    """What Omni's server does for a cluster besides."""

    disk_encryption: bool = False
    workload_proxy: bool = False
    embedded_discovery: bool = False
    backup_interval: str = ""


@dataclasses.dataclass(frozen=True)
class Cluster(Marks):
    """The cluster."""

    name: str
    kubernetes_version: str
    """Without a v."""
    talos_version: str
    """With a v, as templates must have it."""
    features: Features
    manifests: tuple[Manifest, ...]
    has_healthchecks: bool


@dataclasses.dataclass(frozen=True)
class MachineClass:
    """Machines that Omni chooses by their labels."""

    name: str
    size: int | None
    """None takes all that there are."""


@dataclasses.dataclass(frozen=True)
class MachineSet(Marks):
    """The control plane, or one of the sets of workers."""

    role: Role
    name: str
    """``control-planes``, ``workers``, or the name of the set."""
    machines: tuple[str, ...]
    machine_class: MachineClass | None
    restores: str
    """The snapshot that the cluster begins with; empty if it begins empty."""


@dataclasses.dataclass(frozen=True)
class Machine(Marks):
    """What is special about one machine."""

    name: str
    locked: bool
    install_disk: str


@dataclasses.dataclass(frozen=True)
class Template:
    """A whole template. Documents keep their order: omnictl renders them in it."""

    path: str
    cluster: Cluster
    documents: tuple[Cluster | MachineSet | Machine, ...]

    @property
    def control_plane(self) -> MachineSet:
        """The set of control-plane machines."""
        return next(each for each in self.sets if each.role == "control-plane")

    @property
    def workers(self) -> tuple[MachineSet, ...]:
        """The sets of workers."""
        return tuple(each for each in self.sets if each.role == "worker")

    @property
    def sets(self) -> tuple[MachineSet, ...]:
        """Every set of machines."""
        return tuple(each for each in self.documents if isinstance(each, MachineSet))

    @property
    def machines(self) -> tuple[Machine, ...]:
        """What is special about machines."""
        return tuple(each for each in self.documents if isinstance(each, Machine))
