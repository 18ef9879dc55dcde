"""The virtual machines of a lab: what each is told before it starts, how it is started, and what it says of itself.

A machine is one process of ``lab-machine``. It reads the address book and its own hardware, keeps its disks in its
directory, and says there what its kubelet and its static pods should be; nobody but the machine writes these.
"""

import contextlib
import ipaddress
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.lab import lab_directory, lab_settings, loopback_network
from firstlight.lab.lab_part import Part, ReadinessProbe
from firstlight.lab.lab_status import MachineStatus, Power, Stage
from firstlight.lab.machines import machine_node, machine_settings
from firstlight.lab.machines.machine_settings import VirtualMachine
from firstlight.lab.part_keeper import Keeper
from firstlight.tools import catalogue

PROGRAM = "lab-machine"
CONTROL_PLANE = "control-plane.json"


class MachineBookEntry(msgspec.Struct, frozen=True):
    """A machine in the address book."""

    name: str
    loopback: str
    declared: str


class MachineBook(msgspec.Struct, frozen=True):
    """Where every machine is, in the order of their declaration."""

    machines: tuple[MachineBookEntry, ...]
    port: int
    shift: int
    api: str


def kubernetes_version() -> str:
    """The one version of Kubernetes that the lab runs."""
    return f"v{catalogue.load().get('kube-apiserver').version}"


def read_book(home: lab_directory.LabDirectory) -> MachineBook | None:
    """The address book, if there is one."""
    try:
        return msgspec.json.decode(home.book.read_bytes(), type=MachineBook)
    except (OSError, msgspec.MsgspecError):
        return None


def make_book(
    machines: Iterable[VirtualMachine], net: loopback_network.LoopbackNetwork, known: MachineBook | None
) -> MachineBook:
    """The address book; a machine that had a loopback address keeps its number, new ones take the lowest free."""
    numbers = {entry.name: int(entry.loopback.rsplit(".", 1)[1]) - 10 for entry in (known.machines if known else ())}
    declared = list(machines)
    taken = {numbers[machine.name] for machine in declared if machine.name in numbers}
    free = (number for number in range(1, machine_settings.MACHINE_LIMIT + 1) if number not in taken)
    entries = tuple(
        MachineBookEntry(
            name=machine.name,
            loopback=net.machine(numbers[machine.name] if machine.name in numbers else next(free)),
            declared=machine.address,
        )
        for machine in declared
    )
    return MachineBook(machines=entries, port=net.apid, shift=net.shift, api=f"{net.loopback}:{net.api}")


def hardware(machine: VirtualMachine, loopback: str, talos: machine_settings.TalosBehaviour) -> dict[str, Any]:
    """What the machine finds itself to be made of."""
    address = ipaddress.ip_address(machine.address)
    prefix = 24 if address.version == 4 else 64
    subnet = ipaddress.ip_network(f"{address}/{prefix}", strict=False)
    gateway = subnet[1] if subnet[1] != address else subnet[-2]
    return {
        "name": machine.name,
        "uuid": machine_settings.identity(machine),
        "loopback": loopback,
        "address": machine.address,
        "prefix": prefix,
        "gateway": str(gateway),
        "cpus": machine.cpu,
        "memory": machine_settings.memory_of(machine.memory),
        "disks": [
            {
                "device": disk.device,
                "size": machine_settings.size_of(disk.size),
                "model": disk.model or "Lab Disk",
                "serial": machine_settings.serial(machine, disk),
                "transport": machine_settings.transport(disk),
                "rotational": disk.rotational,
                "readonly": disk.readonly,
            }
            for disk in machine.disks
        ],
        "links": [
            {
                "name": link.name,
                "mac": machine_settings.mac(machine, link),
                "up": link.up,
                "speed": link.speed,
            }
            for link in machine.links
        ],
        "talos": machine.talos,
        "kubernetes": kubernetes_version(),
        "bootSeconds": talos.boot_seconds,
        "manifestMode": talos.manifests,
        "emptyInventory": talos.empty_inventory,
    }


