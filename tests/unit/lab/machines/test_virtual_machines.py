from pathlib import Path

import msgspec

from firstlight.lab import lab_directory, lab_settings, loopback_network
from firstlight.lab.machines import virtual_machines
from firstlight.lab.machines.machine_settings import TalosBehaviour, VirtualDisk, VirtualMachine

NET = loopback_network.LoopbackNetwork(7, 20000)


def named(*names: str) -> list[VirtualMachine]:
    return [VirtualMachine(name=name, address="10.5.0.2") for name in names]


def lab(tmp_path: Path) -> lab_directory.LabDirectory:
    home = lab_directory.LabDirectory(tmp_path / "lab")
    home.make()
    return home


def test_the_book_has_every_machine_in_the_order_of_its_declaration(tmp_path: Path) -> None:
    home = lab(tmp_path)
    wanted = lab_settings.with_machines(lab_settings.LabSettings(), control_planes=1, workers=1)

    virtual_machines.prepare_machines(home, NET, wanted)

    assert msgspec.json.decode(home.book.read_bytes()) == {
        "machines": [
            {"name": "cp-1", "loopback": "127.71.7.11", "declared": "10.5.0.2"},
            {"name": "worker-1", "loopback": "127.71.7.12", "declared": "10.5.0.3"},
        ],
        "port": 50002,
        "shift": 20000,
        "api": "127.71.7.1:26443",
    }


def test_a_machine_keeps_its_loopback_address_whoever_comes_and_goes() -> None:
    first = virtual_machines.make_book(named("a", "b", "c"), NET, None)
    second = virtual_machines.make_book(named("c", "d", "a"), NET, first)

    assert {each.name: each.loopback for each in second.machines} == {
        "c": "127.71.7.13",
        "d": "127.71.7.12",
        "a": "127.71.7.11",
    }
    assert [each.name for each in second.machines] == ["c", "d", "a"]


def test_hardware_is_what_was_declared() -> None:
    disk = VirtualDisk(device="/dev/vda", size="10GB", readonly=True)
    machine = VirtualMachine(name="cp-1", address="10.5.0.1", cpu=2, memory="1.5Gi", disks=(disk,), talos="v1.12.4")

    made = virtual_machines.hardware(machine, "127.71.7.11", TalosBehaviour(manifests="1.12", boot_seconds=0))

    assert (made["cpus"], made["memory"], made["talos"]) == (2, 3 << 29, "v1.12.4")
    assert (made["prefix"], made["gateway"]) == (24, "10.5.0.254")
    assert made["disks"][0] | {"serial": ""} == {
        "device": "/dev/vda",
        "size": 10**10,
        "model": "Lab Disk",
        "serial": "",
        "transport": "virtio",
        "rotational": False,
        "readonly": True,
    }
    assert (made["manifestMode"], made["bootSeconds"], made["emptyInventory"]) == ("1.12", 0, False)
    assert made["kubernetes"].startswith("v1.")


def test_hardware_is_written_only_when_it_is_another(tmp_path: Path) -> None:
    home = lab(tmp_path)
    wanted = lab_settings.with_machines(lab_settings.LabSettings(), control_planes=1, workers=0)
    virtual_machines.prepare_machines(home, NET, wanted)
    path = home.machine("cp-1") / "hardware.json"
    before = path.stat().st_ino

    virtual_machines.prepare_machines(home, NET, wanted)
    same = path.stat().st_ino
    virtual_machines.prepare_machines(home, NET, msgspec.structs.replace(wanted, talos=TalosBehaviour(boot_seconds=5)))

    assert same == before
    assert path.stat().st_ino != before
    assert oct(home.machine("cp-1").stat().st_mode & 0o777) == "0o700"


def test_a_machine_is_started_as_agreed(tmp_path: Path) -> None:
    home = lab(tmp_path)

    part = virtual_machines.machine_part(home, "cp-1", {"lab-machine": Path("/p/lab-machine"), "etcd": Path("/p/etcd")})

    folder = str(home.machine("cp-1"))
    assert part.argv == (
        "/p/lab-machine", "--home", folder, "--book", str(home.book), "--etcd", "/p/etcd",
    )  # fmt: skip
    assert part.probe.mark == home.machine("cp-1") / "ready"


def test_members_of_etcd_are_known_by_their_data(tmp_path: Path) -> None:
    home = lab(tmp_path)
    assert not virtual_machines.has_members(home)

    (home.machine("cp-1") / "ephemeral" / "etcd").mkdir(parents=True)

    assert virtual_machines.has_members(home)


def test_nobody_says_of_a_worker_that_it_has_an_etcd(tmp_path: Path) -> None:
    made = virtual_machines.machine_part(
        lab(tmp_path), "worker-1", {virtual_machines.PROGRAM: Path("lab-machine"), "etcd": Path("etcd")}
    )

    assert made.what == "Talos machine; as a control plane its etcd is real"
