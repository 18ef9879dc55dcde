"""Whether a machine has the disks and interfaces that its config names.

A config with a disk that is not there is accepted by Talos, and fails in the middle of the installation. What cannot be
told from what a machine says of itself is let pass.
"""

import fnmatch
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.model.machine import InstallDisk, NetworkLink

_SIZE = re.compile(r"\s*(?P<op>[<>=]=?)?\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kKMGTPE]?i?)[bB]?\s*")
_ONE_PATH = re.compile(r"""\s*disk\.dev_path\s*==\s*(?P<quote>["'])(?P<path>[^"']+)(?P=quote)\s*""")
_COMPARE = {
    "": operator.eq, "=": operator.eq, "==": operator.eq, ">": operator.gt, ">=": operator.ge, "<": operator.lt,
    "<=": operator.le,
}  # fmt: skip
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}
_MADE = ("bond", "bridge", "dummy", "wireguard")
"""What Talos makes itself: such an interface is not there before."""


def missing(
    documents: Sequence[Mapping[str, Any]], *, disks: Sequence[InstallDisk], links: Mapping[str, NetworkLink]
) -> tuple[str, ...]:
    """What a config names and the machine does not have, with what it has instead."""
    return (*_disk(documents, disks), *_links(documents, links))


def matches(selector: Mapping[str, Any], disk: InstallDisk) -> bool:
    """Whether a ``diskSelector`` of Talos means a disk."""
    return all(_has(disk, str(key), str(value)) for key, value in selector.items())


def _disk(documents: Sequence[Mapping[str, Any]], disks: Sequence[InstallDisk]) -> Iterator[str]:
    install: dict[str, Any] = {}
    for each in documents:
        install |= _mapping(_mapping(each.get("machine")).get("install"))
        if each.get("kind") == "UnattendedInstallConfig" and (path := _named_by(each)):
            install = {"disk": path}
    usable = [each for each in disks if not each.readonly and not each.cdrom]
    there = ", ".join(_shown(each) for each in usable) or "none"
    if selector := _mapping(install.get("diskSelector")):
        if not any(matches(selector, each) for each in usable):
            wanted = ", ".join(f"{key}: {value}" for key, value in selector.items())
            yield f"no disk matches {wanted}; there are: {there}"
    elif (name := str(install.get("disk") or "")) and not any(_is(name, each) for each in usable):
        yield f"there is no disk {name}; there are: {there}"


def _named_by(document: Mapping[str, Any]) -> str:
    """The path of the one disk that an UnattendedInstallConfig names; Talos judges other expressions."""
    selector = _mapping(_mapping(document.get("provisioning")).get("diskSelector"))
    match = _ONE_PATH.fullmatch(str(selector.get("match") or ""))
    return match["path"] if match is not None else ""


def _is(name: str, disk: InstallDisk) -> bool:
    return name == disk.dev_path or name in disk.symlinks


def _links(documents: Sequence[Mapping[str, Any]], links: Mapping[str, NetworkLink]) -> Iterator[str]:
    physical = {name: each for name, each in links.items() if each.type == "ether" and not each.kind}
    there = ", ".join(f"{name} ({each.hardware_addr})" for name, each in sorted(physical.items())) or "none"
    for entry in _interfaces(documents):
        if selector := _mapping(entry.get("deviceSelector")):
            if not any(_is_meant(selector, each) for each in physical.values()):
                wanted = ", ".join(f"{key}: {value}" for key, value in selector.items())
                yield f"no interface matches {wanted}; there are: {there}"
        elif (name := str(entry.get("interface") or "")) and not _is_there(name, links):
            yield f"there is no interface {name}; there are: {there}"


def _interfaces(documents: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The interfaces that must be there already; those that bonds and bridges are made of among them."""
    for document in documents:
        if document.get("kind") == "LinkConfig" and document.get("name"):
            yield {"interface": document["name"]}
        for entry in _list(_mapping(_mapping(document.get("machine")).get("network")).get("interfaces")):
            entry = _mapping(entry)
            if entry.get("ignore") is True:
                continue
            if not any(entry.get(kind) for kind in _MADE):
                yield entry
            for kind in ("bond", "bridge"):
                made = _mapping(entry.get(kind))
                yield from ({"interface": each} for each in _list(made.get("interfaces")))
                yield from ({"deviceSelector": each} for each in _list(made.get("deviceSelectors")))


def _is_there(name: str, links: Mapping[str, NetworkLink]) -> bool:
    if name == "lo" or "." in name:  # a VLAN, which is made
        return True
    return name in links or any(name in each.alt_names for each in links.values())


def _is_meant(selector: Mapping[str, Any], link: NetworkLink) -> bool:
    known = {
        "hardwareAddr": link.hardware_addr, "permanentAddr": link.permanent_addr or link.hardware_addr,
        "busPath": link.bus_path, "driver": link.driver,
    }  # fmt: skip
    for key, value in selector.items():
        has = known.get(str(key), "")
        if has and isinstance(value, str) and not fnmatch.fnmatchcase(has.lower(), value.lower()):
            return False
    return True


def _has(disk: InstallDisk, key: str, value: str) -> bool:
    match key:
        case "size":
            return _fits(value, disk.size)
        case "type":
            return _type(disk) == value.lower() or (value.lower() == "ssd" and _type(disk) == "nvme")
        case "model" | "serial" | "uuid" | "wwid":
            return fnmatch.fnmatchcase(str(getattr(disk, key)), value)
        case "busPath":
            return fnmatch.fnmatchcase(disk.bus_path, value)
    return True


def _fits(wanted: str, size: int) -> bool:
    match = _SIZE.fullmatch(wanted)
    if match is None:
        return True
    unit = match["unit"].lower()
    base = 1024 if unit.endswith("i") else 1000
    return bool(_COMPARE[match["op"] or ""](size, round(float(match["number"]) * base ** _POWERS[unit.rstrip("i")])))


def _type(disk: InstallDisk) -> str:
    if disk.transport == "nvme":
        return "nvme"
    if disk.transport == "mmc":
        return "sd"
    return "hdd" if disk.rotational else "ssd"


def _shown(disk: InstallDisk) -> str:
    about = ", ".join(filter(None, [disk.pretty_size, disk.model]))
    return f"{disk.dev_path} ({about})" if about else disk.dev_path


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


# As ``talosctl get disks --insecure -o json`` shows one:
#
# {"metadata": {"namespace": "runtime", "type": "Disks.block.talos.dev", "id": "nvme0n1"},
#  "spec": {"dev_path": "/dev/nvme0n1", "size": 500107862016, "pretty_size": "500 GB", "transport": "nvme",
#   "model": "Samsung SSD 970 EVO Plus 500GB", "serial": "S4EVNX0N000000", "rotational": false,
#   "symlinks": ["/dev/disk/by-id/nvme-Samsung_SSD_970_EVO_Plus_500GB_S4EVNX0N000000"]}}
