"""Whether pods, services, machines and load balancers have addresses of their own, and all agree on them."""

import itertools
from collections.abc import Callable, Iterator

from firstlight.commands.audit import cilium_settings, cluster_mesh, cluster_networks, wording
from firstlight.commands.audit.cluster_networks import RangeSource
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.cluster import Cluster
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo import address_pools
from firstlight.repo.platform_view import PlatformView

Say = Callable[[PlatformView, Cluster], list[RangeSource]]
"""One who asks all for a range."""


def pods_differ(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A range of pods that others contradict."""
    for cluster in scene.clusters:
        sources = cluster_networks.pods(scene, cluster)
        yield from _contradicted(rule, cluster, sources, what="pods")
        yield from _pool_beside_talos(rule, scene, cluster)
        yield from _live_pods(rule, scene, cluster, sources)


def services_differ(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A range of services that others contradict."""
    for cluster in scene.clusters:
        sources = cluster_networks.services(scene, cluster)
        yield from _contradicted(rule, cluster, sources, what="services")
        yield from _live_services(rule, scene, cluster, sources)


def _contradicted(rule: AuditRule, cluster: Cluster, sources: list[RangeSource], *, what: str) -> Iterator[Finding]:
    """The one who gives the addresses comes first: it is what has to change, or all the others."""
    if not sources:
        return
    first, *others = sources
    against = [each for each in others if not cluster_networks.agree(first, each)]
    if against:
        said = " and ".join(f"{each} by {each.who}" for each in against)
        yield rule.finding(
            f"{what} are in {first} by {first.who}, and in {said}",
            at=first.place,
            clusters=(cluster.name,),
            evidence=_evidence(cluster.name, (first, *against)),
            key=f"{what} {cluster.name}",
            # One that contradicts for certain is enough.
            rests=(first.basis, min((each.basis for each in against), key=lambda basis: basis.rank)),
        )


def _pool_beside_talos(rule: AuditRule, scene: PlatformView, cluster: Cluster) -> Iterator[Finding]:
    """Cilium's own pool and Talos's range: nodes' ranges are not used, but Talos tells its own addresses by them."""
    agents = cilium_settings.of(scene, cluster.name)
    if agents is None or cilium_settings.mode(scene, agents) not in cilium_settings.POOL_MODES:
        return
    pool = next(iter(cluster_networks.pods(scene, cluster)), None)
    talos = address_range.listed(list(cluster.network.pods))
    if pool is None or "default" in pool.who or not address_range.uncovered(pool.spans, talos):
        return
    place = cluster.said.get("network.pods", cluster.place)
    yield rule.finding(
        f"Cilium's pool gives pods {pool}, and Talos takes {', '.join(map(str, talos))} for their range",
        at=pool.place,
        clusters=(cluster.name,),
        subject=agents.name,
        evidence=_evidence(cluster.name, (pool, RangeSource("Talos", talos, place))),
        fix="Write Cilium's pool as podSubnets of the machine config, so that Talos takes none of it for a node's.",
        severity=Severity.NOTE,
    )


def _live_pods(rule: AuditRule, scene: PlatformView, cluster: Cluster, sources: list[RangeSource]) -> Iterator[Finding]:
    agents, live = cilium_settings.of(scene, cluster.name), scene.live.get(cluster.name)
    if agents is None or live is None or cilium_settings.mode(scene, agents) != "kubernetes" or not sources:
        return
    first = sources[0]
    strangers = {
        str(within.at(node, "metadata", "name")): [str(each) for each in outside]
        for node in live.of("/Node")
        if (
            outside := address_range.uncovered(
                address_range.listed(within.sequence(node, "spec", "podCIDRs")), first.spans
            )
        )
    }
    if strangers:
        shown = tuple(
            Evidence(f"{name}: podCIDRs {', '.join(outside)}", Place(cluster.name))
            for name, outside in sorted(strangers.items())
        )
        yield rule.finding(
            f"nodes have pods outside of {first}: {', '.join(sorted(strangers))}",
            at=first.place,
            clusters=(cluster.name,),
            evidence=(*_evidence(cluster.name, (first,)), *shown),
            rests=(first.basis,),
            fix="Declare the range that the nodes have: a node keeps its range until it is made anew.",
        )


def _live_services(
    rule: AuditRule, scene: PlatformView, cluster: Cluster, sources: list[RangeSource]
) -> Iterator[Finding]:
    live = scene.live.get(cluster.name)
    if live is None or not sources:
        return
    first = sources[0]
    for each in live.of("/Service"):
        if (within.at(each, "metadata", "namespace"), within.at(each, "metadata", "name")) != ("default", "kubernetes"):
            continue
        outside = address_range.uncovered(address_range.listed([within.at(each, "spec", "clusterIP")]), first.spans)
        if outside:
            yield rule.finding(
                f"the cluster's services are not in {first}: kubernetes is {outside[0]}",
                at=first.place,
                clusters=(cluster.name,),
                evidence=(
                    *_evidence(cluster.name, (first,)),
                    Evidence(f"Service default/kubernetes {outside[0]}", Place(cluster.name)),
                ),
                rests=(first.basis,),
            )


def overlap(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Ranges that share addresses: in a cluster, or between clusters of a mesh."""
    for cluster in scene.clusters:
        yield from _inside(rule, scene, cluster)
    yield from _between(rule, scene)


def _inside(rule: AuditRule, scene: PlatformView, cluster: Cluster) -> Iterator[Finding]:
    pods, services = (_believed(scene, cluster, say) for say in (cluster_networks.pods, cluster_networks.services))
    pods = cluster_networks.used_first(pods) if pods else None
    machines = _machines(cluster)
    pools = [
        RangeSource(f"the pool {each.name}", (block,), each.place)
        for each in address_pools.pools(scene, cluster.name)
        for block in each.blocks
    ]
    named = [("pods", pods), ("services", services)]
    for (what, one), (other, two) in itertools.combinations([(what, each) for what, each in named if each], 2):
        yield from _shared(rule, cluster.name, (what, one), (other, two))
    for what, one in [(what, each) for what, each in named if each]:
        yield from _on_machines(rule, cluster.name, what, one, machines)
    for pool in pools:
        for what, one in [(what, each) for what, each in named if each]:
            yield from _shared(rule, cluster.name, (pool.who, pool), (what, one))
        # What services ask for by name is safe; only one that asks for none may get a machine's address.
        yield from _on_machines(rule, cluster.name, pool.who, pool, machines, severity=Severity.WARNING)


def _shared(
    rule: AuditRule, cluster: str, one: tuple[str, RangeSource], two: tuple[str, RangeSource]
) -> Iterator[Finding]:
    (what, first), (other, second) = one, two
    pair = next(address_range.overlapping(first.spans, second.spans), None)
    if pair is not None:
        yield rule.finding(
            f"{what} ({pair[0]}) and {other} ({pair[1]}) share addresses",
            at=first.place,
            clusters=(cluster,),
            evidence=_evidence(cluster, (first, second)),
            rests=(first.basis, second.basis),
        )


def _on_machines(
    rule: AuditRule,
    cluster: str,
    what: str,
    source: RangeSource,
    machines: list[RangeSource],
    *,
    severity: Severity | None = None,
) -> Iterator[Finding]:
    """A range that machines have their addresses in: one finding for all of them."""
    taken = [each for each in machines if next(address_range.overlapping(source.spans, each.spans), None) is not None]
    if taken:
        names = wording.listed_names(f"{each.who} ({each})" for each in taken)
        yield rule.finding(
            f"{what} ({source}) and {names} share addresses",
            at=source.place,
            clusters=(cluster,),
            evidence=_evidence(cluster, (source, *taken)),
            severity=severity,
            rests=(source.basis,),
        )


def _machines(cluster: Cluster) -> list[RangeSource]:
    found = []
    for each in cluster.machines:
        address = address_range.address(each.address.partition("/")[0])
        if address is not None:
            found.append(RangeSource(f"the machine {each.name}", (address,), each.place))
    vip = address_range.address(cluster.network.vip)
    if vip is not None:
        found.append(RangeSource("the VIP", (vip,), cluster.said.get("network.vip", cluster.place)))
    return found


def _believed(scene: PlatformView, cluster: Cluster, say: Say) -> RangeSource | None:
    return cluster_networks.believed(say(scene, cluster))


def _between(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    mesh = [each for one in cluster_mesh.members(scene) if (each := scene.platform.cluster(one.cluster))]
    for one, two in itertools.combinations(mesh, 2):
        for what, other, say, severity in (
            ("pods", "pods", (cluster_networks.pods, cluster_networks.pods), None),
            ("pods", "services", (cluster_networks.pods, cluster_networks.services), None),
            ("services", "pods", (cluster_networks.services, cluster_networks.pods), None),
            # Cilium allows it; only those who route to services of another cluster cannot.
            ("services", "services", (cluster_networks.services, cluster_networks.services), Severity.NOTE),
        ):
            first, second = _believed(scene, one, say[0]), _believed(scene, two, say[1])
            if first is None or second is None or _is_disputed(scene, one, say[0]) or _is_disputed(scene, two, say[1]):
                continue
            if pair := next(address_range.overlapping(first.spans, second.spans), None):
                yield rule.finding(
                    f"{what} of {one.name} ({pair[0]}) and {other} of {two.name} ({pair[1]}) share addresses",
                    at=first.place,
                    clusters=(one.name, two.name),
                    evidence=(*_evidence(one.name, (first,)), *_evidence(two.name, (second,))),
                    severity=severity,
                    rests=(first.basis, second.basis),
                )


def _is_disputed(scene: PlatformView, cluster: Cluster, say: Say) -> bool:
    """Whether nobody can tell the range before those who contradict each other about it agree, which is said once."""
    sources = say(scene, cluster)
    return any(not cluster_networks.agree(sources[0], each) for each in sources[1:])


def native_routing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A range of native routing that leaves out pods of another cluster of the mesh."""
    mesh = cluster_mesh.members(scene)
    for member in mesh:
        if not cilium_settings.is_native(scene, member.agents) or not _masquerades(scene, member.agents):
            continue
        said = cilium_settings.said(scene, member.agents, "ipv4NativeRoutingCIDR")
        own = address_range.listed([said.value]) if said else ()
        if said is None or not own:
            continue
        missing = []
        for other in mesh:
            cluster = scene.platform.cluster(other.cluster)
            if other.cluster == member.cluster or cluster is None:
                continue
            pods = _believed(scene, cluster, cluster_networks.pods)
            if pods and address_range.uncovered([each for each in pods.spans if each.version == own[0].version], own):
                missing.append((other.cluster, pods))
        if missing:
            said_others = ", ".join(f"{pods} of {name}" for name, pods in missing)
            is_connected = member.has_server and any(each.is_told for each in mesh)
            yield rule.finding(
                f"ipv4NativeRoutingCIDR {own[0]} does not cover the pods of the mesh: {said_others}",
                at=said.place,
                clusters=(member.cluster,),
                subject=member.agents.name,
                evidence=(
                    Evidence(f"{member.cluster}: ipv4NativeRoutingCIDR {own[0]}", said.place),
                    *(each for name, pods in missing for each in _evidence(name, (pods,))),
                ),
                rests=(min((pods.basis for _, pods in missing), key=lambda basis: basis.rank),),
                fix=_wider(scene, [*own, *(each for _, pods in missing for each in pods.spans)]),
                # As long as nothing connects the clusters, no packet goes from one to the other.
                severity=None if is_connected else Severity.WARNING,
            )


def _wider(scene: PlatformView, spans: list[AddressRange]) -> str:
    """The smallest range that has all of these, if it has no address of a machine or a load balancer."""
    wide = address_range.together(spans)
    if wide is None:
        return ""
    taken = [each for cluster in scene.clusters for each in _machines(cluster)]
    taken += [
        RangeSource(f"the pool {each.name}", (block,), each.place)
        for cluster in scene.clusters
        for each in address_pools.pools(scene, cluster.name)
        for block in each.blocks
    ]
    inside = next((each for each in taken if next(address_range.overlapping((wide,), each.spans), None)), None)
    if inside is not None:
        return (
            f"No range covers all of them and leaves out {inside.who} ({inside}), which has to be masqueraded. "
            "Give pods of all clusters ranges side by side, or set ipMasqAgent with a list of ranges."
        )
    return f"Write {wide} as ipv4NativeRoutingCIDR in every cluster of the mesh."


def _masquerades(scene: PlatformView, agents: cilium_settings.CiliumAgents) -> bool:
    """Whether the range decides what is masqueraded: not if nothing is, nor if an agent with a list of its own does."""
    masquerade = cilium_settings.said(scene, agents, "enableIPv4Masquerade")
    listed_ones = cilium_settings.said(scene, agents, "ipMasqAgent", "enabled")
    is_off = masquerade is not None and str(masquerade.value).lower() == "false"
    if masquerade is None and not scene.knows(agents.component, "enableIPv4Masquerade"):
        return False
    return not is_off and not (listed_ones is not None and cilium_settings.is_on(listed_ones.value))


def _evidence(cluster: str, sources: tuple[RangeSource, ...]) -> tuple[Evidence, ...]:
    return tuple(Evidence(f"{cluster}: {each} by {each.who}", each.place) for each in sources)
