"""Whether load-balancer addresses can be given as they are asked for, and by one cluster only."""

import itertools
from collections.abc import Iterator

from firstlight.commands.audit import address_pins, cluster_mesh
from firstlight.commands.audit.address_pins import AddressPin
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model import address_range
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.repo import address_pools
from firstlight.repo.address_pools import AddressPool
from firstlight.repo.platform_view import PlatformView


def pinned_outside(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """An address that a service asks for and no pool of its cluster can give."""
    for cluster in scene.clusters:
        pools = address_pools.pools(scene, cluster.name)
        for pin in address_pins.pins(scene, cluster.name):
            fitting = [each for each in pools if pin.kind in ("", each.kind)]
            # Without pools, or with some that only a run knows, nobody can tell.
            if not fitting or not all(each.is_known for each in fitting):
                continue
            holding = [each for each in fitting if any(block.covers(pin.address) for block in each.blocks)]
            if not holding:
                said = f"{pin.address} of {pin.who} is in no pool of its cluster"
                yield _outside(
                    rule, pin, fitting, said, fix="Give a pool a block with this address: the pin stays as it is."
                )
            elif pin.labels is not None and not any(address_pools.selects(each, pin.labels or {}) for each in holding):
                names = ", ".join(each.name for each in holding)
                said = f"{pin.address} of {pin.who} is in the pool {names}, which does not serve it"
                fix = "Give the service the labels that the pool's serviceSelector wants."
                yield _outside(rule, pin, holding, said, fix=fix)


def _outside(rule: AuditRule, pin: AddressPin, pools: list[AddressPool], message: str, *, fix: str) -> Finding:
    return rule.finding(
        message,
        at=pin.place,
        clusters=(pin.cluster,),
        subject=pin.component,
        evidence=(Evidence(f"{pin.who} asks for {pin.address}", pin.place), *map(_shown, pools)),
        fix=fix,
        severity=Severity.WARNING if pin.is_off else None,
    )


def _shown(pool: AddressPool) -> Evidence:
    return Evidence(f"{pool.cluster}: pool {pool.name} {', '.join(map(str, pool.blocks))}", pool.place)


def pinned_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """One address that two ask for."""
    asked: dict[str, list[AddressPin]] = {}
    for cluster in scene.clusters:
        for pin in address_pins.pins(scene, cluster.name):
            asked.setdefault(str(pin.address), []).append(pin)
    for address, all_pins in asked.items():
        first, *others = all_pins
        against = [each for each in others if each.cluster != first.cluster or not _may_share(first, each)]
        if against:
            names = " and ".join(dict.fromkeys(f"{each.who} in {each.cluster}" for each in (first, *against)))
            yield rule.finding(
                f"{address} is asked for by {names}",
                at=against[-1].place,
                clusters=tuple(each.cluster for each in (first, *against)),
                subject=first.component,
                evidence=tuple(Evidence(f"{each.cluster}: {each.who}", each.place) for each in (first, *against)),
                fix="Give each its own address; two services of one cluster may share one with the same sharing key.",
            )


def _may_share(one: AddressPin, other: AddressPin) -> bool:
    return bool(one.sharing) and one.sharing == other.sharing


def overlap(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Pools that hold the same addresses, in one cluster or in several."""
    every = [each for cluster in scene.clusters for each in address_pools.pools(scene, cluster.name)]
    yield from _in_one(rule, every)
    mesh = {each.cluster for each in cluster_mesh.members(scene)}
    yield from _the_same_in_many(rule, every, mesh)
    yield from _in_two(rule, every, mesh)


def _in_one(rule: AuditRule, pools: list[AddressPool]) -> Iterator[Finding]:
    for one, two in itertools.combinations(pools, 2):
        pair = next(address_range.overlapping(one.blocks, two.blocks), None)
        if pair and one.cluster == two.cluster and one.kind == two.kind:
            yield rule.finding(
                f"the pools {one.name} ({pair[0]}) and {two.name} ({pair[1]}) share addresses",
                at=two.place,
                clusters=(one.cluster,),
                evidence=(_shown(one), _shown(two)),
                fix="Cut one of them: Cilium gives nothing from a pool that conflicts with an older one.",
            )


def _the_same_in_many(rule: AuditRule, pools: list[AddressPool], mesh: set[str]) -> Iterator[Finding]:
    """One file that several clusters apply: each of them gives out the same addresses."""
    by_place: dict[str, list[AddressPool]] = {}
    for each in pools:
        if each.item is not None and each.blocks:
            by_place.setdefault(f"{each.place} {each.blocks}", []).append(each)
    for same in by_place.values():
        clusters = tuple(sorted({each.cluster for each in same}))
        if len(clusters) > 1:
            pool = same[0]
            blocks = ", ".join(map(str, pool.blocks))
            yield rule.finding(
                f"the pool {pool.name} ({blocks}) is given out by {len(clusters)} clusters",
                at=pool.place,
                clusters=clusters,
                evidence=(_shown(pool),),
                fix="Let each cluster apply its own pool only, or write the blocks with a variable of the cluster.",
                # What selects its services serves those of one cluster as long as nobody labels others so.
                severity=Severity.NOTE if pool.selector else _meeting(set(clusters), mesh),
            )


def _in_two(rule: AuditRule, pools: list[AddressPool], mesh: set[str]) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for one, two in itertools.combinations(pools, 2):
        pair = next(address_range.overlapping(one.blocks, two.blocks), None)
        if not pair or one.cluster == two.cluster or one.place == two.place:
            continue
        key = str(one.place), str(two.place)
        if key in seen or key[::-1] in seen or _is_in_both(one, two, pools):
            continue
        seen.add(key)
        yield rule.finding(
            f"the pools {one.name} of {one.cluster} ({pair[0]}) and {two.name} of {two.cluster} ({pair[1]})"
            " share addresses",
            at=two.place,
            clusters=(one.cluster, two.cluster),
            evidence=(_shown(one), _shown(two)),
            severity=_meeting({one.cluster, two.cluster}, mesh),
        )


def _meeting(clusters: set[str], mesh: set[str]) -> Severity | None:
    """Two sites may have equal private networks that never meet; clusters of a mesh do meet."""
    return None if len(clusters & mesh) > 1 else Severity.WARNING


def _is_in_both(one: AddressPool, two: AddressPool, pools: list[AddressPool]) -> bool:
    """Whether both are in one of the clusters, where they conflict already."""
    places = {(each.cluster, each.place) for each in pools}
    return (one.cluster, two.place) in places or (two.cluster, one.place) in places


def not_read(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """An address that a Gateway of Cilium's asks for where Cilium does not look."""
    for item in scene.of_kind("gateway.networking.k8s.io/Gateway"):
        if not address_pins.is_ciliums(scene, item):
            continue
        annotations = within.at(item.value, "metadata", "annotations")
        for key, kind in address_pins.ANNOTATIONS.items():
            if (
                kind != address_pools.CILIUM
                or not within.at(annotations, key)
                or within.at(item.value, "spec", "addresses")
            ):
                continue
            if within.at(item.value, "spec", "infrastructure", "annotations", key):
                continue
            yield rule.finding(
                f"{key} of {item.object.id} is not read by Cilium",
                at=item.object.at("metadata", "annotations", key),
                clusters=(item.cluster,),
                subject=item.component.name,
                evidence=(
                    Evidence(f"{key}: {within.at(annotations, key)}", item.object.at("metadata", "annotations", key)),
                ),
            )
