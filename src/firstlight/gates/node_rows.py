"""The rows of ``node list``: declared machines, and what is in the cluster beside them. Data in, rows out."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.gates import machines as machine_gate
from firstlight.gates import node_marks
from firstlight.gates import nodes as node_gate
from firstlight.gates.causes import of_nodes
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.etcd import Member
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.node import ConfigSight, Equality, NodeRow

_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seen:
    """What was seen of a cluster at one moment."""

    reports: Sequence[MachineReport]
    """Of every declared machine, in their order."""
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of Talos, by machine; those that did not tell are not in it."""
    configs: Mapping[str, ConfigSight] = dataclasses.field(default_factory=dict)
    nodes: Sequence[Mapping[str, Any]] | None = None
    """None where the API does not answer."""
    members: Sequence[Member] | None = None
    """None where no control plane tells them."""


def rows(seen: Seen) -> tuple[NodeRow, ...]:
    """Declared machines in their order, then what is there and not declared."""
    declared = tuple(_declared(each, seen) for each in seen.reports)
    machines = [each.machine for each in seen.reports]
    return (*declared, *_undeclared(machines, seen))


def _declared(report: MachineReport, seen: Seen) -> NodeRow:
    machine = report.machine
    node = node_gate.of_machine(machine, seen.nodes) if seen.nodes is not None else None
    row = NodeRow(
        name=machine.name, role=str(machine.role), address=machine.address, state=_state(report),
        is_seen=report.standing is Standing.OURS, talos=seen.versions.get(machine.name, ""),
        etcd=_etcd(report, seen), config=seen.configs.get(machine.name, ConfigSight(equality=Equality.UNKNOWN)),
        remarks=tuple(f"not ready: {each}" for each in report.unmet),
    )  # fmt: skip
    return _with_node(row, node, seen)


def _with_node(row: NodeRow, node: Mapping[str, Any] | None, seen: Seen) -> NodeRow:
    if seen.nodes is None:
        return row
    if node is None:
        return dataclasses.replace(row, node="absent")
    cause, mark = of_nodes.of(node), node_marks.of(node)
    name = text(node, "metadata", "name")
    called = (f"its node is called {name}",) if name != row.name else ()
    return dataclasses.replace(
        row,
        kubernetes=text(node, "status", "nodeInfo", "kubeletVersion"),
        node="ready" if cause is None else "not ready",
        is_schedulable=not node_marks.is_cordoned(node),
        begun=mark.command if mark is not None else "",
        remarks=(*row.remarks, *called, *((cause.what,) if cause is not None else ())),
    )


def _etcd(report: MachineReport, seen: Seen) -> str:
    if report.machine.role is not MachineRole.CONTROL_PLANE:
        return ""
    sight = report.etcd
    if report.standing is Standing.OURS and sight.member:
        if sight.member in sight.learners:
            return "learner"
        return "leader" if sight.member == sight.leader else "member"
    if seen.members is None:
        return ""
    # It does not tell itself; the others know whether it is one of them.
    is_known = any(is_of(each, report.machine) for each in seen.members)
    return "member" if is_known else "none"


def _undeclared(machines: Sequence[Machine], seen: Seen) -> list[NodeRow]:
    found: dict[str, NodeRow] = {}
    known = {id(node) for each in machines if (node := node_gate.of_machine(each, seen.nodes or ())) is not None}
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
    if report.standing is Standing.OURS:
        return report.stage or "booting"
    return machine_gate.state_of(report)


def is_of(member: Member, machine: Machine) -> bool:
    """Whether a member of etcd is a machine's: by its name, else by its address."""
    if member.hostname == machine.name:
        return True
    return bool(machine.address) and _host(member) == machine.address


def _host(member: Member) -> str:
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
