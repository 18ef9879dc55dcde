"""The rows of a list of machines: what is declared first, then what is there beside it."""

from typing import Any

from firstlight.commands.node import node_rows
from firstlight.commands.node.drain_rules import MAINTENANCE_MARK
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus, NodeSources
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine import EtcdMember
from firstlight.model.machine_report import EtcdSight, MachineReport, MachineStanding
from firstlight.model.place import Place


def machine(name: str, address: str, role: MachineRole = MachineRole.CONTROL_PLANE) -> Machine:
    return Machine(name=name, role=role, place=Place("a", 1), address=address)


def node(name: str, *, spec: dict[str, Any] | None = None, mark: str = "", address: str = "") -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True"}]
    addresses = [{"type": "InternalIP", "address": address}] if address else []
    status = {"conditions": conditions, "addresses": addresses, "nodeInfo": {"kubeletVersion": "v1.36.0"}}
    annotations = {MAINTENANCE_MARK: mark} if mark else {}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec or {}, "status": status}


def member(id: str, hostname: str, address: str) -> EtcdMember:
    return EtcdMember(
        node="", id=id, hostname=hostname, peer_urls=(f"https://{address}:2380",), client_urls=(), is_learner=False
    )


EQUAL = ConfigStatus(equality=ConfigEquality.EQUAL)
SIGHT = EtcdSight(member="a", members=frozenset({"a", "b"}), leader="a", state="Running")


def test_leaders_members_and_those_whom_only_others_know() -> None:
    reports = [
        MachineReport(machine=machine("cp-1", "10.0.0.1"), standing=MachineStanding.OURS, stage="running", etcd=SIGHT),
        MachineReport(machine=machine("cp-2", "10.0.0.2"), standing=MachineStanding.ABSENT, why="refused"),
        MachineReport(machine=machine("cp-3", "10.0.0.3"), standing=MachineStanding.ABSENT, why="refused"),
        MachineReport(
            machine=machine("w-1", "10.0.0.9", MachineRole.WORKER), standing=MachineStanding.OURS, stage="running"
        ),
    ]
    members = [member("a", "cp-1", "10.0.0.1"), member("b", "other-name", "10.0.0.2")]
    nodes = [node("cp-1"), node("talos-xyz", address="10.0.0.9")]
    configs = {"cp-1": EQUAL, "w-1": EQUAL}

    found = node_rows.rows(NodeSources(reports=reports, configs=configs, nodes=nodes, members=members))

    assert [(each.name, each.etcd, each.node) for each in found] == [
        ("cp-1", "leader", "ready"), ("cp-2", "member", "absent"), ("cp-3", "none", "absent"), ("w-1", "", "ready"),
    ]  # fmt: skip
    assert [each.is_fine for each in found] == [True, False, False, True]
    assert found[1].state == "does not answer (refused)"
    assert found[3].diagnostics == ("its node is called talos-xyz",)


def test_without_the_api_nothing_is_said_of_nodes() -> None:
    report = MachineReport(
        machine=machine("cp-1", "10.0.0.1"), standing=MachineStanding.OURS, stage="running", etcd=SIGHT
    )

    (found,) = node_rows.rows(NodeSources(reports=[report], configs={"cp-1": EQUAL}))

    assert (found.node, found.is_schedulable, found.is_fine) == ("", None, False)


def test_cordoned_and_in_maintenance() -> None:
    report = MachineReport(
        machine=machine("cp-1", "10.0.0.1"), standing=MachineStanding.OURS, stage="running", etcd=SIGHT
    )
    there = node("cp-1", spec={"unschedulable": True}, mark='{"command": "node upgrade"}')

    (found,) = node_rows.rows(NodeSources(reports=[report], configs={"cp-1": EQUAL}, nodes=[there]))

    assert (found.is_schedulable, found.begun, found.is_fine) == (False, "node upgrade", False)


def test_a_node_and_a_member_that_nobody_declared_are_one_row() -> None:
    members = [member("a", "cp-1", "10.0.0.1"), member("b", "cp-9", "10.0.0.19"), member("c", "gone", "10.0.0.20")]
    report = MachineReport(
        machine=machine("cp-1", "10.0.0.1"), standing=MachineStanding.OURS, stage="running", etcd=SIGHT
    )

    found = node_rows.rows(NodeSources(reports=[report], nodes=[node("cp-1"), node("cp-9")], members=members))

    rows = [(each.name, each.is_declared, each.etcd, each.node, each.address) for each in found[1:]]
    assert rows == [("cp-9", False, "member", "ready", ""), ("gone", False, "member", "absent", "10.0.0.20")]
