from pathlib import Path

import msgspec

from firstlight.lab import directory, machines, network, settings
from firstlight.lab.machine_settings import Disk, Machine, Talos

NET = network.Network(7, 20000)


def named(*names: str) -> list[Machine]:
    return [Machine(name=name, address="10.5.0.2") for name in names]


def lab(tmp_path: Path) -> directory.Directory:
    home = directory.Directory(tmp_path / "lab")
    home.make()
    return home


def test_the_book_has_every_machine_in_the_order_of_its_declaration(tmp_path: Path) -> None:
    home = lab(tmp_path)
    wanted = settings.with_machines(settings.Settings(), control_planes=1, workers=1)

    machines.prepare(home, NET, wanted)

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
    first = machines.make_book(named("a", "b", "c"), NET, None)
    second = machines.make_book(named("c", "d", "a"), NET, first)

    assert {each.name: each.loopback for each in second.machines} == {
        "c": "127.71.7.13",
        "d": "127.71.7.12",
        "a": "127.71.7.11",
    }
    assert [each.name for each in second.machines] == ["c", "d", "a"]


def test_hardware_is_what_was_declared() -> None:
    disk = Disk(device="/dev/vda", size="10GB", readonly=True)
    machine = Machine(name="cp-1", address="10.5.0.1", cpu=2, memory="1.5Gi", disks=(disk,), talos="v1.12.4")

    made = machines.hardware(machine, "127.71.7.11", Talos(manifests="1.12", boot_seconds=0))

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
    wanted = settings.with_machines(settings.Settings(), control_planes=1, workers=0)
    machines.prepare(home, NET, wanted)
    path = home.machine("cp-1") / "hardware.json"
    before = path.stat().st_ino

    machines.prepare(home, NET, wanted)
    same = path.stat().st_ino
    machines.prepare(home, NET, msgspec.structs.replace(wanted, talos=Talos(boot_seconds=5)))

    assert same == before
    assert path.stat().st_ino != before
    assert oct(home.machine("cp-1").stat().st_mode & 0o777) == "0o700"


def test_a_machine_is_started_as_agreed(tmp_path: Path) -> None:
    home = lab(tmp_path)

    part = machines.part(home, "cp-1", {"lab-machine": Path("/p/lab-machine"), "etcd": Path("/p/etcd")})

    folder = str(home.machine("cp-1"))
    assert part.argv == (
        "/p/lab-machine", "--home", folder, "--book", str(home.book), "--etcd", "/p/etcd",
    )  # fmt: skip
    assert part.probe.mark == home.machine("cp-1") / "ready"


def test_members_of_etcd_are_known_by_their_data(tmp_path: Path) -> None:
    home = lab(tmp_path)
    assert not machines.has_members(home)

    (home.machine("cp-1") / "ephemeral" / "etcd").mkdir(parents=True)

    assert machines.has_members(home)


def test_nobody_says_of_a_worker_that_it_has_an_etcd(tmp_path: Path) -> None:
    made = machines.part(lab(tmp_path), "worker-1", {machines.PROGRAM: Path("lab-machine"), "etcd": Path("etcd")})

    assert made.what == "Talos machine; as a control plane its etcd is real"
