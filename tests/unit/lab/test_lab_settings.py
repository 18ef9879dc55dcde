import re
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.lab import lab_settings
from firstlight.lab.machines import machine_settings

NODE = "- {name: a, address: 10.5.0.2}"
MACHINE = "machines:\n  - {name: a, address: 10.5.0.2, "


def load(tmp_path: Path, text: str) -> lab_settings.LabSettings:
    path = tmp_path / "lab.yaml"
    path.write_text(text)
    return lab_settings.load(path)


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, "") == lab_settings.LabSettings()


def test_everything_that_can_be_declared_is_read(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        podCidr: 10.1.0.0/16
        pullSeconds: 2
        brokenImages: ["*/bad:*"]
        loadBalancers: [10.5.1.0/24]
        nodes:
          - name: cp-1
            address: 10.5.0.2
            role: control-plane
            labels: {zone: a}
            taints: [{key: k, effect: NoExecute}]
        exec: [{command: [cilium, status], stdout: OK, exitCode: 3}]
        logs: [{namespace: kube-system, lines: [started]}]
        """,
    )

    assert found.nodes[0].taints == (lab_settings.NodeTaint(key="k", effect="NoExecute"),)
    assert found.exec[0].exit_code == 3
    assert found.pull_seconds == 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("podCidr: 10.0.0.0/33\n", 1, "podCidr"),
        ("pullSeconds: -1\n", 1, "pullSeconds: Expected `float`"),
        ("nodes:\n  - name: a\n", 2, "missing required field `address`"),
        ("nodes:\n  - {name: a, address: 10.5.0.2, role: boss}\n", 2, "role: Invalid enum value 'boss'"),
        (f"nodes:\n  {NODE}\n  {NODE}\n", 3, "two nodes have the name a"),
        ("nodes:\n  - {name: a, address: 10.5.0.2}\n  - {name: b, address: 10.5.0.2}\n", 3, "the address 10.5.0.2"),
        ("nodes:\n  - name: a\n    address: 127.0.0.1\n", 3, "refuses 127.0.0.1"),
        ("nodes:\n  - name: a\n    address: home\n", 3, "'home' is not an address"),
        ("nodes:\n  - {name: a, address: 10.5.0.2, labels: {zone: a b}}\n", 2, "zone: a b is no label"),
        ("nodes:\n  - {name: a, address: 10.5.0.2, memory: lots}\n", 2, "'lots' is no amount"),
        ("loadBalancers:\n  - 10.5.0.9-10.5.0.1\n", 2, "ends before it begins"),
        ("pullSeconds: 1\npullSeconds: 2\n", 2, "pullSeconds is given twice"),
        ("podCidr: 10.244.0.0/28\n", 1, "has no room"),
        ("podCidr: 10.96.0.0/16\n", 1, "must not overlap"),
        ("serviceCidr: 10.0.0.0/8\n", 1, "must not overlap|is no size"),
        (f"nodes:\n  {NODE}\nmachines:\n  {NODE}\n", 3, "either nodes or machines"),
        (f"podCidr: 10.244.0.0/16\nmachines:\n  {NODE}\n", 1, "is the one of their configs"),
        (f"machines:\n  {NODE}\n  {NODE}\n", 3, "two machines have the name a"),
        ("machines:\n  - {name: a, address: 10.5.0.2}\n  - {name: b, address: 10.5.0.2}\n", 3, "the address 10.5.0.2"),
        ("machines:\n  - {name: etcd, address: 10.5.0.2}\n", 2, "name of another part"),
        ("machines:\n  - {name: book.json, address: 10.5.0.2}\n", 2, "name"),
        ("machines:\n  - name: a\n    address: 127.71.1.11\n", 3, "refuses 127.71.1.11"),
        (MACHINE + "memory: lots}\n", 2, "'lots' is no amount"),
        (MACHINE + "uuid: mine}\n", 2, "'mine' is no UUID"),
        (MACHINE + "talos: latest}\n", 2, "talos"),
        (MACHINE + "disks: [{size: 100}]}\n", 2, "size"),
        (MACHINE + "disks: [{size: 100 bananas}]}\n", 2, "is no size of a disk"),
        (MACHINE + "disks: [{device: sda}]}\n", 2, "device"),
        (MACHINE + "disks: [{}, {}]}\n", 2, "two disks are /dev/sda"),
        (MACHINE + "links: [{mac: '1'}]}\n", 2, "'1' is no mac"),
        (MACHINE + "links: [{}, {}]}\n", 2, "two links are eth0"),
        ("talos: {manifests: 1.13}\n", 1, "manifests"),
        ("talos: {bootSeconds: -1}\n", 1, "bootSeconds"),
        ("[]\n", 1, "Expected `object`"),
        ("podCIDR: 10.0.0.0/8\n", 1, "unknown field `podCIDR`"),
        ("nodes: [\n", 2, "not closed"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        load(tmp_path, text)

    assert re.search(message, caught.value.message)
    assert caught.value.line == line


def test_a_file_that_is_not_there_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="cannot be read"):
        lab_settings.load(tmp_path / "none.yaml")


def test_counted_nodes_have_names_roles_and_addresses() -> None:
    nodes = lab_settings.with_nodes(lab_settings.LabSettings(), control_planes=1, workers=1).nodes

    assert [(node.name, node.role, node.address) for node in nodes] == [
        ("cp-1", "control-plane", "10.5.0.2"),
        ("worker-1", "worker", "10.5.0.3"),
    ]


def test_machines_are_read_and_what_is_not_said_follows_from_the_name(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        machines:
          - name: cp-1
            address: 10.5.0.2
            disks: [{device: /dev/nvme0n1, size: 2TB}, {device: /dev/sda, size: 100GiB, rotational: true}]
            links: [{name: eth0, mac: "02:00:00:00:00:AA"}, {name: eth1, up: false}]
          - {name: worker-1, address: 10.5.0.3, disks: []}
        talos: {manifests: "1.12", emptyInventory: true, bootSeconds: 0}
        """,
    )
    one, other = found.machines

    assert [machine_settings.size_of(disk.size) for disk in one.disks] == [2 * 10**12, 100 << 30]
    assert [machine_settings.transport(disk) for disk in one.disks] == ["nvme", "sata"]
    assert machine_settings.mac(one, one.links[0]) == "02:00:00:00:00:aa"
    assert re.fullmatch("02(:[0-9a-f]{2}){5}", machine_settings.mac(one, one.links[1]))
    assert machine_settings.identity(one) == machine_settings.identity(
        machine_settings.VirtualMachine(name="cp-1", address="10.9.9.9")
    )
    assert machine_settings.identity(one) != machine_settings.identity(other)
    assert other.disks == ()
    assert found.talos == machine_settings.TalosBehaviour(manifests="1.12", empty_inventory=True, boot_seconds=0)


