"""What Omni says of a cluster, judged: what it waits for, and what never comes."""

import dataclasses

import pytest

from firstlight.gates import machine_stage
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.omni_status import ClusterMachine, ClusterStatus
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Waiting

PLANE = ClusterMachine(id="1", stage="RUNNING", is_control_plane=True)
WORKER = ClusterMachine(id="2", stage="RUNNING")
DECLARED = (
    Machine(name="cp-1", id="1", role=MachineRole.CONTROL_PLANE, place=Place("apps.yaml")),
    Machine(name="w-1", id="2", role=MachineRole.WORKER, place=Place("apps.yaml")),
)


def status(*machines: ClusterMachine, **more: object) -> ClusterStatus:
    found = ClusterStatus(phase="RUNNING", is_ready=False, machines=machines, checks=())
    return dataclasses.replace(found, **more)  # type: ignore[arg-type]


def test_machines_that_run_are_enough_although_omni_does_not_call_the_cluster_ready() -> None:
    assert machine_stage.machines(status(PLANE, WORKER), DECLARED) == Passed("2 of 2 up")


@pytest.mark.parametrize(
    ("machine", "lack"),
    [
        (dataclasses.replace(PLANE, stage="INSTALLING"), "cp-1 is installing"),
        (dataclasses.replace(PLANE, stage="POWERED_OFF"), "cp-1 is powered off"),
        (dataclasses.replace(PLANE, is_connected=False), "cp-1 does not answer Omni"),
        (dataclasses.replace(PLANE, is_up_to_date=False), "cp-1 has its old config"),
    ],
    ids=["installing", "off", "silent", "outdated"],
)
def test_what_a_machine_lacks_is_told_by_its_name(machine: ClusterMachine, lack: str) -> None:
    assert machine_stage.machines(status(machine, WORKER), DECLARED) == Waiting(lack)


def test_a_declared_machine_that_omni_does_not_show_is_waited_for() -> None:
    assert machine_stage.machines(status(PLANE), DECLARED) == Waiting("w-1 is not in Omni's cluster yet")


def test_a_declared_worker_that_never_comes_is_left_and_a_control_plane_is_not() -> None:
    assert machine_stage.machines(status(PLANE), DECLARED, with_workers=False) == Passed(
        "1 of 2 up; w-1 is not in Omni's cluster yet; it may join any time"
    )
    other = dataclasses.replace(PLANE, id="3")
    assert machine_stage.machines(status(other, WORKER), DECLARED, with_workers=False) == Waiting(
        "cp-1 is not in Omni's cluster yet"
    )


def test_a_machine_of_a_class_is_called_by_its_id() -> None:
    late = ClusterMachine(id="9", stage="BOOTING")

    assert machine_stage.machines(status(PLANE, late), ()) == Waiting("9 is booting")


def test_workers_are_left_after_a_while_and_control_planes_are_not() -> None:
    off = dataclasses.replace(WORKER, is_connected=False)
    verdict = machine_stage.machines(status(PLANE, off), DECLARED, with_workers=False)

    assert verdict == Passed("1 of 2 up; w-1 does not answer Omni; it may join any time")
    late = dataclasses.replace(PLANE, stage="BOOTING")
    assert isinstance(machine_stage.machines(status(late, off), DECLARED, with_workers=False), Waiting)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (status(PLANE, dataclasses.replace(WORKER, has_failed=True)), "w-1 does not take its config"),
        (status(PLANE, WORKER, upgrades=(("Talos", "Failed"),)), "Omni could not upgrade Talos"),
        (status(PLANE, WORKER, phase="DESTROYING"), "Omni is destroying the cluster"),
    ],
    ids=["config", "upgrade", "destroyed"],
)
def test_what_never_comes_by_waiting_fails(seen: ClusterStatus, reason: str) -> None:
    assert machine_stage.machines(seen, DECLARED) == Failed(reason)


def test_an_upgrade_under_way_is_waited_for_and_an_unknown_one_is_not() -> None:
    under_way = status(PLANE, WORKER, upgrades=(("Kubernetes", "Upgrading"), ("Talos", "Done")))

    assert machine_stage.machines(under_way, DECLARED) == Waiting("Kubernetes is upgraded (Upgrading)")
    assert isinstance(machine_stage.machines(status(PLANE, WORKER, upgrades=(("Talos", "Unknown"),)), DECLARED), Passed)


def test_a_cluster_that_omni_says_nothing_of_is_waited_for() -> None:
    assert isinstance(machine_stage.machines(None, ()), Waiting)
    assert isinstance(machine_stage.machines(status(), ()), Waiting)
    assert isinstance(machine_stage.etcd(None), Waiting)
    assert isinstance(machine_stage.etcd(status(PLANE, checks=None)), Waiting)


def test_etcd_is_well_when_no_check_fails() -> None:
    assert machine_stage.etcd(status(PLANE)) == Passed("etcd is well, says Omni")
    assert machine_stage.etcd(status(PLANE, checks=("Etcd",))) == Waiting("checks of the control plane fail: Etcd")
