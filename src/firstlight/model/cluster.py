"""A cluster as the repo declares it: its machines, networks, settings and the path that Git owns."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Protocol

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place

SCHEMATIC = "schematic"
"""What images are made of; it says nothing about the cluster."""
OMNI_TEMPLATE = "Omni template"
"""What ``Cluster.documents`` calls one."""


class Engine(enum.StrEnum):
    """Who reconciles the cluster from Git."""

    FLUX = "flux"
    ARGOCD = "argocd"


class MachineRole(enum.StrEnum):
    """What a Talos machine is in its cluster."""

    CONTROL_PLANE = "controlplane"
    WORKER = "worker"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One Talos machine, as declared."""

    name: str
    """Its host name; where none is declared, the id or address by which it is known."""
    role: MachineRole
    place: Place
    address: str = ""
    id: str = ""
    """Omni's id."""
    patches: tuple[Place, ...] = ()
    """What applies to this machine alone."""
    install_disk: str = ""
    schematic: str = ""
    """An image factory schematic: its id, or the file that describes it."""
    extensions: tuple[str, ...] = ()


class ConfigBase(enum.StrEnum):
    """What the machine configs of a cluster begin with, before patches."""

    WHOLE = "whole"
    """Whole configs, or templates of them, are in the repo: what they do not say is not there."""
    GENERATED = "generated"
    """A tool generates them, with everything that Talos's generator adds: talhelper, topf, Omni, firstlight."""
    UNKNOWN = "unknown"
    """The repo has patches at most, and does not say what is patched."""


class MachineConfig(Protocol):
    """A document of machine config, or what a patch puts into one, with the way to its lines."""

    @property
    def value(self) -> Any:
        """The document; of a template the expressions have marks in their place."""

    def place(self, *steps: str | int) -> Place:
        """Where a value stands, or the nearest parent that does."""

    def get(self, *steps: str | int) -> Any:
        """A value; None where there is none, or where it is taken away."""

    def text(self, *steps: str | int) -> str:
        """A text that is known; empty where there is none."""

    def is_conditional(self, *steps: str | int) -> bool:
        """Whether a value is there only under a condition of a template."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachinePart:
    """A document of machine config, and which machines it is for."""

    config: MachineConfig = dataclasses.field(repr=False)
    """Not shown: it may hold keys."""
    role: MachineRole | None = None
    """None: for all."""
    machine: str = ""
    """For this one alone."""

    @property
    def kind(self) -> str:
        """The kind of the document; empty for the one that has no kind."""
        value = self.config.value
        kind = value.get("kind") if isinstance(value, Mapping) else None
        return kind if isinstance(kind, str) else ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Networks and what answers in them."""

    pods: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    load_balancers: tuple[str, ...] = ()
    endpoint: str = ""
    """The URL of the Kubernetes API."""
    vip: str = ""
    dns_domain: str = ""
    cni: str = ""
    """Talos's ``cluster.network.cni.name``: ``none`` where a component is the CNI."""
    kube_proxy: bool | None = None
    core_dns: bool | None = None
    """Whether Talos brings its own; None where nothing says so, which means that it does."""


@dataclasses.dataclass(frozen=True, slots=True)
class FactDoubt:
    """Why a fact that machine configs say is not certain."""

    why: str
    place: Place
    is_conditional: bool = False
    """The value is known, and a template says it only under a condition; else the value is a variable."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One Kubernetes cluster. Readers return what they know of it; together it is the whole."""

    name: str
    place: Place
    """Where it is declared first."""
    role: str = ""
    """``infra``, ``apps`` or whatever the platform calls it."""
    engine: Engine | None = None
    url: str = ""
    """The Git repository that the engine follows, and its branch."""
    branch: str = ""
    path: str = ""
    """The directory of the repo that the engine starts from."""
    machines: tuple[Machine, ...] = ()
    network: Network = dataclasses.field(default_factory=Network)
    talos: str = ""
    kubernetes: str = ""
    """Versions as declared."""
    schedules_on_control_planes: bool | None = None
    talos_secrets: str = ""
    """A reference to what ``talosctl gen secrets`` made: ``sops:talos/talsecret.sops.yaml``, ``op://…``."""
    talosconfig: str = ""
    """A reference to the administrator's talosconfig, where whole machine configs hold the secrets."""
    talos_contract: str = ""
    """The version of Talos whose form and defaults its generated machine configs have, where that is declared."""
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """What Flux substitutes everywhere in the cluster."""
    files: tuple[Place, ...] = ()
    """Talos configs, patches, templates and schematics that shape its machines."""
    documents: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict, repr=False)
    """What each of the files holds, by path: ``talconfig``, ``patch``, ``schematic``, ``ExtensionServiceConfig`` …"""
    said: Mapping[str, Place] = dataclasses.field(default_factory=dict)
    """Where each fact is said, by field: ``network.pods``, ``kubernetes`` …"""
    doubts: Mapping[str, FactDoubt] = dataclasses.field(default_factory=dict)
    """Facts that are said, and not for certain, by field."""
    base: ConfigBase = ConfigBase.UNKNOWN
    unread: tuple[Diagnostic, ...] = dataclasses.field(default=(), repr=False, compare=False)
    """What shapes its machine configs and could not be read: it may say anything."""
    parts: tuple[MachinePart, ...] = dataclasses.field(default=(), repr=False, compare=False)
    """The documents that its machine configs are made from; what is applied later stands later."""

    @property
    def machines_place(self) -> Place:
        """Where its machines are declared, which may be another file than the one that its engine starts from."""
        declared = {place.path for place in self.files}
        if not self.path or self.place != self.said.get("path") or not self.machines:
            return self.place
        control = next((each for each in self.machines if each.role is MachineRole.CONTROL_PLANE), self.machines[0])
        shared = next((place for place in self.said.values() if place.path in declared), None)
        return shared or control.place

    @property
    def omni_template(self) -> str:
        """The path of the Omni template that its machines come from; empty where they are not Omni's."""
        found = [path for path, kinds in self.documents.items() if OMNI_TEMPLATE in kinds]
        if not self.machines:
            return found[0] if found else ""
        if not all(each.id for each in self.machines):
            return ""
        declared = self.machines[0].place.path
        return declared if declared in found or not found else found[0]


# Where declared addresses are really reached: as they are, or, in a rehearsal, on loopback.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AddressBook:
    """The address book of a run; an empty one means that everything is where it says."""

    machines: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By declared address: where the machine's Talos API listens, as ``host`` or ``host:port``."""
    kubernetes: str = ""
    """The URL at which the Kubernetes API is reached, instead of the one in the kubeconfig."""

    def machine(self, address: str) -> str:
        """Where a machine's Talos API listens."""
        return self.machines.get(address, address)
