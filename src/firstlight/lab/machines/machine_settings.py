"""What virtual machines of a lab are declared to be: their hardware, and how their Talos behaves."""

import hashlib
import ipaddress
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec

MACHINE_LIMIT = 200
"""Machines of a lab: each has a loopback address of its own in the lab's /24."""
RESERVED = frozenset(
    {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "simulator", "lab-kubelet",
     "lab-proxy", "supervisor", "audit"}
)  # fmt: skip
"""Names of parts and of log files; a machine is a part too."""
NAMESPACE = uuid.UUID("6f1a1c1e-9d0a-5a5e-8f3b-0d3c6a1f7e21")
"""From which the machines' own identities are made: the same name means the same machine in every lab."""

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(k|M|G|T|Ki|Mi|Gi|Ti)?B")
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(k|M|G|T|Ki|Mi|Gi|Ti)?")
_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30,
            "Ti": 1 << 40}  # fmt: skip
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")

Fail = Callable[..., None]
"""Called with a message, the steps to the value, and a hint; raises."""


class VirtualDisk(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A disk of a machine; what is not said is made up from the machine's name."""

    device: Annotated[str, msgspec.Meta(pattern=r"^/dev/[a-z0-9]+$")] = "/dev/sda"
    size: str = "100GB"
    model: str = ""
    serial: str = ""
    transport: str = ""
    rotational: bool = False
    readonly: bool = False


class VirtualLink(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A network interface of a machine."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9.-]{0,14}$")] = "eth0"
    mac: str = ""
    up: bool = True
    speed: Annotated[int, msgspec.Meta(ge=0, le=800_000)] = 1000
    """In megabits."""


class VirtualMachine(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A virtual machine, bare: what it becomes is in the config that it is given."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
    address: str
    cpu: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 8
    memory: str = "32Gi"
    disks: tuple[VirtualDisk, ...] = (VirtualDisk(),)
    links: tuple[VirtualLink, ...] = (VirtualLink(),)
    talos: Annotated[str, msgspec.Meta(pattern=r"^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9.-]+)?$")] = "v1.14.1"
    """The version on the boot medium."""
    uuid: str = ""


class TalosBehaviour(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """How the Talos of all machines behaves."""

    manifests: Literal["1.12", "1.13"] = "1.13"
    """Whose way with inline manifests: created once, or applied with an inventory."""
    empty_inventory: bool = False
    """The defect of 1.13.0 that loses the inventory."""
    boot_seconds: Annotated[float, msgspec.Meta(ge=0, le=600)] = 1.0


def size_of(text: str) -> int:
    """The bytes of a disk's size, such as 100GB or 2TiB.

    Raises:
        ValueError: It is none.
    """
    return _bytes(_SIZE.fullmatch(text), text)


def memory_of(text: str) -> int:
    """The bytes of an amount of memory, such as 32Gi.

    Raises:
        ValueError: It is none.
    """
    return _bytes(_MEMORY.fullmatch(text), text)


def _bytes(match: re.Match[str] | None, text: str) -> int:
    if match is None:
        raise ValueError(f"{text!r} is no size")
    return int(float(match[1]) * _FACTORS[match[2] or ""])


def identity(machine: VirtualMachine) -> str:
    """The machine's UUID."""
    return machine.uuid or str(uuid.uuid5(NAMESPACE, machine.name))


def serial(machine: VirtualMachine, disk: VirtualDisk) -> str:
    """A disk's serial number."""
    return disk.serial or _digest(machine, disk.device)[:12].upper()


def mac(machine: VirtualMachine, link: VirtualLink) -> str:
    """A link's hardware address: a locally administered one if none is declared."""
    if link.mac:
        return link.mac.lower()
    digits = _digest(machine, link.name)[:10]
    return "02:" + ":".join(digits[at : at + 2] for at in range(0, 10, 2))


def transport(disk: VirtualDisk) -> str:
    """How a disk is attached, by its name if that is not declared."""
    by_name = {"nvme": "nvme", "vd": "virtio"}
    found = [kind for prefix, kind in by_name.items() if disk.device.startswith(f"/dev/{prefix}")]
    return disk.transport or (found or ["sata"])[0]


def _digest(machine: VirtualMachine, what: str) -> str:
    return hashlib.sha256(f"{identity(machine)} {what}".encode()).hexdigest()


def check_machines(machines: Sequence[VirtualMachine], fail: Fail) -> None:
    """Find what cannot be meant."""
    if len(machines) > MACHINE_LIMIT:
        fail(f"at most {MACHINE_LIMIT} machines fit into a lab", "machines")
    macs: set[str] = set()
    for index, machine in enumerate(machines):
        _check_one(machine, index, fail)
        for what, value in (("name", machine.name), ("address", machine.address), ("uuid", identity(machine))):
            others = (identity(each) if what == "uuid" else getattr(each, what) for each in machines[:index])
            if value in others:
                fail(f"two machines have the {what} {value}", "machines", index, what)
        for number, link in enumerate(machine.links):
            if mac(machine, link) in macs:
                fail(f"two links have the mac {link.mac}", "machines", index, "links", number, "mac")
            macs.add(mac(machine, link))


def _check_one(machine: VirtualMachine, index: int, fail: Fail) -> None:
    at = ("machines", index)
    if machine.name in RESERVED:
        fail(f"{machine.name} is the name of another part of the lab", *at, "name")
    try:
        address = ipaddress.ip_address(machine.address)
    except ValueError:
        fail(f"{machine.address!r} is not an address", *at, "address")
    else:
        if address.is_loopback:
            fail(
                f"the API server refuses {machine.address} in Node objects", *at, "address",
                hint="Declare the address that the machine would have, such as 10.5.0.2; nothing must listen.",
            )  # fmt: skip
    if not _MEMORY.fullmatch(machine.memory):
        fail(f"{machine.memory!r} is no amount of memory", *at, "memory", hint="Write 32Gi.")
    if machine.uuid and not _is_uuid(machine.uuid):
        fail(f"{machine.uuid!r} is no UUID", *at, "uuid", hint="Leave it out, and it is made from the name.")
    for number, disk in enumerate(machine.disks):
        if not _SIZE.fullmatch(disk.size):
            fail(f"{disk.size!r} is no size of a disk", *at, "disks", number, "size", hint="Write 100GB or 2TiB.")
        if disk.device in [other.device for other in machine.disks[:number]]:
            fail(f"two disks are {disk.device}", *at, "disks", number, "device")
    for number, link in enumerate(machine.links):
        if link.mac and not _MAC.fullmatch(link.mac.lower()):
            fail(f"{link.mac!r} is no mac", *at, "links", number, "mac", hint="Write 02:00:00:00:00:01.")
        if link.name in [other.name for other in machine.links[:number]]:
            fail(f"two links are {link.name}", *at, "links", number, "name")


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
