"""Virtual machines that fit what configs ask of the real ones."""

from typing import Any

import msgspec
import pytest

from firstlight.commands.rehearse import lab_mapping
from firstlight.lab.machines.machine_settings import VirtualDisk, VirtualLink
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.place import Place
from firstlight.model.secret import Secret


def draft(*patches: str, **more: Any) -> MachineDraft:
    machine = Machine(name="cp-1", role=MachineRole.CONTROL_PLANE, place=Place("m.yaml"), address="10.0.0.2")
    texts = tuple(DraftPatch(place=Place("p.yaml"), text=Secret(each)) for each in patches)
    return MachineDraft(machine=machine, cluster="home", endpoint="https://10.0.0.1:6443", patches=texts, **more)


@pytest.mark.parametrize(
    ("selector", "disk"),
    [
        ({"size": ">= 100GB"}, VirtualDisk(size="100GB")),
        ({"size": "> 1TB", "type": "nvme"}, VirtualDisk(device="/dev/nvme0n1", size="2TB")),
        ({"size": "<500GB"}, VirtualDisk(size="250GB")),
        ({"size": "<= 500GB"}, VirtualDisk(size="500GB")),
        ({"model": "WDC*", "serial": "A?1"}, VirtualDisk(model="WDC", serial="A01")),
        ({"type": "hdd"}, VirtualDisk(rotational=True)),
        ({"name": "/dev/sdb"}, VirtualDisk(device="/dev/sdb")),
        ({"size": "large"}, VirtualDisk()),
    ],
)
def test_a_disk_that_a_selector_chooses(selector: dict[str, Any], disk: VirtualDisk) -> None:
    assert lab_mapping.disk_for(selector) == (disk, [])


def test_what_virtual_disks_do_not_have_is_told() -> None:
    fitted = lab_mapping.fit(draft(disk_selector={"busPath": "/pci0000:00/*", "type": "ssd"}), name="cp-1")

    assert [each.what for each in fitted.untried] == ["cp-1: disk selector busPath: /pci0000:00/*"]


def test_the_last_patch_that_names_a_disk_counts() -> None:
    fitted = lab_mapping.fit(
        draft("machine: {install: {disk: /dev/sda}}", "machine: {install: {disk: /dev/vdb}}"), name="cp-1"
    )

    assert [each.device for each in fitted.machine.disks] == ["/dev/vdb"]


def test_interfaces_that_are_named_or_chosen_are_there_and_those_that_are_made_are_not() -> None:
    patch = """
machine:
  network:
    interfaces:
      - {interface: enp1s0, dhcp: true}
      - {deviceSelector: {hardwareAddr: "AA:bb:*", driver: igc}}
      - {interface: bond0, bond: {mode: 802.3ad, interfaces: [eno1, eno2]}}
      - {interface: wg0}
---
apiVersion: v1alpha1
kind: LinkConfig
name: eno3
"""
    fitted = lab_mapping.fit(draft(patch), name="cp-1")

    assert [each.name for each in fitted.machine.links] == ["enp1s0", "eth0", "eno1", "eno2", "eno3"]
    chosen = next(each for each in fitted.machine.links if each.name == "eth0")
    assert chosen.mac.startswith("aa:bb:")
    assert len(chosen.mac) == 17
    assert fitted.untried == ()


def test_two_selectors_of_one_pattern_are_one_interface() -> None:
    patch = "machine: {network: {interfaces: [{deviceSelector: {hardwareAddr: 'aa:*'}}]}}"
    assert len(lab_mapping.fit(draft(patch, patch), name="cp-1").machine.links) == 1


def test_without_any_word_it_is_an_ordinary_machine() -> None:
    machine = lab_mapping.fit(draft(talos="nightly"), name="cp-1").machine

    assert (machine.disks, machine.links, machine.talos) == (
        (VirtualDisk(),),
        (VirtualLink(),),
        lab_mapping.NEWEST,
    )
    assert msgspec.convert(msgspec.to_builtins(machine), type(machine)) == machine, "the lab would refuse it"


def test_a_patch_that_is_no_yaml_is_passed_over() -> None:
    assert lab_mapping.fit(draft("machine: [", "machine: {install: {disk: /dev/vda}}"), name="cp-1").machine.disks[
        0
    ] == (VirtualDisk(device="/dev/vda"))
