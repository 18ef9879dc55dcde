"""A machine is back when everything is, from Talos up to its node; what is missing first is said."""

import dataclasses
from typing import Any

import pytest

from firstlight.commands.node import machine_ready
from firstlight.commands.node.machine_ready import RejoinSight
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine import TalosServiceState
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Waiting

MACHINE = Machine(name="cp-1", role=MachineRole.CONTROL_PLANE, place=Place("a", 1), address="10.5.0.2")
RUNNING = MachineReport(machine=MACHINE, standing=MachineStanding.OURS, stage="running")


def service(id: str, state: str = "Running", *, is_healthy: bool | None = True) -> TalosServiceState:
    return TalosServiceState(node="", id=id, state=state, is_healthy=is_healthy, last_event="", last_change=None)


def node(*, boot: str = "two", ready: str = "True", version: str = "v1.36.0") -> dict[str, Any]:
    info = {"bootID": boot, "kubeletVersion": version}
    return {
        "metadata": {"name": "cp-1"},
        "status": {"conditions": [{"type": "Ready", "status": ready}], "nodeInfo": info},
    }


WELL = RejoinSight(
    report=RUNNING, boot="two", talos="v1.13.0", services=(service("etcd"), service("udevd", is_healthy=None)),
    etcd=Passed("3 of 3 members healthy"), node=node(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"report": dataclasses.replace(RUNNING, standing=MachineStanding.ABSENT, stage="", why="refused")},
            "does not answer",
        ),
        ({"report": dataclasses.replace(RUNNING, stage="rebooting")}, "cp-1 is rebooting"),
        ({"boot": "one"}, "cp-1 has not rebooted yet"),
        ({"boot": ""}, "cp-1 has not rebooted yet"),
        ({"talos": "v1.12.4"}, "cp-1 runs Talos v1.12.4, not 1.13.0"),
        ({"services": (service("kubelet", "Preparing", is_healthy=None),)}, "the service kubelet is Preparing"),
        ({"services": (service("etcd", is_healthy=False),)}, "the service etcd is not healthy"),
        ({"services": ()}, "cp-1 does not tell its services"),
        ({"etcd": Waiting("cp-1 is still learning")}, "etcd: cp-1 is still learning"),
        ({"api": "Connect call failed"}, "the Kubernetes API does not answer: Connect call failed"),
        ({"node": None}, "cp-1 is no node of the cluster"),
        ({"node": node(boot="one")}, "the kubelet of cp-1 has not reported since its reboot"),
        ({"node": node(ready="False")}, "node cp-1 is NotReady"),
        ({"node": node(version="v1.35.2")}, "the kubelet of cp-1 is v1.35.2, not v1.36.0"),
    ],
)
def test_what_is_missing_first_is_said(changes: dict[str, Any], said: str) -> None:
    sight = dataclasses.replace(WELL, **changes)

    verdict = machine_ready.judge(sight, boot_before="one", talos="1.13.0", kubernetes="v1.36.0")

    assert isinstance(verdict, Waiting)
    assert said in verdict.reason


def test_a_machine_that_is_well() -> None:
    verdict = machine_ready.judge(WELL, boot_before="one", talos="v1.13.0", kubernetes="v1.36.0")

    assert verdict == Passed("cp-1 is well: node ready, 3 of 3 members healthy")


def test_an_extension_that_nobody_has_configured_is_no_reason_to_wait() -> None:
    services = (*WELL.services, service("ext-lldpd", "Waiting", is_healthy=None))

    assert isinstance(machine_ready.judge(dataclasses.replace(WELL, services=services)), Passed)


def test_a_machine_of_somebody_else_and_a_split_brain_are_not_waited_for() -> None:
    foreign = dataclasses.replace(RUNNING, standing=MachineStanding.FOREIGN, why="not of this cluster")

    assert machine_ready.judge(dataclasses.replace(WELL, report=foreign)) == Failed("cp-1: not of this cluster")
    assert machine_ready.judge(dataclasses.replace(WELL, etcd=Failed("a split brain"))) == Failed("a split brain")
