"""Pools of load-balancer addresses."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document import within
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.place import Place
from firstlight.repo.platform_view import AppliedObject, PlatformView

CILIUM, METALLB = "cilium.io/CiliumLoadBalancerIPPool", "metallb.io/IPAddressPool"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AddressPool:
    """A pool of a cluster."""

    cluster: str
    kind: str
    name: str
    place: Place
    blocks: tuple[AddressRange, ...]
    is_known: bool
    """Whether all of its blocks are known."""
    selector: Mapping[str, Any]
    """Which services it serves; all where it is empty."""
    item: AppliedObject | None = dataclasses.field(repr=False)
    """None for one that only the cluster has."""


def pools(scene: PlatformView, cluster: str) -> list[AddressPool]:
    """The pools of a cluster: those of the repo, and those that only the cluster itself has."""
    found = [_pool(each.cluster, each.value, each) for each in scene.of_cluster(cluster, CILIUM, METALLB)]
    unique = {(each.kind, each.name): each for each in reversed(found)}
    asked = scene.live.get(cluster)
    beside = [
        _pool(cluster, value, None)
        for kind in (CILIUM, METALLB)
        for value in (asked.of(kind) if asked else ())
        if (kind, str(within.at(value, "metadata", "name"))) not in unique
    ]
    declared = {id(each) for each in unique.values()}
    return [*(each for each in found if id(each) in declared), *beside]


def live(value: Mapping[str, Any], *, cluster: str) -> AddressPool:
    """A pool as a cluster itself has it."""
    return _pool(cluster, value, None)


def _pool(cluster: str, value: Mapping[str, Any], item: AppliedObject | None) -> AddressPool:
    kind = CILIUM if value.get("kind") == "CiliumLoadBalancerIPPool" else METALLB
    if kind == METALLB:
        written = [address_range.parse(each) for each in within.sequence(value, "spec", "addresses")]
        steps: tuple[str | int, ...] = ("spec", "addresses")
    else:
        field = "blocks" if within.at(value, "spec", "blocks") else "cidrs"
        written = [_block(each) for each in within.sequence(value, "spec", field)]
        steps = ("spec", field)
    selector = within.at(value, "spec", "serviceSelector")
    return AddressPool(
        cluster=cluster,
        kind=kind,
        name=str(within.at(value, "metadata", "name") or ""),
        place=item.object.at(*steps) if item else Place(cluster),
        blocks=tuple(each for each in written if each),
        is_known=bool(written) and all(written),
        selector=selector if isinstance(selector, Mapping) else {},
        item=item,
    )


def _block(block: Any) -> AddressRange | None:
    if within.at(block, "cidr"):
        return address_range.network(within.at(block, "cidr"))
    first = within.at(block, "start")
    return address_range.between(first, within.at(block, "stop") or first)


def selects(pool: AddressPool, labels: Mapping[str, str]) -> bool:
    """Whether a pool serves a service with these labels."""
    wanted = within.at(pool.selector, "matchLabels")
    if isinstance(wanted, Mapping) and any(labels.get(key) != str(value) for key, value in wanted.items()):
        return False
    return all(_holds(each, labels) for each in within.sequence(pool.selector, "matchExpressions"))


def _holds(expression: Any, labels: Mapping[str, str]) -> bool:
    key, values = str(within.at(expression, "key")), [str(each) for each in within.sequence(expression, "values")]
    match within.at(expression, "operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return True
