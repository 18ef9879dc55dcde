"""Whether the cluster's DNS is where everybody looks for it."""

import re
from collections.abc import Iterator

from firstlight.commands.audit import cluster_networks
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model import address_range, talos_facts
from firstlight.model.address_range import AddressRange
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_TENTH = 10
"""Talos tells kubelets the tenth address of the range of services."""
_LINK_LOCAL = address_range.network("169.254.0.0/16")


def outside_services(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """An address of DNS that no service can have."""
    for cluster in scene.clusters:
        ranges = cluster_networks.services(scene, cluster)
        if not ranges:
            continue
        for who, address, place, component in _asked(scene, cluster):
            if any(not address_range.uncovered([address], each.spans) for each in ranges):
                continue
            pods = cluster_networks.believed(cluster_networks.pods(scene, cluster))
            among = pods is not None and not address_range.uncovered([address], pods.spans)
            said = " and ".join(dict.fromkeys(f"{each} by {each.who}" for each in ranges))
            inside = f", and lies among the pods ({pods})" if among else ""
            yield rule.finding(
                f"{address} of {who} is outside the range of services, {said}{inside}",
                at=_written(scene, cluster, address, place),
                clusters=(cluster.name,),
                subject=component,
                evidence=(
                    Evidence(f"{who}: {address}", place),
                    *(Evidence(f"services: {each} by {each.who}", each.place) for each in ranges),
                ),
                fix=_proposal(ranges[0], address),
                # Kubelets may send pods to somebody outside of the cluster; nobody serves DNS in a range of pods.
                severity=None if component or among else Severity.WARNING,
                # One that is certain is enough, if all others agree.
                rests=(min((each.basis for each in ranges), key=lambda basis: basis.rank),),
            )


def _proposal(source: cluster_networks.RangeSource, address: AddressRange) -> str:
    """The tenth address of the range that the API server has, in the family of the address it replaces."""
    span = next((each for each in source.spans if each.version == address.version), source.spans[0])
    return f"Write {address_range.nth(span, _TENTH)}, the tenth address of the services, {span} by {source.who}."


def _asked(scene: PlatformView, cluster: Cluster) -> Iterator[tuple[str, AddressRange, Place, str]]:
    """Who says where DNS is: what serves it, then those who ask it."""
    for component in scene.with_role("dns", cluster.name):
        found = _served(scene, component)
        if found is not None:
            yield component.name, *found, component.name
    for address, place in _kubelets(cluster):
        yield "the kubelets' clusterDNS", address, place, ""


def _serving(scene: PlatformView, cluster: Cluster) -> Iterator[tuple[str, AddressRange, Place, str]]:
    """What serves DNS, by the repo, and by the cluster where it was asked."""
    for component in scene.with_role("dns", cluster.name):
        found = _served(scene, component)
        if found is not None:
            yield component.name, *found, component.name
    live = scene.live.get(cluster.name)
    for each in live.of("/Service") if live else ():
        named = within.at(each, "metadata", "namespace"), within.at(each, "metadata", "name")
        seen = address_range.address(within.at(each, "spec", "clusterIP"))
        if named == ("kube-system", "kube-dns") and seen is not None:
            yield "the Service kube-dns", seen, Place(cluster.name), ""


def _served(scene: PlatformView, component: Component) -> tuple[AddressRange, Place] | None:
    given = scene.value(component, "service", "clusterIP")
    address = address_range.address(given.value) if given else None
    return (address, given.place) if given and address else None


def _kubelets(cluster: Cluster) -> Iterator[tuple[AddressRange, Place]]:
    for each, place in talos_facts.kubelet_dns(cluster).value:
        address = address_range.address(each)
        # A cache on each node answers at a link-local address.
        if address and not (_LINK_LOCAL and _LINK_LOCAL.covers(address)) and not str(address).startswith("127."):
            yield address, place


def _written(scene: PlatformView, cluster: Cluster, address: AddressRange, place: Place) -> Place:
    """Where an address is written, if a template or a variable brings it to where it is used."""
    here = (scene.files.text(place.path) or "").splitlines()
    if place.line and any(str(address) in line for line in here[place.line - 1 : place.line + 1]):
        return place
    pattern = rf"(?<![\d.]){re.escape(str(address))}(?![\d.])"
    found = [
        at
        for path in scene.files.files
        if cluster.name in path.split("/") and path.endswith((".yaml", ".yml", ".env"))
        for at, _ in scene.lines(path, pattern)
    ]
    return found[0] if len(found) == 1 else place


def differs(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """DNS that is served at another address than the one which kubelets tell pods."""
    for cluster in scene.clusters:
        ranges = cluster_networks.services(scene, cluster)
        if not ranges or not ranges[0].who.startswith("Talos"):
            continue
        told = {str(address): place for address, place in _kubelets(cluster)}
        dns = talos_facts.kubelet_dns(cluster)
        if dns.value and not all(address_range.address(each) for each, _ in dns.value):
            continue  # One of them is a variable.
        if not dns.value:
            told = {address_range.nth(each, _TENTH): ranges[0].place for each in ranges[0].spans}
        for who, address, place, component in _serving(scene, cluster):
            # What lies outside of the range is said by the rule on it.
            if not told or str(address) in told or address_range.uncovered([address], ranges[0].spans):
                continue
            asked = ", ".join(told)
            yield rule.finding(
                f"{who} serves at {address}, and kubelets send pods to {asked}",
                at=_written(scene, cluster, address, place),
                clusters=(cluster.name,),
                subject=component,
                evidence=(
                    Evidence(f"{who}: {address}", place),
                    *(Evidence(f"kubelets: {each}", at) for each, at in told.items()),
                ),
                fix=f"Write {asked} as service.clusterIP, or {address} as {_field(cluster)}.",
                rests=(ranges[0].basis, dns),
            )


def _field(cluster: Cluster) -> str:
    """Where the machine config says the address."""
    is_document = talos_facts.has_documents(cluster)
    return "clusterDNS of the KubeletConfig document" if is_document else "machine.kubelet.clusterDNS"
