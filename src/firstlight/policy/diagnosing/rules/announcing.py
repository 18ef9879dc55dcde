"""Addresses of Services that no router learns: no advertisement or policy, no lease, no BGP session, a wrong config."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.gates import selecting, status
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.rules.load_balancers import addresses, balanced, labels
from firstlight.policy.diagnosing.scene import Scene, name_of


def not_announced(scene: Scene) -> Iterator[Found]:
    """Services with an address that no router learns: no advertisement, no session, or no lease."""
    configs = scene.of("cilium.io/CiliumBGPClusterConfig")
    policies = scene.of("cilium.io/CiliumL2AnnouncementPolicy")
    if not configs and not policies:
        return  # somebody else announces, or nobody has to
    for service in balanced(scene):
        if not addresses(service) or not scene.is_over(status.created(service), times=2):
            continue
        if text(service, "spec", "loadBalancerClass") == "io.cilium/l2-announcer" or not configs:
            if told := _no_lease(service, policies, scene):
                yield told
        elif not _is_advertised(service, scene):
            if not any(_selected(each, service) for each in policies):
                yield _told(service, "lb-not-advertised", "no CiliumBGPAdvertisement selects it")
        elif not _sessions(scene, established=True) and _sessions(scene, established=False):
            yield _told(service, "lb-not-announced", "no BGP session is up", needs=frozenset({"BGP"}))


def _told(service: Mapping[str, Any], rule: str, why: str, *, needs: frozenset[str] = frozenset()) -> Found:
    address = ", ".join(addresses(service))
    return Found(
        rule=rule,
        subject=name_of(service),
        says=f"{name_of(service)} has the address {address}, and nobody outside learns it: {why}",
        evidence=(found.of_field(service, "status.loadBalancer.ingress", address),),
        next=(
            found.command("kubectl get ciliumbgpadvertisements --show-labels -o yaml", "what they select")
            if rule != "l2-no-lease"
            else found.command("kubectl -n kube-system get leases", "which node announces which Service"),
        ),
        needs=found.names(needs, found.NETWORK),
    )


def _is_advertised(service: Mapping[str, Any], scene: Scene) -> bool:
    for advertisement in scene.of("cilium.io/CiliumBGPAdvertisement"):
        for each in sequence(advertisement, "spec", "advertisements"):
            kinds = sequence(each, "service", "addresses")
            if text(each, "advertisementType") == "Service" and "LoadBalancerIP" in kinds:
                selector = mapping(each, "selector")
                if selector and selecting.matches(selector, labels(service)):
                    return True
    return False


def _selected(policy: Mapping[str, Any], service: Mapping[str, Any]) -> bool:
    selector = mapping(policy, "spec", "serviceSelector")
    is_all = not mapping(selector, "matchLabels") and not sequence(selector, "matchExpressions")
    return mapping(policy, "spec").get("loadBalancerIPs") is True and (
        is_all or selecting.matches(selector, labels(service))
    )


def _no_lease(service: Mapping[str, Any], policies: tuple[Mapping[str, Any], ...], scene: Scene) -> Found | None:
    mine = [each for each in policies if _selected(each, service)]
    if not mine:
        return _told(service, "l2-no-policy", "no CiliumL2AnnouncementPolicy selects it")
    name = f"cilium-l2announce-{text(service, 'metadata', 'namespace')}-{text(service, 'metadata', 'name')}"
    lease = scene.one("coordination.k8s.io/Lease", name, namespace="kube-system")
    if lease is not None or not scene.is_listed("coordination.k8s.io/Lease"):
        return None
    return _told(service, "l2-no-lease", f"no node holds the lease kube-system/{name}")


def _sessions(scene: Scene, *, established: bool) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (text(node, "metadata", "name"), mapping(peer))
        for node in scene.of("cilium.io/CiliumBGPNodeConfig")
        for instance in sequence(node, "status", "bgpInstances")
        for peer in sequence(instance, "peers")
        if (text(peer, "peeringState") == "established") is established
    ]


def down_sessions(scene: Scene) -> Iterator[Found]:
    """BGP sessions that are not up, one symptom a peer."""
    by_peer: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for node, peer in _sessions(scene, established=False):
        by_peer.setdefault(text(peer, "peerAddress") or text(peer, "name"), []).append((node, peer))
    for address, all_of_it in sorted(by_peer.items()):
        nodes = sorted(node for node, _ in all_of_it)
        state = text(all_of_it[0][1], "peeringState") or "unknown"
        config = scene.one("cilium.io/CiliumBGPNodeConfig", nodes[0])
        if not scene.is_over(status.created(config)):
            continue
        yield Found(
            rule="bgp-session-down",
            subject=f"BGP peer {address}",
            says=f"the BGP session with {address} is {state} on {', '.join(nodes[:3])}"
            f"{' …' if len(nodes) > 3 else ''}: the router refuses it or is not reached, "
            "or AS number, address or password differ",
            evidence=(found.evidence(f"CiliumBGPNodeConfig {nodes[0]}, status.bgpInstances", f"{address}: {state}"),),
            next=(
                found.command("cilium bgp peers", "the sessions of all nodes"),
                found.command(f"kubectl get ciliumbgpnodeconfig {nodes[0]} -o yaml", "what it was told"),
            ),
            names=frozenset({"BGP"}),
            needs=found.names(
                found.NETWORK,
                (f"Node {each}" for each in nodes),
                (found.network_of(each) for each in nodes),
                "BGP config",
            ),
        )


def bgp_configs(scene: Scene) -> Iterator[Found]:
    """What Cilium says is wrong with its BGP objects."""
    bad = (
        "cilium.io/NoMatchingNode",
        "cilium.io/MissingPeerConfigs",
        "cilium.io/ConflictingClusterConfig",
        "cilium.io/MissingAuthSecret",
    )
    for value in scene.of("cilium.io/CiliumBGPClusterConfig", "cilium.io/CiliumBGPPeerConfig"):
        for kind in bad:
            if not status.is_true(value, kind):
                continue
            said = status.said(text(status.condition(value, kind), "message")) or kind.partition("/")[2]
            yield Found(
                rule="bgp-config",
                subject=name_of(value),
                says=f"{name_of(value)}: {said}",
                evidence=(found.of_condition(value, kind),),
                next=(found.kubectl("get -o yaml", value),),
                since=status.since(value, kind),
                names=frozenset({"BGP config", "BGP"}),
                needs=found.names(f"Secret kube-system/{text(value, 'spec', 'authSecretRef')}"),
            )
            break
