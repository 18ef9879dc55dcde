"""What documents of machine config say about the machine that they are for."""

import dataclasses
import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.model.cluster import MachineRole
from firstlight.repo.talos import facts
from firstlight.repo.talos.config import Config, mapping, sequence, text_of

_LINKS = {"LinkConfig", "BondConfig", "BridgeConfig", "EthernetConfig"}
_ROLES = {
    "controlplane": MachineRole.CONTROL_PLANE,
    "init": MachineRole.CONTROL_PLANE,
    "worker": MachineRole.WORKER,
    "join": MachineRole.WORKER,
}


@dataclasses.dataclass(frozen=True, slots=True)
class MachineFacts:
    """What is known of a machine; of several documents the later ones count."""

    hostname: str = ""
    address: str = ""
    role: MachineRole | None = None
    install_disk: str = ""
    schematic: str = ""
    extensions: tuple[str, ...] = ()

    def over(self, other: "MachineFacts") -> "MachineFacts":
        """These, and where they say nothing, the others."""
        mine = {field.name: getattr(self, field.name) or getattr(other, field.name) for field in _fields()}
        return MachineFacts(**mine)


def _fields() -> tuple["dataclasses.Field[Any]", ...]:
    return dataclasses.fields(MachineFacts)


def of(configs: Iterable[Config]) -> MachineFacts:
    """What documents say together."""
    found = MachineFacts()
    for config in configs:
        found = _of(config).over(found)
    return found


def _of(config: Config) -> MachineFacts:
    kind = facts.kind_of(config)
    if kind == "HostnameConfig":
        return MachineFacts(hostname=config.text("hostname"))
    if kind in _LINKS:
        return MachineFacts(address=_first(_link_addresses(config.value)))
    if kind == "UnattendedInstallConfig":
        return MachineFacts(
            install_disk=config.text("provisioning", "diskSelector", "match"),
            schematic=facts.schematic_id(config.text("installer", "image")),
        )
    if kind:
        return MachineFacts()
    return MachineFacts(
        hostname=config.text("machine", "network", "hostname"),
        address=_first(addresses(config.get("machine", "network", "interfaces"))),
        role=_ROLES.get(config.text("machine", "type")),
        install_disk=disk(mapping(config.get("machine", "install"))),
        schematic=facts.schematic_id(config.text("machine", "install", "image")),
        extensions=tuple(_extensions(config)),
    )


def addresses(interfaces: Any) -> Iterator[str]:
    """The static addresses of interfaces, those of VLANs last."""
    vlans: list[str] = []
    for interface in sequence(interfaces):
        if mapping(interface).get("dummy") is True:
            continue
        yield from _addresses(interface)
        for vlan in sequence(mapping(interface).get("vlans")):
            vlans += _addresses(vlan)
    yield from vlans


def disk(install: Mapping[str, Any], *, name: str = "disk", selector: str = "diskSelector") -> str:
    """The disk that Talos is installed on: its name, or what it is chosen by."""
    chosen = mapping(install.get(selector))
    listed = ", ".join(f"{key}: {text_of(value)}" for key, value in chosen.items() if text_of(value))
    return text_of(install.get(name)) or listed


def schematic_extensions(schematic: Any) -> tuple[str, ...]:
    """The system extensions of a schematic."""
    official = mapping(mapping(mapping(schematic).get("customization")).get("systemExtensions"))
    return tuple(text_of(each) for each in sequence(official.get("officialExtensions")) if text_of(each))


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _addresses(interface: Any) -> Iterator[str]:
    listed = [*sequence(mapping(interface).get("addresses")), mapping(interface).get("cidr")]
    for each in listed:
        address = text_of(each).partition("/")[0]
        if is_address(address):
            yield address


def _link_addresses(link: Any) -> Iterator[str]:
    for each in sequence(mapping(link).get("addresses")):
        address = text_of(mapping(each).get("address")).partition("/")[0]
        if is_address(address):
            yield address


def _extensions(config: Config) -> Iterator[str]:
    for _, each in config.items("machine", "install", "extensions"):
        if image := text_of(mapping(each).get("image")):
            yield image


def _first(found: Iterable[str]) -> str:
    return next(iter(found), "")
