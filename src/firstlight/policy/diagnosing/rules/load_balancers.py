"""Services of type LoadBalancer: without an address, or with one that nobody announces; CNI, pool or BGP."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.gates import status
from firstlight.model.diagnosis import Evidence
from firstlight.policy.auditing import address_pools, spans
from firstlight.policy.auditing.spans import Span
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene, name_of

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


def without_address(scene: Scene) -> Iterator[Found]:
    """Services that wait for an address: which of pools, selectors and wishes it is."""
    pools = [
        address_pools.live(each, cluster=scene.cluster.name)
        for each in scene.of(*_POOLS)
        if mapping(each, "spec").get("disabled") is not True
    ]
    for service in balanced(scene):
        if addresses(service) or not scene.is_over(status.created(service)):
            continue
        rule, why, shown = _why(service, pools, scene)
        if not rule:
            continue
        yield Found(
            rule=rule,
            subject=name_of(service),
            says=f"{name_of(service)} gets no address from a pool: {why}",
            evidence=shown,
            next=(
                found.command(
                    "kubectl get ciliumloadbalancerippools,ipaddresspools.metallb.io -A", "ranges, and what is left"
                )
                if address_pools.METALLB not in scene.unserved
                else found.command(
                    "kubectl get ciliumloadbalancerippools -o yaml", "ranges, selectors, and what is left"
                ),
                found.kubectl("describe", service),
            ),
            since=status.created(service),
            needs=found.names(
                found.controller("cilium-operator"),
                found.controller("controller"),
                found.NETWORK,
                f"Namespace {text(service, 'metadata', 'namespace')}",
            ),
        )


def balanced(scene: Scene) -> Iterator[Mapping[str, Any]]:
    """Services that want an address from the cluster's own pools."""
    for each in scene.of("/Service"):
        kind = text(each, "spec", "loadBalancerClass")
        is_own = not kind or kind.startswith(("io.cilium/", "metallb"))
        if text(each, "spec", "type") == "LoadBalancer" and is_own and not status.is_going(each):
            yield each


def addresses(service: Mapping[str, Any]) -> list[str]:
    """The addresses that a Service has got."""
    ingress = sequence(service, "status", "loadBalancer", "ingress")
    return [
        text(each, "ip") or text(each, "hostname") for each in ingress if text(each, "ip") or text(each, "hostname")
    ]


def labels(service: Mapping[str, Any]) -> dict[str, str]:
    """What selectors of Cilium see of a Service: its labels, and its name and namespace under two keys."""
    own = {str(key): str(value) for key, value in mapping(service, "metadata", "labels").items()}
    own["io.kubernetes.service.namespace"] = text(service, "metadata", "namespace")
    own["io.kubernetes.service.name"] = text(service, "metadata", "name")
    return own


def _why(
    service: Mapping[str, Any], pools: list[address_pools.Pool], scene: Scene
) -> tuple[str, str, tuple[Evidence, ...]]:
    asked = [span for each in _wanted(service) if (span := spans.address(each)) is not None]
    if outside := [each for each in asked if not any(_has(pool, each) for pool in pools) and pools]:
        shown = found.evidence(f"{name_of(service)}, metadata.annotations", ", ".join(map(str, asked)))
        ranges = ", ".join(str(block) for pool in pools for block in pool.blocks)
        return "lb-address-outside", f"it asks for {outside[0]}, which is in no pool ({ranges})", (shown,)
    condition = status.condition(service, _SATISFIED)
    if text(condition, "status") == "False" and (rule := _REASONS.get(text(condition, "reason"), "")):
        return rule, status.said(text(condition, "message")), (found.of_condition(service, _SATISFIED),)
    failed = scene.events_of(service, "AllocationFailed")
    if failed and (match := re.search(r"no available IPs", text(failed[0], "message"))):
        return "lb-pool-exhausted", match[0], (found.of_event(failed[0]),)
    fields = (found.of_field(service, "status.loadBalancer", "is empty"),)
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


def _has(pool: address_pools.Pool, span: Span) -> bool:
    return not pool.is_known or any(each.covers(span) for each in pool.blocks)
