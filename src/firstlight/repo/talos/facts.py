"""What a document of machine config says about the whole cluster, with the places that say it."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from firstlight.model.place import Place
from firstlight.repo.talos.config import DELETE, Config, mapping
from firstlight.repo.talos.embedded import Step

_VERSION = re.compile(r"v?\d{1,4}\.\d{1,4}\.\d{1,6}(?:-[0-9A-Za-z.-]{1,60})?")
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
class Fact:
    """One thing that is said about a cluster."""

    field: str
    """As in Cluster: ``network.pods``, ``kubernetes`` …"""
    value: Any
    place: Place
    is_conditional: bool = False
    """Whether a template says it only under a condition."""


def cluster_name(config: Config) -> tuple[str, Place] | None:
    """What a config calls its cluster."""
    is_document = kind_of(config) == "KubeClusterConfig"
    steps: tuple[Step, ...] = ("clusterName",) if is_document else ("cluster", "clusterName")
    name = config.text(*steps)
    return (name, config.place(*steps)) if name else None


def kind_of(config: Config) -> str:
    """The kind of a document; empty for the one that has no kind."""
    kind = mapping(config.value).get("kind")
    return kind if isinstance(kind, str) else ""


def of(config: Config) -> Iterator[Fact]:
    """Everything that a document says about its cluster."""
    for fact in _of(config):
        is_conditional = fact.place.line in config.file.conditional
        yield dataclasses.replace(fact, is_conditional=True) if is_conditional else fact


def _of(config: Config) -> Iterator[Fact]:
    if kind := kind_of(config):
        yield from _document(config, kind)
        return
    yield from _texts(config, "network.pods", "cluster", "network", "podSubnets")
    yield from _texts(config, "network.services", "cluster", "network", "serviceSubnets")
    yield from _text(config, "network.dns_domain", "cluster", "network", "dnsDomain")
    yield from _text(config, "network.cni", "cluster", "network", "cni", "name")
    yield from _text(config, "network.endpoint", "cluster", "controlPlane", "endpoint")
    yield from _flag(config, "network.kube_proxy", "cluster", "proxy", "disabled", is_reversed=True)
    yield from _flag(config, "network.core_dns", "cluster", "coreDNS", "disabled", is_reversed=True)
    for key in ("allowSchedulingOnMasters", "allowSchedulingOnControlPlanes"):
        yield from _flag(config, "schedules_on_control_planes", "cluster", key)
    for steps in _IMAGES:
        yield from _version(config, "kubernetes", *steps)
    yield from _version(config, "talos", "machine", "install", "image")
    yield from vips(config, "machine", "network", "interfaces")


def vips(config: Config, *steps: Step) -> Iterator[Fact]:
    """Virtual addresses of a list of interfaces."""
    for index, interface in config.items(*steps):
        yield from _text(config, "network.vip", *steps, index, "vip", "ip")
        for number, _ in enumerate(mapping(interface).get("vlans") or ()):
            yield from _text(config, "network.vip", *steps, index, "vlans", number, "vip", "ip")


def _document(config: Config, kind: str) -> Iterator[Fact]:
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
            yield Fact("network.cni", "none" if is_deleted else "flannel", config.place())
        case "Layer2VIPConfig" | "HCloudVIPConfig":
            yield from _text(config, "network.vip", "name")
        case "UnattendedInstallConfig":
            yield from _version(config, "talos", "installer", "image")


def _text(config: Config, field: str, *steps: Step) -> Iterator[Fact]:
    if text := config.text(*steps):
        yield Fact(field, text, config.place(*steps))


def _texts(config: Config, field: str, *steps: Step) -> Iterator[Fact]:
    if texts := config.texts(*steps):
        yield Fact(field, texts, config.place(*steps))


def _flag(config: Config, field: str, *steps: Step, is_reversed: bool = False) -> Iterator[Fact]:
    flag = config.flag(*steps)
    if flag is not None:
        yield Fact(field, flag is not is_reversed, config.place(*steps))


def _version(config: Config, field: str, *steps: Step) -> Iterator[Fact]:
    image = config.get(*steps)  # its tag may be known where the rest is not
    if version := image_version(image if isinstance(image, str) else ""):
        yield Fact(field, version, config.place(*steps))


def image_version(image: str) -> str:
    """The version in an image's name: its tag, or a part of its path as the image factory's downloads have it."""
    name = image.partition("@")[0]
    tag = name.rpartition(":")[2] if ":" in name.rpartition("/")[2] else ""
    if _VERSION.fullmatch(tag):
        return tag
    return next((part for part in name.split("/") if _VERSION.fullmatch(part) and part.startswith("v")), "")


def schematic_id(image: str) -> str:
    """The schematic in the name of an image factory's installer: 64 hexadecimal digits."""
    name = image.partition("@")[0]
    return next((part for part in re.split(r"[/:]", name) if re.fullmatch(r"[0-9a-f]{64}", part)), "")
