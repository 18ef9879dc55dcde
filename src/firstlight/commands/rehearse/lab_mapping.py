"""What the lab must be for a cluster to be rehearsed in it, and what stands for what, hardware too. Pure."""

import dataclasses
import fnmatch
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from firstlight import errors
from firstlight.commands.rehearse.rehearsal import StandIn, Untried
from firstlight.document import yaml_reader
from firstlight.engines import adapters
from firstlight.lab import lab_settings
from firstlight.lab.lab_settings import ActorName, LabSettings
from firstlight.lab.machines import machine_settings
from firstlight.lab.machines.machine_settings import TalosBehaviour, VirtualDisk, VirtualLink
from firstlight.model import versions
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.component import Phase
from firstlight.model.machine_config import MachineDraft
from firstlight.model.platform import Platform

NODES = (1, 2)
"""Control planes and workers of a cluster whose machines the repo does not have."""
_UNFIT = re.compile(r"[^a-z0-9-]+")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RehearsalStage:
    """The lab for one cluster."""

    settings: LabSettings
    names: dict[str, str]
    """Of the lab's machines, by the declared address."""
    mapped: tuple[StandIn, ...]
    untried: tuple[Untried, ...]


def stage(platform: Platform, cluster: Cluster, drafts: Sequence[MachineDraft]) -> RehearsalStage:
    """The lab that a cluster needs.

    Args:
        platform: The repo.
        cluster: What is rehearsed.
        drafts: What its machines are to be.

    Raises:
        errors.Refused: It cannot be played here.
    """
    if cluster.machines and all(each.id for each in cluster.machines):
        raise errors.Refused(
            f"the machines of {cluster.name} are Omni's, and what Omni does is not rehearsed",
            hint="firstlight lab omni TEMPLATE makes the same cluster here, and plays Omni for it.",
        )
    if not cluster.machines and not platform.components_of(cluster.name):
        raise errors.Refused(
            f"there is nothing to rehearse: {cluster.name} has neither machines nor components",
            hint="See what is read of the repo: firstlight inventory",
        )
    base = LabSettings(
        load_balancers=_pools(cluster) or LabSettings().load_balancers,
        actors=actors(platform, cluster),
        sources=True,
    )
    if not cluster.machines:
        return _without_machines(platform, cluster, base)
    _refuse_loopback(cluster)
    missing = [each.name for each in cluster.machines if not _is_address(each.address)]
    if missing:
        raise errors.Refused(
            f"nothing says at which address {', '.join(missing)} {'is' if len(missing) == 1 else 'are'}",
            hint="Write it in firstlight.yaml: machines: [{name: …, address: …, role: …}].",
        )
    return _with_machines(cluster, drafts, base)


def _with_machines(cluster: Cluster, drafts: Sequence[MachineDraft], base: LabSettings) -> RehearsalStage:
    by_address = {each.machine.address: each for each in drafts}
    names: dict[str, str] = {}
    machines: list[machine_settings.VirtualMachine] = []
    mapped: list[StandIn] = []
    untried: list[Untried] = []
    for each in cluster.machines:
        name = lab_name(each.name, taken=names.values())
        draft = by_address.get(each.address) or MachineDraft(
            machine=each, cluster=cluster.name, endpoint=cluster.network.endpoint, talos=cluster.talos
        )
        fitted = fit(draft, name=name)
        machines.append(fitted.machine)
        names[each.address] = name
        untried += fitted.untried
        mapped.append(StandIn("machine", f"{each.name} at {each.address}", _described(fitted.machine)))
    settings = lab_settings.LabSettings(
        machines=tuple(machines),
        talos=TalosBehaviour(manifests=_manifests(cluster)),
        load_balancers=base.load_balancers,
        actors=base.actors,
        sources=True,
    )
    if cluster.network.vip:
        mapped.append(StandIn("VIP", cluster.network.vip, "the lab's one API server; no machine announces it"))
    untried.append(Untried("kernel, installer image, boot", "machines are programs that speak Talos's API"))
    return RehearsalStage(settings=settings, names=names, mapped=tuple(mapped), untried=tuple(untried))


def _without_machines(platform: Platform, cluster: Cluster, base: LabSettings) -> RehearsalStage:
    inline = [each.name for each in platform.components_of(cluster.name) if each.phase == Phase.INLINE]
    if inline:
        raise errors.Refused(
            f"{', '.join(inline)} of {cluster.name} {'is' if len(inline) == 1 else 'are'} inline manifests, and the "
            "repo does not say which machines there are to apply them",
            hint="List them in firstlight.yaml: clusters: NAME: machines: [{name: …, address: …, role: …}].",
        )
    planes, workers = NODES
    settings = lab_settings.with_nodes(base, control_planes=planes, workers=workers)
    return RehearsalStage(
        settings=settings,
        names={},
        mapped=(StandIn("machine", "none declared", f"{planes + workers} simulated nodes with a control plane"),),
        untried=(Untried("machines, Talos, etcd", "the repo declares no machines of this cluster"),),
    )


def actors(platform: Platform, cluster: Cluster) -> tuple[ActorName, ...]:
    """Whose real programs run: those of the cluster's engine."""
    engine = cluster.engine or platform.engine
    if engine is None:
        return ()
    components = platform.components_of(cluster.name)
    origins = [origin for each in components for origin in each.origins]
    wanted = adapters.ADAPTERS[engine].lab_actors(origins, {each.name for each in components})
    return tuple(each for each in lab_settings.ACTOR_NAMES if each in wanted)


def _pools(cluster: Cluster) -> tuple[str, ...]:
    found = []
    for each in cluster.network.load_balancers:
        try:
            lab_settings.addresses_of(each)
        except ValueError:
            continue
        found.append(each)
    return tuple(found)


def _manifests(cluster: Cluster) -> Literal["1.12", "1.13"]:
    """Whose way with inline manifests the declared Talos has."""
    line = versions.minor(versions.release(cluster.talos))
    return "1.12" if line is not None and line <= (1, 12) else "1.13"


def lab_name(name: str, *, taken: Iterable[str] = ()) -> str:
    """A name that a machine of the lab may have, near the declared one."""
    made = _UNFIT.sub("-", name.lower()).strip("-")[:50] or "machine"
    if made in machine_settings.RESERVED:
        made = f"{made}-machine"
    used = set(taken)
    return next(each for each in _numbered(made) if each not in used)


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _described(machine: machine_settings.VirtualMachine) -> str:
    disks = ", ".join(f"{each.device} {each.size}" for each in machine.disks)
    links = ", ".join(each.name for each in machine.links)
    return f"virtual machine {machine.name}, Talos {machine.talos}, {disks}, {links}"


def _refuse_loopback(cluster: Cluster) -> None:
    """Only this computer is at such an address: the lab's own machines are, and play no others."""
    found = [each for each in cluster.machines if _is_address(each.address)]
    at = [f"{each.name} ({each.address})" for each in found if ipaddress.ip_address(each.address).is_loopback]
    if at:
        raise errors.Refused(
            f"{', '.join(at)}: a loopback address, where no machine but this computer itself is",
            hint="Declare the address that the machine will have. Machines of a lab are brought up by: firstlight up",
        )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


NEWEST = "v1.14.1"
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
