"""What a document of machine config says about the whole cluster, with the places that say it."""

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.model import versions
from firstlight.model.cluster import MachineRole
from firstlight.model.place import Place
from firstlight.repo.talos.config_files import DELETE, ConfigDocument, mapping, sequence, text_of
from firstlight.repo.talos.embedded_yaml import Step

_IMAGES: tuple[tuple[Step, ...], ...] = (
    ("machine", "kubelet", "image"),
    ("cluster", "apiServer", "image"),
    ("cluster", "controllerManager", "image"),
    ("cluster", "scheduler", "image"),
    ("cluster", "proxy", "image"),
)
_IMAGE_KINDS = {
    "KubeletConfig",
    "KubeAPIServerConfig",
    "KubeControllerManagerConfig",
    "KubeSchedulerConfig",
    "KubeProxyConfig",
}


@dataclasses.dataclass(frozen=True, slots=True)
class StatedFact:
    """One thing that is said about a cluster."""

    field: str
    """As in Cluster: ``network.pods``, ``kubernetes`` …"""
    value: Any
    place: Place
    is_conditional: bool = False
    """Whether a template says it only under a condition."""
    variable: str = ""
    """What stands in its place, where only a run tells the value."""


def cluster_name(config: ConfigDocument) -> tuple[str, Place] | None:
    """What a config calls its cluster."""
    is_document = kind_of(config) == "KubeClusterConfig"
    steps: tuple[Step, ...] = ("clusterName",) if is_document else ("cluster", "clusterName")
    name = config.text(*steps)
    return (name, config.place(*steps)) if name else None


def kind_of(config: ConfigDocument) -> str:
    """The kind of a document; empty for the one that has no kind."""
    kind = mapping(config.value).get("kind")
    return kind if isinstance(kind, str) else ""


def cluster_facts(config: ConfigDocument) -> Iterator[StatedFact]:
    """Everything that a document says about its cluster."""
    for fact in _of(config):
        is_conditional = fact.place.line in config.file.conditional
        yield dataclasses.replace(fact, is_conditional=True) if is_conditional else fact


def _of(config: ConfigDocument) -> Iterator[StatedFact]:
    if kind := kind_of(config):
        yield from _document(config, kind)
        return
    yield from _texts(config, "network.pods", "cluster", "network", "podSubnets")
    yield from _texts(config, "network.services", "cluster", "network", "serviceSubnets")
    yield from _text(config, "network.dns_domain", "cluster", "network", "dnsDomain")
    yield from _cni(config)
    yield from _text(config, "network.endpoint", "cluster", "controlPlane", "endpoint")
    yield from _flag(config, "network.kube_proxy", "cluster", "proxy", "disabled", is_reversed=True)
    yield from _flag(config, "network.core_dns", "cluster", "coreDNS", "disabled", is_reversed=True)
    for key in ("allowSchedulingOnMasters", "allowSchedulingOnControlPlanes"):
        yield from _flag(config, "schedules_on_control_planes", "cluster", key)
    for steps in _IMAGES:
        yield from _version(config, "kubernetes", *steps)
    yield from _version(config, "talos", "machine", "install", "image")
    yield from vips(config, "machine", "network", "interfaces")


def _cni(config: ConfigDocument) -> Iterator[StatedFact]:
    steps: tuple[Step, ...] = ("cluster", "network", "cni", "name")
    if name := config.text(*steps):
        yield StatedFact("network.cni", name, config.place(*steps))
    else:
        yield from _variable(config, "network.cni", "", *steps)


def vips(config: ConfigDocument, *steps: Step) -> Iterator[StatedFact]:
    """Virtual addresses of a list of interfaces."""
    for index, interface in config.items(*steps):
        yield from _text(config, "network.vip", *steps, index, "vip", "ip")
        for number, _ in enumerate(mapping(interface).get("vlans") or ()):
            yield from _text(config, "network.vip", *steps, index, "vlans", number, "vip", "ip")


def _document(config: ConfigDocument, kind: str) -> Iterator[StatedFact]:
    is_deleted = config.value.get(DELETE) == "delete"
    if kind in _IMAGE_KINDS:
        yield from _version(config, "kubernetes", "image")
    match kind:
        case "KubeNetworkConfig":
            yield from _texts(config, "network.pods", "podSubnets")
            yield from _texts(config, "network.services", "serviceSubnets")
            yield from _text(config, "network.dns_domain", "dnsDomain")
        case "KubeClusterConfig":
            yield from _text(config, "network.endpoint", "endpoint")
        case "KubeProxyConfig":
            yield from _flag(config, "network.kube_proxy", "enabled")
        case "KubeCoreDNSConfig":
            yield from _flag(config, "network.core_dns", "enabled")
        case "KubeFlannelCNIConfig":
            yield StatedFact("network.cni", "none" if is_deleted else "flannel", config.place())
        case "Layer2VIPConfig" | "HCloudVIPConfig":
            yield from _text(config, "network.vip", "name")
        case "UnattendedInstallConfig":
            yield from _version(config, "talos", "installer", "image")


