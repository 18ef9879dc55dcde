"""What a lab is asked to be: nodes or machines, networks, what is broken. A user's file, or options of ``lab up``."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec

from firstlight import errors
from firstlight.document import yaml_reader, yaml_tree
from firstlight.lab import rewrite_rules
from firstlight.lab.machines import machine_settings
from firstlight.lab.machines.machine_settings import TalosBehaviour, VirtualMachine

LABEL_NAME = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
LABEL_HINT = (
    "Write a key such as topology.kubernetes.io/zone, and a value of at most 63 letters, digits, -, _ and dots."
)
QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?")

Role = Literal["control-plane", "worker"]
ActorName = Literal["flux", "argocd", "flux-operator", "source-watcher", "notification-controller"]
ACTOR_NAMES: tuple[ActorName, ...] = get_args(ActorName)


class NodeTaint(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A taint of a node."""

    key: str
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    value: str = ""


class SimulatedNode(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A simulated node: what a kubelet would say of itself."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=63)]
    address: str
    role: Role = "worker"
    labels: dict[str, str] = {}
    taints: tuple[NodeTaint, ...] | None = None
    """None means what Talos does: control planes are tainted, workers are not."""
    cpu: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 8
    memory: str = "32Gi"


class LogRule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """What ``kubectl logs`` shows of containers that match; globs."""

    lines: tuple[str, ...]
    namespace: str = "*"
    pod: str = "*"
    container: str = "*"


class ExecRule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """What ``kubectl exec`` answers in containers that match, for commands that begin so."""

    command: tuple[str, ...]
    namespace: str = "*"
    pod: str = "*"
    container: str = "*"
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class CustomResourceRule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """What the controller of a kind writes, once its pods are ready."""

    group: str
    kind: str
    conditions: dict[str, str]
    """Type and reason."""
    controller: dict[str, str]
    """Labels of the pods that must be ready before."""
    status: dict[str, str] = {}
    """Type and status, where it is not True."""


class LabSettings(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A whole lab."""

    nodes: tuple[SimulatedNode, ...] = ()
    machines: tuple[VirtualMachine, ...] = ()
    """Instead of nodes: bare machines, which become nodes by way of Talos's API."""
    talos: TalosBehaviour = TalosBehaviour()
    pod_cidr: str = "10.244.0.0/16"
    service_cidr: str = "10.96.0.0/12"
    load_balancers: tuple[str, ...] = ("10.5.0.200-10.5.0.250",)
    pull_seconds: Annotated[float, msgspec.Meta(ge=0, le=600)] = 0.5
    """How long a simulated image pull takes."""
    broken_images: tuple[str, ...] = ()
    """Images that can never be pulled: a name, or a glob such as ``*/broken:*``."""
    logs: tuple[LogRule, ...] = ()
    exec: tuple[ExecRule, ...] = ()
    custom_resources: tuple[CustomResourceRule, ...] = ()
    """Besides the kinds that the lab knows."""
    rewrites: tuple[rewrite_rules.SourceRewrite, ...] = ()
    """Sources of a rehearsed repository that lead to the lab's servers."""
    actors: tuple[ActorName, ...] = ()
    """Whose programs run for real, once their workloads are ready."""
    actors_meet_faults: bool = False
    """Whether actors reach the API through the fault proxy."""
    actors_execute: bool = False
    """Whether actors may execute what a repository brings, such as exec plugins of kustomize."""
    sources: bool = False
    """Whether there are Git, OCI and Helm repositories; with actors there are."""
    standins: bool = False
    """Whether there are stand-ins for 1Password's command line and for Connect."""
    notes: tuple[str, ...] = ()
    """What the status is to say of where this lab comes from."""

    @property
    def has_sources(self) -> bool:
        """Whether the lab serves repositories."""
        return self.sources or bool(self.actors)


def with_nodes(settings: LabSettings, *, control_planes: int, workers: int) -> LabSettings:
    """The same settings with this many ordinary nodes."""
    roles: list[tuple[str, Role]] = [(f"cp-{n + 1}", "control-plane") for n in range(control_planes)]
    roles += [(f"worker-{n + 1}", "worker") for n in range(workers)]
    if len(roles) > 190:
        raise errors.UsageError("at most 190 nodes fit into the default network 10.5.0.0/24")
    nodes = tuple(
        SimulatedNode(name=name, role=role, address=f"10.5.0.{n + 2}") for n, (name, role) in enumerate(roles)
    )
    return msgspec.structs.replace(settings, nodes=nodes)


def with_machines(settings: LabSettings, *, control_planes: int, workers: int) -> LabSettings:
    """The same settings with this many ordinary machines; those that were there keep their addresses."""
    names = [f"cp-{n + 1}" for n in range(control_planes)] + [f"worker-{n + 1}" for n in range(workers)]
    if len(names) > 190:
        raise errors.UsageError("at most 190 machines fit into the default network 10.5.0.0/24")
    known = {machine.name: machine for machine in settings.machines if machine.name in names}
    taken = {machine.address for machine in known.values()}
    free = (address for n in range(2, 2 + len(names)) if (address := f"10.5.0.{n}") not in taken)
    machines = tuple(known.get(name) or VirtualMachine(name=name, address=next(free)) for name in names)
    return msgspec.structs.replace(settings, machines=machines, nodes=())


def counted_machines(settings: LabSettings) -> tuple[int, int]:
    """How many ordinary machines there are for the control plane, and as workers.

    Raises:
        errors.UsageError: Some are not ordinary.
    """
    names = [each.name for each in settings.machines if each == VirtualMachine(name=each.name, address=each.address)]
    planes, workers = (sum(name.startswith(prefix) for name in names) for prefix in ("cp-", "worker-"))
    ordinary = with_machines(settings, control_planes=planes, workers=workers)
    if {each.name for each in ordinary.machines} != {each.name for each in settings.machines}:
        raise errors.UsageError("the machines were declared one by one", hint="Change the settings file instead.")
    return planes, workers


def counted(settings: LabSettings) -> LabSettings:
    """The same settings with as many ordinary nodes as it has nodes."""
    roles = [node.role for node in settings.nodes]
    return with_nodes(settings, control_planes=roles.count("control-plane"), workers=roles.count("worker"))


DEFAULT = with_nodes(LabSettings(), control_planes=1, workers=2)
"""A lab of which nothing was said."""


def load(path: Path) -> LabSettings:
    """Read a user's file.

    Raises:
        errors.ConfigError: With the line, and what to write instead.
    """
    try:
        contents = yaml_reader.read(path.read_bytes(), str(path))
    except OSError as error:
        raise errors.ConfigError(f"cannot be read: {error}", path=str(path)) from error
    for diagnostic in contents.diagnostics:
        raise errors.ConfigError(diagnostic.message, path=str(path), line=diagnostic.place.line, hint=diagnostic.fix)
    if len(contents.documents) > 1:
        raise errors.ConfigError(
            "there is more than one document", path=str(path), line=contents.documents[1].line, hint="Keep one."
        )
    document = contents.documents[0] if contents.documents else yaml_reader.YamlDocument(str(path), 1, 0, {}, "")
    try:
        settings = msgspec.convert(document.value, LabSettings)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `")
        steps = yaml_tree.parse_path(where.rstrip("`"))
        line = document.place(*steps).line
        raise errors.ConfigError(
            f"{steps[-1]}: {message}" if steps else message,
            path=str(path),
            line=line,
            hint="Keys and an example: docs/lab.md, 'The settings file'.",
        ) from error
    _check(settings, document)
    if settings.machines:
        _check_machines(settings, document)
    return settings


def _check(settings: LabSettings, document: yaml_reader.YamlDocument) -> None:
    def fail(message: str, *steps: str | int, hint: str = "") -> None:
        raise errors.ConfigError(message, path=document.path, line=document.place(*steps).line, hint=hint)

    for key, value in (("podCidr", settings.pod_cidr), ("serviceCidr", settings.service_cidr)):
        try:
            ipaddress.ip_network(value)
        except ValueError as error:
            fail(f"{key}: {error}", key, hint="Write a network such as 10.244.0.0/16.")
    pods, services = ipaddress.ip_network(settings.pod_cidr), ipaddress.ip_network(settings.service_cidr)
    if pods.version != services.version or pods.overlaps(services):
        fail("podCidr and serviceCidr must be of one family and must not overlap", "podCidr")
    if pods.version == 4 and pods.prefixlen > 20:
        fail(f"{pods} has no room: every node takes a /24 of it", "podCidr", hint="Write a /16, such as 10.244.0.0/16.")
    if pods.version == 4 and not 12 <= services.prefixlen <= 24:
        fail(
            f"{services} is no size for services", "serviceCidr", hint="Write 10.96.0.0/12, or a smaller one up to /24."
        )
    for index, node in enumerate(settings.nodes):
        try:
            address = ipaddress.ip_address(node.address)
        except ValueError:
            fail(f"{node.address!r} is not an address", "nodes", index, "address")
        else:
            if address.is_loopback:
                fail(
                    f"the API server refuses {node.address} in Node objects", "nodes", index, "address",
                    hint="Declare the address that the machine would have, such as 10.5.0.2; nothing must listen.",
                )  # fmt: skip
        for what, value in (("name", node.name), ("address", node.address)):
            if any(getattr(other, what) == value for other in settings.nodes[:index]):
                fail(f"two nodes have the {what} {value}", "nodes", index, what)
        for name, value in node.labels.items():
            if not LABEL_NAME.fullmatch(name) or not LABEL_VALUE.fullmatch(value):
                fail(f"{name}: {value} is no label", "nodes", index, "labels", name, hint=LABEL_HINT)
        for number, taint in enumerate(node.taints or ()):
            if not LABEL_NAME.fullmatch(taint.key) or not LABEL_VALUE.fullmatch(taint.value):
                fail(f"{taint.key} is no taint", "nodes", index, "taints", number, hint=LABEL_HINT)
        if not QUANTITY.fullmatch(node.memory):
            fail(f"{node.memory!r} is no amount of memory", "nodes", index, "memory", hint="Write 32Gi.")
    for index, pool in enumerate(settings.load_balancers):
        try:
            addresses_of(pool)
        except ValueError as error:
            hint = "Write 10.5.0.200-10.5.0.250 or 10.5.1.0/24."
            fail(f"{pool!r} is no pool: {error}", "loadBalancers", index, hint=hint)
    rewrite_rules.check_rewrites(settings.rewrites, fail)


def _check_machines(settings: LabSettings, document: yaml_reader.YamlDocument) -> None:
    def fail(message: str, *steps: str | int, hint: str = "") -> None:
        raise errors.ConfigError(message, path=document.path, line=document.place(*steps).line, hint=hint)

    if settings.nodes:
        fail("a lab has either nodes or machines", "machines", hint="Machines become nodes when they join a cluster.")
    for key in ("podCidr", "serviceCidr"):
        if key in document.value:
            fail(f"{key} of a lab with machines is the one of their configs", key, hint="Leave it out.")
    machine_settings.check_machines(settings.machines, fail)


def addresses_of(pool: str) -> tuple[int, int]:
    """The first and last address of a pool, as integers."""
    if "/" in pool:
        network = ipaddress.ip_network(pool)
        return int(network[0]), int(network[-1])
    first, _, last = pool.partition("-")
    start, end = int(ipaddress.ip_address(first)), int(ipaddress.ip_address(last or first))
    if end < start:
        raise ValueError("it ends before it begins")
    return start, end
