"""The virtual machine that fits a machine's config: a disk to install to, and the interfaces that it names. Pure."""

import dataclasses
import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.rehearse.rehearsal import Untried
from firstlight.document import yaml_reader
from firstlight.lab.machines import machine_settings
from firstlight.lab.machines.machine_settings import VirtualDisk, VirtualLink
from firstlight.model import versions
from firstlight.model.cluster import Machine
from firstlight.model.machine_config import MachineDraft

NEWEST = "v1.13.0"
"""What the boot medium has where the declared version is none that the lab knows."""
_DEVICE = re.compile(r"/dev/[a-z0-9]+")
_LINK = re.compile(r"[a-z][a-z0-9.-]{0,14}")
_SIZE = re.compile(r"(?P<sign>[<>=]*)\s*(?P<number>[0-9.]+)\s*(?P<unit>[kMGT]i?B|B)?")
_PAIR = re.compile(r"(\w+): ([^,]+)")
_UNLIKE_HARDWARE = re.compile(r"bond|br|dummy|wg|lo|vlan|veth|cilium")
"""Interfaces that a config makes itself."""
_KNOWN_OF_DISKS = {"size", "name", "model", "serial", "type"}
_KNOWN_OF_LINKS = {"hardwareAddr", "permanentAddr", "physical", "driver"}


@dataclasses.dataclass(frozen=True)
class FittedMachine:
    """A machine of the lab, and what of the declared hardware it cannot have."""

    machine: machine_settings.VirtualMachine
    untried: tuple[Untried, ...] = ()


def fit(draft: MachineDraft, *, name: str) -> FittedMachine:
    """The machine for a draft, under a name that the lab takes."""
    documents = list(_documents(draft))
    disks, odd_disks = _disks(draft, documents)
    links, odd_links = _links(documents)
    talos = draft.talos if versions.is_talos(draft.talos) else NEWEST
    machine = machine_settings.VirtualMachine(
        name=name,
        address=draft.machine.address,
        disks=disks or (VirtualDisk(),),
        links=links or (VirtualLink(),),
        talos=talos,
    )
    return FittedMachine(machine, tuple(_untried(draft.machine, odd_disks, odd_links)))


def _untried(machine: Machine, disks: Sequence[str], links: Sequence[str]) -> Iterator[Untried]:
    for each in disks:
        yield Untried(f"{machine.name}: disk selector {each}", "virtual disks have no such property")
    for each in links:
        yield Untried(f"{machine.name}: interface selector {each}", "virtual interfaces have no such property")


def _documents(draft: MachineDraft) -> Iterator[Mapping[str, Any]]:
    """Everything that the draft says in files, as far as it is readable."""
    for patch in (*((draft.whole,) if draft.whole else ()), *draft.patches):
        if patch.text is not None:
            for document in yaml_reader.read(patch.text.reveal(), patch.place.path).documents:
                if isinstance(document.value, Mapping):
                    yield document.value


def _disks(draft: MachineDraft, documents: Sequence[Mapping[str, Any]]) -> tuple[tuple[VirtualDisk, ...], list[str]]:
    device, selector = draft.install_disk or draft.machine.install_disk, dict(draft.disk_selector)
    for document in documents:
        install = _mapping(_mapping(document.get("machine")).get("install"))
        device = str(install.get("disk") or device)
        selector = dict(_mapping(install.get("diskSelector"))) or selector
    if not selector and not device.startswith("/dev/"):
        selector = dict(_PAIR.findall(device))  # a reader's way to say by what it is chosen
    if selector:
        disk, odd = disk_for(selector)
        return (disk,), odd
    if not device:
        return (), []
    return ((VirtualDisk(device=device),), []) if _DEVICE.fullmatch(device) else ((), [device])


def disk_for(selector: Mapping[str, Any]) -> tuple[VirtualDisk, list[str]]:
    """A disk that a Talos disk selector chooses, and the properties that a virtual disk cannot have."""
    kind = str(selector.get("type") or "").lower()
    device = str(selector.get("name") or "")
    if not _DEVICE.fullmatch(device):
        device = "/dev/nvme0n1" if kind == "nvme" else "/dev/mmcblk0" if kind == "sd" else "/dev/sda"
    disk = VirtualDisk(
        device=device,
        size=_size(str(selector.get("size") or "")),
        model=_example(str(selector.get("model") or "")),
        serial=_example(str(selector.get("serial") or "")),
        rotational=kind == "hdd",
    )
    return disk, [f"{key}: {selector[key]}" for key in selector if key not in _KNOWN_OF_DISKS]


def _size(condition: str) -> str:
    """A size that meets a condition such as ``>= 100GB``."""
    match = _SIZE.fullmatch(condition.strip())
    if match is None:
        return VirtualDisk().size
    number, unit = float(match["number"]), match["unit"] or "B"
    factor = {">": 2.0, "<": 0.5}.get(match["sign"], 1.0)
    return f"{number * factor:g}{unit}"


def _links(documents: Sequence[Mapping[str, Any]]) -> tuple[tuple[VirtualLink, ...], list[str]]:
    """The interfaces that configs name or choose; those that they make themselves are not hardware."""
    found: dict[str, VirtualLink] = {}
    odd: list[str] = []
    for wanted in (each for document in documents for each in _wanted_links(document)):
        if isinstance(wanted, str):
            if _LINK.fullmatch(wanted) and not _UNLIKE_HARDWARE.match(wanted):
                found.setdefault(wanted, VirtualLink(name=wanted))
            continue
        pattern = str(wanted.get("hardwareAddr") or wanted.get("permanentAddr") or "")
        mac = _mac(pattern, len(found))
        if not any(link.mac and fnmatch.fnmatch(link.mac, pattern.lower()) for link in found.values()):
            name = next(name for number in range(256) if (name := f"eth{number}") not in found)
            found[name] = VirtualLink(name=name, mac=mac)
        odd += [f"{key}: {wanted[key]}" for key in wanted if key not in _KNOWN_OF_LINKS]
    return tuple(found.values()), odd


def _wanted_links(document: Mapping[str, Any]) -> Iterator[str | Mapping[str, Any]]:
    if document.get("kind") in ("LinkConfig", "DHCPv4Config", "DHCPv6Config", "Layer2VIPConfig"):
        name = document.get("link") if document["kind"] == "Layer2VIPConfig" else document.get("name")
        yield str(name or "")
    network = _mapping(_mapping(document.get("machine")).get("network"))
    for each in map(_mapping, _list(network.get("interfaces"))):
        bond, bridge = _mapping(each.get("bond")), _mapping(each.get("bridge"))
        if _mapping(each.get("deviceSelector")):
            yield _mapping(each["deviceSelector"])
        elif each.get("interface") and not bond and not bridge:
            yield str(each["interface"])
        yield from (str(one) for one in (*_list(bond.get("interfaces")), *_list(bridge.get("interfaces"))))
        yield from (_mapping(one) for one in _list(bond.get("deviceSelectors")))


def _mac(pattern: str, number: int) -> str:
    """An address that a pattern chooses; an empty pattern leaves it to the lab."""
    if not pattern:
        return ""
    head, star, _ = pattern.lower().partition("*")
    if not star:
        return head
    digits = head.replace(":", "")
    whole = (digits + f"{number + 1:012x}"[len(digits) :])[:12]
    return ":".join(whole[at : at + 2] for at in range(0, 12, 2))


def _example(pattern: str) -> str:
    """A text that a pattern with stars and question marks chooses."""
    return pattern.replace("*", "").replace("?", "0")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