def _text(config: ConfigDocument, field: str, *steps: Step) -> Iterator[StatedFact]:
    if text := config.text(*steps):
        yield StatedFact(field, text, config.place(*steps))


def _texts(config: ConfigDocument, field: str, *steps: Step) -> Iterator[StatedFact]:
    if texts := config.texts(*steps):
        yield StatedFact(field, texts, config.place(*steps))
    else:
        yield from _variable(config, field, (), *steps)


def _variable(config: ConfigDocument, field: str, nothing: Any, *steps: Step) -> Iterator[StatedFact]:
    """A value that is said, and that only a run tells."""
    value = config.get(*steps)
    written = next((each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)), "")
    if written:
        yield StatedFact(field, nothing, config.place(*steps), variable=config.shown(written))


def _flag(config: ConfigDocument, field: str, *steps: Step, is_reversed: bool = False) -> Iterator[StatedFact]:
    flag = config.flag(*steps)
    if flag is not None:
        yield StatedFact(field, flag is not is_reversed, config.place(*steps))
    else:
        yield from _variable(config, field, None, *steps)


def _version(config: ConfigDocument, field: str, *steps: Step) -> Iterator[StatedFact]:
    image = config.get(*steps)  # its tag may be known where the rest is not
    if version := image_version(image if isinstance(image, str) else ""):
        yield StatedFact(field, version, config.place(*steps))


def image_version(image: str) -> str:
    """The version in an image's name: its tag, or a part of its path as the image factory's downloads have it."""
    name = image.partition("@")[0]
    tag = name.rpartition(":")[2] if ":" in name.rpartition("/")[2] else ""
    if versions.is_image_tag(tag):
        return tag
    return next((part for part in name.split("/") if versions.is_image_tag(part) and part.startswith("v")), "")


def schematic_id(image: str) -> str:
    """The schematic in the name of an image factory's installer: 64 hexadecimal digits."""
    name = image.partition("@")[0]
    return next((part for part in re.split(r"[/:]", name) if re.fullmatch(r"[0-9a-f]{64}", part)), "")


# What documents of machine config say about the machine that they are for.


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


def _fields() -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(MachineFacts)


def machine_facts_of(configs: Iterable[ConfigDocument]) -> MachineFacts:
    """What documents say together."""
    found = MachineFacts()
    for config in configs:
        found = _machine_facts_of(config).over(found)
    return found


def _machine_facts_of(config: ConfigDocument) -> MachineFacts:
    kind = kind_of(config)
    if kind == "HostnameConfig":
        return MachineFacts(hostname=config.text("hostname"))
    if kind in _LINKS:
        return MachineFacts(address=_first(_link_addresses(config.value)))
    if kind == "UnattendedInstallConfig":
        return MachineFacts(
            install_disk=config.text("provisioning", "diskSelector", "match"),
            schematic=schematic_id(config.text("installer", "image")),
        )
    if kind:
        return MachineFacts()
    return MachineFacts(
        hostname=config.text("machine", "network", "hostname"),
        address=_first(interface_addresses(config.get("machine", "network", "interfaces"))),
        role=_ROLES.get(config.text("machine", "type")),
        install_disk=install_disk(mapping(config.get("machine", "install"))),
        schematic=schematic_id(config.text("machine", "install", "image")),
        extensions=tuple(_extensions(config)),
    )


def interface_addresses(interfaces: Any) -> Iterator[str]:
    """The static addresses of interfaces, those of VLANs last."""
    vlans: list[str] = []
    for interface in sequence(interfaces):
        if mapping(interface).get("dummy") is True:
            continue
        yield from _addresses(interface)
        for vlan in sequence(mapping(interface).get("vlans")):
            vlans += _addresses(vlan)
    yield from vlans


def install_disk(install: Mapping[str, Any], *, name: str = "disk", selector: str = "diskSelector") -> str:
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


def _extensions(config: ConfigDocument) -> Iterator[str]:
    for _, each in config.items("machine", "install", "extensions"):
        if image := text_of(mapping(each).get("image")):
            yield image


def _first(found: Iterable[str]) -> str:
    return next(iter(found), "")
