"""What the repo says of a machine's hardware, as far as it can be told before its config is made."""

import pytest

from firstlight.commands.up import machine_checks
from firstlight.gates import hardware
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine import InstallDisk, NetworkLink
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.place import Place
from firstlight.model.secret import Secret

HERE = Place("talconfig.yaml", 1)
MACHINE = Machine(name="cp-1", role=MachineRole.CONTROL_PLANE, place=HERE, address="10.0.0.2")
DISKS = (InstallDisk(dev_path="/dev/vda", size=10 * 10**9),)
LINKS = {"eth0": NetworkLink(type="ether", hardware_addr="02:00:00:00:00:01")}


def draft(*patches: str | None, disk: str = "") -> MachineDraft:
    made = tuple(DraftPatch(place=HERE, text=Secret(each) if each else None, reference="sops:x") for each in patches)
    return MachineDraft(machine=MACHINE, cluster="home", endpoint="", patches=made, install_disk=disk)


@pytest.mark.parametrize(
    ("one", "lacks"),
    [
        (draft(disk="/dev/vda"), []),
        (draft(), ["/dev/sda"]),
        (draft("machine: {install: {disk: /dev/vda}}"), []),
        (draft("machine: {install: {disk: /dev/vdb}}", disk="/dev/vda"), ["/dev/vdb"]),
        (draft("machine: {install: {diskSelector: {size: '> 100GB'}}}"), ["no disk matches size"]),
        (draft("machine: {network: {interfaces: [{interface: eth7}]}}", disk="/dev/vda"), ["eth7"]),
    ],
    ids=["there", "none declared", "in a patch", "the last wins", "selector", "interface"],
)
def test_what_is_declared_in_clear_is_held_against_the_machine(one: MachineDraft, lacks: list[str]) -> None:
    documents = machine_checks.declared(one)

    assert documents is not None
    found = hardware.missing(documents, disks=DISKS, links=LINKS)
    assert [any(word in each for each in found) for word in lacks] == [True] * len(lacks)
    assert len(found) == len(lacks)


@pytest.mark.parametrize(
    "patch",
    [None, "machine: {install: {diskSelector: {$patch: delete}}}", "machine: {network: {interfaces: [{ignore: true}]}}",
     "{"],
    ids=["encrypted", "takes away", "ignores", "no YAML"],
)  # fmt: skip
def test_what_cannot_be_told_yet_is_left_to_the_step(patch: str | None) -> None:
    assert machine_checks.declared(draft("machine: {}", patch)) is None


@pytest.mark.parametrize(
    ("client", "declared", "running", "said"),
    [
        ("1.14.1", "v1.14.2", {"cp-1": "v1.14.0"}, ""),
        ("1.14.1", "v1.13.0", {"cp-1": "v1.13.0"}, ""),
        ("1.14.1", "", {"cp-1": ""}, ""),
        ("1.13.0", "v1.13.0", {"cp-1": "v1.14.1"}, "talosctl 1.13.0 is older than cp-1 (v1.14.1)"),
        ("1.13.0", "v1.14.1", {}, "talosctl 1.13.0 is older than the declared Talos v1.14.1"),
    ],
    ids=["same line", "newer is fine", "unknown", "machine", "declared"],
)
def test_a_talosctl_older_than_the_machines_is_said(
    client: str, declared: str, running: dict[str, str], said: str
) -> None:
    assert machine_checks.older_talosctl(client, declared=declared, running=running) == said
