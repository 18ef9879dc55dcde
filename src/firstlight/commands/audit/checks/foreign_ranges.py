"""CIDRs in the configuration of apps that belong to another cluster: copied with the rest, or left behind."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.audit import cluster_networks
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import mapping, sequence, text
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo import address_pools, chart_values
from firstlight.repo.platform_view import PlatformView

_CIDR = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}(?![\w.])")
_KEY = re.compile(
    r"(?:^|[._-])(?P<what>pods?|clusters?|services?|svc)[._-]?(?:ipv4[._-]?)?(?:cidrs?|subnets?|networks?|ip[._-]?ranges?)(?:[._-]?v4)?$",
    re.IGNORECASE,
)
"""Names of settings that say the pods' or the services' range; clusterCIDR is kube-proxy's word for the pods'."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TRUST = re.compile(
    r"trust|proxy|proxies|allow|whitelist|permit|local[-_ ]?(?:net|ip|sub)|real[-_ ]?ip|internal", re.IGNORECASE
)
_NOT_OWN = re.compile(
    r"remote|peer|site|vpn|exclude|except|deny|block|blacklist|reject|route|advertis|legacy", re.IGNORECASE
)
_ROUTERS = re.compile(
    r"cilium|calico|flannel|canal|tailscale|headscale|wireguard|wg-|netbird|zerotier|submariner|multus|frr|metallb|kube-vip"
    r"|kilo|netmaker|unbound|adguard|pihole|technitium|bind9|unifi|opnsense|mikrotik"
)
"""Components whose business are the ranges of others."""
_DEFAULTS = {
    "10.42.0.0/16": "the pods of k3s and RKE2",
    "10.43.0.0/16": "the services of k3s and RKE2",
    "10.244.0.0/16": "the pods of Talos and Flannel",
    "10.96.0.0/12": "the services of Talos and kubeadm",
    "10.233.64.0/18": "the pods of Kubespray",
    "10.233.0.0/18": "the services of Kubespray",
}
"""Ranges that distributions give by default, and that people copy with the rest."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConfigText:
    """A setting of an app, or a file of its configuration."""

    key: str
    text: str
    component: Component
    place: Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnRanges:
    """What is known of a cluster."""

    pods: tuple[AddressRange, ...]
    services: tuple[AddressRange, ...]
    all: tuple[AddressRange, ...]
    """With machines and load balancers, and with what may be true by default."""
    evidence: tuple[Evidence, ...]


def in_config(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Ranges of pods and services in the configuration of apps that are not their cluster's."""
    own = {each.name: found for each in scene.clusters if (found := _own(scene, each)) is not None}
    for cluster in scene.clusters:
        known = own.get(cluster.name)
        if known is None:
            continue
        others = {name: each for name, each in own.items() if name != cluster.name}
        for setting in _texts(scene, cluster.name):
            wrong = _stated_wrongly(setting, known) or _foreign(setting, known, others)
            if wrong is not None:
                message, severity = wrong
                yield rule.finding(
                    message,
                    at=setting.place,
                    clusters=(cluster.name,),
                    subject=setting.component.name,
                    evidence=known.evidence,
                    severity=severity,
                )


def _own(scene: PlatformView, cluster: Cluster) -> OwnRanges | None:
    """Return the ranges of a cluster; None where its pods' range is not said, or said in two ways."""
    said = [cluster_networks.pods(scene, cluster), cluster_networks.services(scene, cluster)]
    known: list[tuple[AddressRange, ...]] = []
    for sources, written in zip(said, (cluster.network.pods, cluster.network.services), strict=True):
        agreed = all(cluster_networks.agree(one, other) for one in sources for other in sources)
        spans = address_range.listed(list(written))
        known.append(spans if agreed else ())
    if not known[0] or not known[1]:
        return None
    machines = [address_range.address(each.address.partition("/")[0]) for each in cluster.machines]
    near = [address_range.around(each, 16) for each in machines if each is not None and each.version == 4]
    pools = [block for pool in address_pools.pools(scene, cluster.name) for block in pool.blocks]
    listed = [span for sources in said for source in sources for span in source.spans]
    evidence = tuple(
        Evidence(f"{what} are in {', '.join(map(str, spans))}", cluster.said.get(field, cluster.place))
        for what, field, spans in (("pods", "network.pods", known[0]), ("services", "network.services", known[1]))
    )
    return OwnRanges(
        pods=known[0], services=known[1], all=(*known[0], *known[1], *near, *pools, *listed), evidence=evidence
    )


def _stated_wrongly(setting: ConfigText, own: OwnRanges) -> tuple[str, Severity | None] | None:
    """Return what is wrong with a setting that says, by its name, which range the pods or the services have."""
    name = _CAMEL.sub("-", setting.key)
    match = _KEY.search(name)
    if match is None or _NOT_OWN.search(name):
        return None
    is_services = match["what"].lower().startswith("s")
    wanted = own.services if is_services else own.pods
    given = [each for each in address_range.listed(setting.text) if each.version == 4 and "/" in each.text]
    families = {each.version for each in wanted}
    if not given or 4 not in families or any(one.overlaps(each) for one in given for each in wanted):
        return None
    what = "services" if is_services else "pods"
    return (
        f"{setting.key} of {setting.component.name} is {given[0]}, and the {what} of the cluster are in "
        f"{', '.join(map(str, wanted))}",
        None,
    )