def prepare_machines(
    home: lab_directory.LabDirectory, net: loopback_network.LoopbackNetwork, wanted: lab_settings.LabSettings
) -> MachineBook:
    """Write the address book and the hardware of every machine; files that say the same already stay."""
    home.machines.mkdir(mode=0o700, exist_ok=True)
    book = make_book(wanted.machines, net, read_book(home))
    for machine, entry in zip(wanted.machines, book.machines, strict=True):
        folder = home.machine(machine.name)
        folder.mkdir(mode=0o700, exist_ok=True)
        _write(folder / "hardware.json", hardware(machine, entry.loopback, wanted.talos))
    _write(home.book, book)
    return book


def _write(path: Path, content: object) -> None:
    encoded = msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
    if not path.exists() or path.read_bytes() != encoded:
        lab_directory.write_whole(path, encoded)


def machine_part(home: lab_directory.LabDirectory, name: str, programs: Mapping[str, Path]) -> Part:
    """How a machine is started."""
    folder = home.machine(name)
    return Part(
        name=name,
        what="Talos machine; as a control plane its etcd is real",
        reality="simulated",
        argv=(
            str(programs[PROGRAM]),
            "--home",
            str(folder),
            "--book",
            str(home.book),
            "--etcd",
            str(programs["etcd"]),
        ),
        probe=ReadinessProbe(mark=folder / "ready", what="its API"),
        grace=15,
        switch=folder / "off",
        # A machine that was killed could not take back that its control plane runs.
        stale=(folder / "ready", folder / CONTROL_PLANE),
    )


def remove_machine(home: lab_directory.LabDirectory, name: str) -> None:
    """Scrap a machine with its disks."""
    shutil.rmtree(home.machine(name), ignore_errors=True)


def has_members(home: lab_directory.LabDirectory) -> bool:
    """Whether a machine has data of etcd, whose members know each other by their loopback addresses."""
    return any(home.machines.glob("*/ephemeral/etcd"))


def is_hardware_newer(home: lab_directory.LabDirectory, keeper: Keeper) -> bool:
    """Whether a machine runs that was started before its hardware was changed."""
    with contextlib.suppress(OSError):
        changed = (home.machine(keeper.part.name) / "hardware.json").stat().st_mtime
        return keeper.is_live and changed > keeper.started
    return False


class _Report(msgspec.Struct, frozen=True, rename="camel"):
    boot_id: str = ""
    registered: bool = False


def _is_registered(folder: Path, node: machine_node.MachineNode) -> bool:
    """Whether there is a Node of the machine, as its kubelet has told it."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        told = msgspec.json.decode((folder / machine_node.KUBELET_REPORT).read_bytes(), type=_Report)
        return told.registered and told.boot_id == node.boot_id
    return False


def _problem(keeper: Keeper) -> str:
    """Why a machine that is on does not run."""
    return keeper.status().detail if keeper.has_failed and not keeper.is_off else ""


def machine_status(
    home: lab_directory.LabDirectory, entry: MachineBookEntry, port: int, keeper: Keeper
) -> MachineStatus:
    """What to say of a machine."""
    folder = home.machine(entry.name)
    node = machine_node.read(folder)
    power: Power = "off" if keeper.is_off else "stopped" if keeper.is_stopped else "on"
    stage: Stage = "maintenance"
    if node is not None or (folder / "state" / "config.yaml").exists():
        stage = "joined" if node is not None and _is_registered(folder, node) else "configured"
    return MachineStatus(
        name=entry.name, endpoint=f"{entry.loopback}:{port}", address=entry.declared, power=power, stage=stage,
        node=node.name if node else "", role=node.role if node else "", boots=keeper.boots,
        problem=_problem(keeper),
    )  # fmt: skip