def test_counted_machines_keep_their_addresses_when_others_come_and_go() -> None:
    three = lab_settings.with_machines(lab_settings.LabSettings(), control_planes=3, workers=1)
    fewer = lab_settings.with_machines(three, control_planes=1, workers=1)
    more = lab_settings.with_machines(fewer, control_planes=2, workers=2)

    assert [(each.name, each.address) for each in three.machines] == [
        ("cp-1", "10.5.0.2"),
        ("cp-2", "10.5.0.3"),
        ("cp-3", "10.5.0.4"),
        ("worker-1", "10.5.0.5"),
    ]
    assert {each.name: each.address for each in more.machines} == {
        "cp-1": "10.5.0.2",
        "cp-2": "10.5.0.3",
        "worker-1": "10.5.0.5",
        "worker-2": "10.5.0.4",
    }
    assert lab_settings.counted_machines(more) == (2, 2)


def test_machines_that_were_declared_one_by_one_are_not_counted() -> None:
    declared = lab_settings.LabSettings(
        machines=(machine_settings.VirtualMachine(name="cp-1", address="10.5.0.2", cpu=2),)
    )

    with pytest.raises(errors.UsageError, match="one by one"):
        lab_settings.counted_machines(declared)


def test_a_deeply_nested_file_is_an_error_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text("nodes: " + "[" * 100_000)

    with pytest.raises(errors.ConfigError, match="nested deeper than 200 levels"):
        lab_settings.load(path)
