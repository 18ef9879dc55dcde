"""Services of type LoadBalancer: without an address, or with one that nobody announces; CNI, pool or BGP."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import symptoms
from firstlight.commands.doctor.symptoms import Symptom
from firstlight.document import conditions
from firstlight.document.within import mapping, sequence, text
from firstlight.gates import label_selector, service_address
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.diagnostic import Evidence
from firstlight.observe.cluster.observation import ClusterObservation, name_of
from firstlight.repo import address_pools

_SATISFIED = "cilium.io/IPAMRequestSatisfied"
_POOLS = (address_pools.CILIUM, address_pools.METALLB)
_ASKED = (
    "lbipam.cilium.io/ips",
    "io.cilium/lb-ipam-ips",
    "metallb.universe.tf/loadBalancerIPs",
    "metallb.io/loadBalancerIPs",
)
_REASONS = {
    "no_pool": "lb-no-pool",
    "out_of_ips": "lb-pool-exhausted",
    "pool_selector_mismatch": "lb-pool-selector",
    "already_allocated": "lb-address-taken",
    "already_allocated_incompatible_service": "lb-address-taken",
}


def without_address(scene: ClusterObservation) -> Iterator[Symptom]:
    """Services that wait for an address: which of pools, selectors and wishes it is."""
    pools = [
        address_pools.live(each, cluster=scene.cluster.name)
        for each in scene.of(*_POOLS)
        if mapping(each, "spec").get("disabled") is not True
    ]
    for service in filter(service_address.is_balanced, scene.of("/Service")):
        if service_address.addresses(service) or not scene.is_over(conditions.created(service)):
            continue
        code, why, shown = _why(service, pools, scene)
        if not code:
            continue
        yield symptoms.symptom(
            code=code,
            subject=name_of(service),
            message=f"{name_of(service)} gets no address from a pool: {why}",
            evidence=shown,
            next=(
                symptoms.command(
                    "kubectl get ciliumloadbalancerippools,ipaddresspools.metallb.io -A", "ranges, and what is left"
                )
                if address_pools.METALLB not in scene.unserved
                else symptoms.command(
                    "kubectl get ciliumloadbalancerippools -o yaml", "ranges, selectors, and what is left"
                ),
                symptoms.kubectl("describe", service),
            ),
            since=conditions.created(service),
            needs=symptoms.names(
                symptoms.controller("cilium-operator"),
                symptoms.controller("controller"),
                symptoms.NETWORK,
                f"Namespace {text(service, 'metadata', 'namespace')}",
            ),
        )


def labels(service: Mapping[str, Any]) -> dict[str, str]:
    """What selectors of Cilium see of a Service: its labels, and its name and namespace under two keys."""
    own = {str(key): str(value) for key, value in mapping(service, "metadata", "labels").items()}
    own["io.kubernetes.service.namespace"] = text(service, "metadata", "namespace")
    own["io.kubernetes.service.name"] = text(service, "metadata", "name")
    return own


def _why(
    service: Mapping[str, Any], pools: list[address_pools.AddressPool], scene: ClusterObservation
) -> tuple[str, str, tuple[Evidence, ...]]:
    asked = [span for each in _wanted(service) if (span := address_range.address(each)) is not None]
    if outside := [each for each in asked if not any(_has(pool, each) for pool in pools) and pools]:
        shown = symptoms.evidence(f"{name_of(service)}, metadata.annotations", ", ".join(map(str, asked)))
        ranges = ", ".join(str(block) for pool in pools for block in pool.blocks)
        return "lb-address-outside", f"it asks for {outside[0]}, which is in no pool ({ranges})", (shown,)
    condition = conditions.condition(service, _SATISFIED)
    if text(condition, "status") == "False" and (code := _REASONS.get(text(condition, "reason"), "")):
        return code, conditions.said(text(condition, "message")), (symptoms.of_condition(service, _SATISFIED),)
    failed = scene.events_of(service, "AllocationFailed")
    if failed and (match := re.search(r"no available IPs", text(failed[0], "message"))):
        return "lb-pool-exhausted", match[0], (symptoms.of_event(failed[0]),)
    fields = (symptoms.of_field(service, "status.loadBalancer", "is empty"),)
    if not pools and all(scene.is_listed(each) for each in _POOLS):
        return "lb-no-pool", "there is no pool", fields
    are_ours = bool(pools) and all(each.kind == address_pools.CILIUM for each in pools)
    if are_ours and not any(address_pools.selects(each, labels(service)) for each in pools):
        return "lb-pool-selector", f"no pool selects it ({', '.join(each.name for each in pools)})", fields
    return "", "", ()


def _wanted(service: Mapping[str, Any]) -> Iterator[str]:
    for key in _ASKED:
        yield from text(service, "metadata", "annotations", key).replace(" ", "").split(",")
    yield text(service, "spec", "loadBalancerIP")


def _has(pool: address_pools.AddressPool, span: AddressRange) -> bool:
    return not pool.is_known or any(each.covers(span) for each in pool.blocks)


# Addresses of Services that no router learns: no advertisement or policy, no lease, no BGP session, a wrong config.


def not_announced(scene: ClusterObservation) -> Iterator[Symptom]:
    """Services with an address that no router learns: no advertisement, no session, or no lease."""
    configs = scene.of("cilium.io/CiliumBGPClusterConfig")
    policies = scene.of("cilium.io/CiliumL2AnnouncementPolicy")
    if not configs and not policies:
        return  # somebody else announces, or nobody has to
    for service in filter(service_address.is_balanced, scene.of("/Service")):
        if not service_address.addresses(service) or not scene.is_over(conditions.created(service), times=2):
            continue
        if text(service, "spec", "loadBalancerClass") == "io.cilium/l2-announcer" or not configs:
            if told := _no_lease(service, policies, scene):
                yield told
        elif not _is_advertised(service, scene):
            if not any(_selected(each, service) for each in policies):
                yield _told(service, "lb-not-advertised", "no CiliumBGPAdvertisement selects it")
        elif not _sessions(scene, established=True) and _sessions(scene, established=False):
            yield _told(service, "lb-not-announced", "no BGP session is up", needs=frozenset({"BGP"}))


def _told(service: Mapping[str, Any], code: str, why: str, *, needs: frozenset[str] = frozenset()) -> Symptom:
    address = ", ".join(service_address.addresses(service))
    return symptoms.symptom(
        code=code,
        subject=name_of(service),
        message=f"{name_of(service)} has the address {address}, and nobody outside learns it: {why}",
        evidence=(symptoms.of_field(service, "status.loadBalancer.ingress", address),),
        next=(
            symptoms.command("kubectl get ciliumbgpadvertisements --show-labels -o yaml", "what they select")
            if code != "l2-no-lease"
            else symptoms.command("kubectl -n kube-system get leases", "which node announces which Service"),
        ),
        needs=symptoms.names(needs, symptoms.NETWORK),
    )


def _is_advertised(service: Mapping[str, Any], scene: ClusterObservation) -> bool:
    for advertisement in scene.of("cilium.io/CiliumBGPAdvertisement"):
        for each in sequence(advertisement, "spec", "advertisements"):
            kinds = sequence(each, "service", "addresses")
            if text(each, "advertisementType") == "Service" and "LoadBalancerIP" in kinds:
                selector = mapping(each, "selector")
                if selector and label_selector.matches(selector, labels(service)):
                    return True
    return False


def _selected(policy: Mapping[str, Any], service: Mapping[str, Any]) -> bool:
    selector = mapping(policy, "spec", "serviceSelector")
    is_all = not mapping(selector, "matchLabels") and not sequence(selector, "matchExpressions")
    return mapping(policy, "spec").get("loadBalancerIPs") is True and (
        is_all or label_selector.matches(selector, labels(service))
    )


def _no_lease(
    service: Mapping[str, Any], policies: tuple[Mapping[str, Any], ...], scene: ClusterObservation
) -> Symptom | None:
    mine = [each for each in policies if _selected(each, service)]
    if not mine:
        return _told(service, "l2-no-policy", "no CiliumL2AnnouncementPolicy selects it")
    name = f"cilium-l2announce-{text(service, 'metadata', 'namespace')}-{text(service, 'metadata', 'name')}"
    lease = scene.one("coordination.k8s.io/Lease", name, namespace="kube-system")
    if lease is not None or not scene.is_listed("coordination.k8s.io/Lease"):
        return None
    return _told(service, "l2-no-lease", f"no node holds the lease kube-system/{name}")


def _sessions(scene: ClusterObservation, *, established: bool) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (text(node, "metadata", "name"), mapping(peer))
        for node in scene.of("cilium.io/CiliumBGPNodeConfig")
        for instance in sequence(node, "status", "bgpInstances")
        for peer in sequence(instance, "peers")
        if (text(peer, "peeringState") == "established") is established
    ]


def down_sessions(scene: ClusterObservation) -> Iterator[Symptom]:
    """BGP sessions that are not up, one symptom a peer."""
    by_peer: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for node, peer in _sessions(scene, established=False):
        by_peer.setdefault(text(peer, "peerAddress") or text(peer, "name"), []).append((node, peer))
    for address, all_of_it in sorted(by_peer.items()):
        nodes = sorted(node for node, _ in all_of_it)
        state = text(all_of_it[0][1], "peeringState") or "unknown"
        config = scene.one("cilium.io/CiliumBGPNodeConfig", nodes[0])
        if not scene.is_over(conditions.created(config)):
            continue
        yield symptoms.symptom(
            code="bgp-session-down",
            subject=f"BGP peer {address}",
            message=f"the BGP session with {address} is {state} on {', '.join(nodes[:3])}"
            f"{' …' if len(nodes) > 3 else ''}: the router refuses it or is not reached, "
            "or AS number, address or password differ",
            evidence=(
                symptoms.evidence(f"CiliumBGPNodeConfig {nodes[0]}, status.bgpInstances", f"{address}: {state}"),
            ),
            next=(
                symptoms.command("cilium bgp peers", "the sessions of all nodes"),
                symptoms.command(f"kubectl get ciliumbgpnodeconfig {nodes[0]} -o yaml", "what it was told"),
            ),
            names=frozenset({"BGP"}),
            needs=symptoms.names(
                symptoms.NETWORK,
                (f"Node {each}" for each in nodes),
                (symptoms.network_of(each) for each in nodes),
                "BGP config",
            ),
        )


def bgp_configs(scene: ClusterObservation) -> Iterator[Symptom]:
    """What Cilium says is wrong with its BGP objects."""
    bad = (
        "cilium.io/NoMatchingNode",
        "cilium.io/MissingPeerConfigs",
        "cilium.io/ConflictingClusterConfig",
        "cilium.io/MissingAuthSecret",
    )
    for value in scene.of("cilium.io/CiliumBGPClusterConfig", "cilium.io/CiliumBGPPeerConfig"):
        for kind in bad:
            if not conditions.is_true(value, kind):
                continue
            said = conditions.said(text(conditions.condition(value, kind), "message")) or kind.partition("/")[2]
            yield symptoms.symptom(
                code="bgp-config",
                subject=name_of(value),
                message=f"{name_of(value)}: {said}",
                evidence=(symptoms.of_condition(value, kind),),
                next=(symptoms.kubectl("get -o yaml", value),),
                since=conditions.condition_since(value, kind),
                names=frozenset({"BGP config", "BGP"}),
                needs=symptoms.names(f"Secret kube-system/{text(value, 'spec', 'authSecretRef')}"),
            )
            break