def _foreign(
    setting: ConfigText, own: OwnRanges, others: Mapping[str, OwnRanges]
) -> tuple[str, Severity | None] | None:
    """Return what is wrong with a list of trusted ranges; nothing if one of them is this cluster's."""
    if _NOT_OWN.search(setting.key) or not _TRUST.search(f"{setting.key}\n{setting.text[:_LONGEST]}"):
        return None
    written = [found for each in _CIDR.findall(setting.text[:_LONGEST]) if (found := address_range.network(each))]
    if not written or any(one.overlaps(each) for one in written for each in (*own.pods, *own.services)):
        return None
    for span in written:
        if any(span.overlaps(each) for each in own.all):
            continue
        if (default := _DEFAULTS.get(str(span))) and _is_trusted(setting, span):
            return (
                f"{setting.key} of {setting.component.name} trusts {span}, the default of {default}; "
                f"the pods of this cluster are in {', '.join(map(str, own.pods))}",
                None,
            )
        for name, other in others.items():
            if _is_trusted(setting, span) and any(span == each for each in (*other.pods, *other.services)):
                return (
                    f"{setting.key} of {setting.component.name} trusts {span}, a range of the cluster {name}, "
                    "and none of its own",
                    Severity.NOTE,
                )
    return None


_LONGEST = 20_000
_ABOVE = 4
_DEEPEST = 30


def _is_trusted(setting: ConfigText, span: AddressRange) -> bool:
    """Whether the name of a setting, or the lines of a file just above a range, say that it is trusted."""
    lines = setting.text[:_LONGEST].splitlines()
    if len(lines) < 2:
        return _TRUST.search(setting.key) is not None or _TRUST.search(setting.text.partition(str(span))[0]) is not None
    for number, line in enumerate(lines):
        near = "\n".join(lines[max(0, number - _ABOVE) : number + 1])
        if str(span) in line and not line.lstrip().startswith(("#", "//", ";")) and _TRUST.search(near):
            return _NOT_OWN.search(near) is None
    return False


def _texts(scene: PlatformView, cluster: str) -> Iterator[ConfigText]:
    """Yield settings of charts, files in ConfigMaps, and arguments and variables of containers."""
    for component in scene.platform.components_of(cluster):
        if _ROUTERS.search(component.name):
            continue
        layers = scene.values(component)
        for layer in layers:
            for path, written in _leaves(layer.value):
                given = chart_values.find_value(layers, path)
                if given is not None and given.layer is layer:
                    yield ConfigText(key=".".join(path[-2:]), text=written, component=component, place=given.place)
    for item in scene.of_cluster(cluster, "/ConfigMap"):
        if _ROUTERS.search(item.component.name):
            continue
        for key, value in mapping(item.value, "data").items():
            if isinstance(value, str) and _CIDR.search(value[:_LONGEST]):
                yield ConfigText(
                    key=str(key), text=value, component=item.component, place=item.object.at("data", str(key))
                )
    for item in scene.of_cluster(cluster, "networking.k8s.io/NetworkPolicy"):
        found = ",".join(_blocks(item.value))
        if found:
            yield ConfigText(
                key=f"allow list of NetworkPolicy {item.object.id.name}",
                text=found,
                component=item.component,
                place=item.object.at("spec"),
            )
    for item in scene.of_cluster(cluster, "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet"):
        if _ROUTERS.search(item.component.name):
            continue
        steps = ("spec", "template", "spec", "containers")
        for number, container in enumerate(sequence(item.value, *steps)):
            for index, variable in enumerate(sequence(container, "env")):
                value = text(variable, "value")
                if _CIDR.search(value):
                    yield ConfigText(
                        key=text(variable, "name"),
                        text=value,
                        component=item.component,
                        place=item.object.at(*steps, number, "env", index),
                    )
            for index, argument in enumerate(_arguments(container)):
                name, _, value = argument.partition("=")
                if _CIDR.search(value):
                    yield ConfigText(
                        key=name.lstrip("-"),
                        text=value,
                        component=item.component,
                        place=item.object.at(*steps, number, "args", index),
                    )


def _leaves(value: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield texts and lists of texts in which there is a CIDR, with the way to them."""
    for key, each in value.items():
        below = (*path, str(key))
        if isinstance(each, Mapping):
            if len(path) < _DEEPEST:
                yield from _leaves(each, below)
        elif written := _joined(each):
            yield below, written


def _blocks(policy: Mapping[str, Any]) -> Iterator[str]:
    """Yield the CIDRs that a NetworkPolicy allows."""
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for rule in sequence(policy, "spec", direction):
            for peer in sequence(rule, peers):
                cidr = text(peer, "ipBlock", "cidr")
                if cidr:
                    yield cidr


def _arguments(container: Any) -> Sequence[str]:
    return [each for each in sequence(container, "args") if isinstance(each, str)]


def _joined(value: Any) -> str:
    """Return a text or a list of texts as one text with a CIDR in it; empty where there is none."""
    if isinstance(value, list):
        value = ",".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) and _CIDR.search(value[:_LONGEST]) else ""
