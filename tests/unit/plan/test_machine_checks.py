"""Machines that have no name or address of their own."""

import pytest

from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.plan import machine_checks


def machine(name: str, address: str, *, path: str = "talconfig.yaml", line: int = 1) -> Machine:
    return Machine(name=name, role=MachineRole.WORKER, place=Place(path, line), address=address)


def codes(*machines: Machine) -> list[tuple[str, Severity, int]]:
    cluster = Cluster(name="home", place=Place("talconfig.yaml"), machines=machines)
    return [(each.code, each.severity, each.place.line) for each in machine_checks.problems([cluster])]


@pytest.mark.parametrize(
    "address",
    ["10.0.0.300", "10.0.0", "10.0.0.1.2", "fd00::zz", "0.0.0.0", "::", "224.0.0.1", "255.255.255.255", "not a host"],
)
def test_an_address_at_which_nothing_answers(address: str) -> None:
    assert codes(machine("one", address)) == [("machine-address-wrong", Severity.ERROR, 1)]


@pytest.mark.parametrize(
    "address",
    ["10.0.0.3", "10.0.0.3/24", "fd00::3", "one.example.org", "one", "", "{{ address }}", "${ADDRESS}", "<ADDRESS>"],
)
def test_addresses_that_may_be_right(address: str) -> None:
    assert codes(machine("one", address)) == []


def test_one_name_or_address_for_two_machines() -> None:
    found = codes(
        machine("one", "10.0.0.1", line=1), machine("one", "10.0.0.2", line=2), machine("two", "10.0.0.1", line=3)
    )
    assert found == [("machine-name-twice", Severity.ERROR, 2), ("machine-address-twice", Severity.ERROR, 3)]


def test_two_files_may_be_two_views_of_one_machine() -> None:
    found = codes(machine("one", "10.0.0.1"), machine("one", "10.0.0.1", path="nodes/one.yaml", line=2))
    assert found == [("machine-name-twice", Severity.WARNING, 2)]


def test_machines_of_omni_have_no_address() -> None:
    assert codes(machine("one", ""), machine("two", "")) == []
