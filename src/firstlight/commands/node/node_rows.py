"""The rows of ``node list``: declared machines, and what is in the cluster beside them. Data in, rows out."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.commands.node import drain_rules
from firstlight.document.within import mapping, sequence, text
from firstlight.gates import machine_stage, node_ready
from firstlight.gates.causes import scheduling
from firstlight.model.change import ChangedField
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine import EtcdMember
from firstlight.model.machine_report import MachineReport, MachineStanding

# Machines of a cluster as ``node list`` and ``node apply`` show them: what they are, against what they are to be.


class ConfigEquality(enum.StrEnum):
    """Whether a machine has the config that the repo says."""

    EQUAL = "equal"
    DIFFERENT = "different"
    PENDING = "pending"
    """It runs with one and has another on its disk: one is being tried, or waits for a reboot."""
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConfigStatus:
    """The config of a machine, against the repo's."""

    equality: ConfigEquality
    fields: tuple[ChangedField, ...] = ()
    """What differs; what is secret has no values."""
    needs_reboot: bool = False
    reason: str = ""
    """Why it reboots, or why nothing could be told."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One machine, node or member of etcd."""

    name: str
    is_declared: bool = True
    role: str = ""
    address: str = ""
    state: str = ""
    """As Talos tells it, in a few words: ``running``, ``does not answer``."""
    is_seen: bool = False
    """Whether the machine answers."""
    talos: str = ""
    kubernetes: str = ""
    node: str = ""
    """``ready``, ``absent``, or why it is not ready; empty where nobody could be asked."""
    etcd: str = ""
    """``leader``, ``member``, ``learner``, ``none``; empty for workers, and where nobody could be asked."""
    is_schedulable: bool | None = None
    begun: str = ""
    """The command of firstlight that works on it, or was killed at it."""
    config: ConfigStatus = ConfigStatus(equality=ConfigEquality.UNKNOWN)
    diagnostics: tuple[str, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether it is there, well, and as the repo says."""
        is_member = self.etcd not in ("none", "learner")
        is_equal = self.config.equality is ConfigEquality.EQUAL
        return self.is_declared and self.node == "ready" and self.is_schedulable is not False and is_member and is_equal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeList:
    """All machines of a cluster."""

    cluster: str
    rows: tuple[NodeRow, ...]
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""


_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeSources:
    """What was seen of a cluster at one moment."""

    reports: Sequence[MachineReport]
    """Of every declared machine, in their order."""
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of Talos, by machine; those that did not tell are not in it."""
    configs: Mapping[str, ConfigStatus] = dataclasses.field(default_factory=dict)
    nodes: Sequence[Mapping[str, Any]] | None = None
    """None where the API does not answer."""
    members: Sequence[EtcdMember] | None = None
    """None where no control plane tells them."""


def rows(seen: NodeSources) -> tuple[NodeRow, ...]:
    """Declared machines in their order, then what is there and not declared."""
    declared = tuple(_declared(each, seen) for each in seen.reports)
    machines = [each.machine for each in seen.reports]
    return (*declared, *_undeclared(machines, seen))


def _declared(report: MachineReport, seen: NodeSources) -> NodeRow:
    machine = report.machine
    node = node_ready.of_machine(machine, seen.nodes) if seen.nodes is not None else None
    row = NodeRow(
        name=machine.name, role=str(machine.role), address=machine.address, state=_state(report),
        is_seen=report.standing is MachineStanding.OURS, talos=seen.versions.get(machine.name, ""),
        etcd=_etcd(report, seen), config=seen.configs.get(machine.name, ConfigStatus(equality=ConfigEquality.UNKNOWN)),
        diagnostics=tuple(f"not ready: {each}" for each in report.unmet),
    )  # fmt: skip
    return _with_node(row, node, seen)


def _with_node(row: NodeRow, node: Mapping[str, Any] | None, seen: NodeSources) -> NodeRow:
    if seen.nodes is None:
        return row
    if node is None:
        return dataclasses.replace(row, node="absent")
    cause, mark = scheduling.node_cause(node), drain_rules.mark_of(node)
    name = text(node, "metadata", "name")
    called = (f"its node is called {name}",) if name != row.name else ()
    return dataclasses.replace(
        row,
        kubernetes=text(node, "status", "nodeInfo", "kubeletVersion"),
        node="ready" if cause is None else "not ready",
        is_schedulable=not drain_rules.is_cordoned(node),
        begun=mark.command if mark is not None else "",
        diagnostics=(*row.diagnostics, *called, *((cause.what,) if cause is not None else ())),
    )


def _etcd(report: MachineReport, seen: NodeSources) -> str:
    if report.machine.role is not MachineRole.CONTROL_PLANE:
        return ""
    sight = report.etcd
    if report.standing is MachineStanding.OURS and sight.member:
        if sight.member in sight.learners:
            return "learner"
        return "leader" if sight.member == sight.leader else "member"
    if seen.members is None:
        return ""
    # It does not tell itself; the others know whether it is one of them.
    is_known = any(is_of(each, report.machine) for each in seen.members)
    return "member" if is_known else "none"


def _undeclared(machines: Sequence[Machine], seen: NodeSources) -> list[NodeRow]:
    found: dict[str, NodeRow] = {}
    known = {id(node) for each in machines if (node := node_ready.of_machine(each, seen.nodes or ())) is not None}
    for node in seen.nodes or ():
        if id(node) in known:
            continue
        name = text(node, "metadata", "name")
        role = (
            MachineRole.CONTROL_PLANE if _CONTROL_PLANE in mapping(node, "metadata", "labels") else MachineRole.WORKER
        )
        row = NodeRow(name=name, is_declared=False, role=str(role), address=_address(node))
        found[name] = _with_node(row, node, seen)
    for member in seen.members or ():
        if any(is_of(member, each) for each in machines):
            continue
        name = member.hostname or member.id
        plane = str(MachineRole.CONTROL_PLANE)
        row = found.get(name) or NodeRow(name=name, is_declared=False, role=plane, address=_host(member))
        is_absent = seen.nodes is not None and name not in found
        row = dataclasses.replace(row, node="absent") if is_absent else row
        found[name] = dataclasses.replace(row, etcd="learner" if member.is_learner else "member")
    return [found[name] for name in sorted(found)]


def _state(report: MachineReport) -> str:
    if report.standing is MachineStanding.OURS:
        return report.stage or "booting"
    return machine_stage.state_of(report)


def is_of(member: EtcdMember, machine: Machine) -> bool:
    """Whether a member of etcd is a machine's: by its name, else by its address."""
    if member.hostname == machine.name:
        return True
    return bool(machine.address) and _host(member) == machine.address


def _host(member: EtcdMember) -> str:
    """The address in a peer's URL: ``https://10.5.0.2:2380``."""
    for url in member.peer_urls:
        host = url.partition("://")[2].rpartition(":")[0].strip("[]")
        if host:
            return host
    return ""


def _address(node: Mapping[str, Any]) -> str:
    for each in sequence(node, "status", "addresses"):
        if text(each, "type") == "InternalIP":
            return text(each, "address")
    return ""
