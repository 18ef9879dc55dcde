"""Addresses for LoadBalancer services, from the declared pools or from CiliumLoadBalancerIPPools if there are any."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.lab import settings as lab_settings
from firstlight.lab.simulations.world import MANAGER, Object, World, key

WHAT = "LoadBalancer services get addresses from pools"

POOLS = "ciliumloadbalancerippools.cilium.io"
REQUESTED = ("lbipam.cilium.io/ips", "io.cilium/lb-ipam-ips")
SATISFIED = "cilium.io/IPAMRequestSatisfied"


async def run(world: World) -> None:
    """Follow services."""
    services: dict[tuple[str, str], Object] = {}
    async for event in world.client.watch("v1", "Service"):
        if isinstance(event, kube.Synced):
            world.start("load_balancers")
            continue
        if isinstance(event, kube.Deleted):
            services.pop(key(event.object), None)
            continue
        services[key(event.object)] = event.object
        with world.forgiving(f"address of {key(event.object)}"):
            await _assign(world, event.object, services.values())


async def _assign(world: World, service: Object, services: Iterable[Object]) -> None:
    if service["spec"].get("type") != "LoadBalancer" or ingress(service):
        return
    taken = {address for each in services for address in ingress(each)}
    chosen = choose(requested(service), await _pools(world), taken)
    status: dict[str, Any] = (
        {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"} for address in chosen]}} if chosen else {}
    )
    if not chosen and any(each["type"] == SATISFIED for each in service["status"].get("conditions", ())):
        return
    status["conditions"] = [
        {
            "type": SATISFIED,
            "status": "True" if chosen else "False",
            "reason": "satisfied" if chosen else "no_pool",
            "message": "" if chosen else "no pool has the requested or any free address",
            "lastTransitionTime": service["metadata"]["creationTimestamp"],
        }
    ]
    namespace, name = key(service)
    await world.client.patch(
        "v1", "Service", name, {"status": status}, form="merge", manager=MANAGER, namespace=namespace,
        subresource="status",
    )  # fmt: skip


async def _pools(world: World) -> Sequence[str]:
    if POOLS not in world.definitions:
        return world.settings.load_balancers
    version = world.definitions[POOLS]["spec"]["versions"][0]["name"]
    listing = await world.client.list(f"cilium.io/{version}", "CiliumLoadBalancerIPPool")
    blocks = [block for pool in listing.items for block in pool["spec"].get("blocks", ())]
    pools = [block.get("cidr") or f"{block['start']}-{block.get('stop', block['start'])}" for block in blocks]
    return pools or world.settings.load_balancers


def ingress(service: Object) -> list[str]:
    """The addresses that a service has."""
    entries = service.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    return [each["ip"] for each in entries if "ip" in each]


def requested(service: Object) -> list[str]:
    """The addresses that a service asks for, by annotation or field."""
    annotations = service["metadata"].get("annotations", {})
    for name in REQUESTED:
        if annotations.get(name):
            return [each.strip() for each in annotations[name].split(",")]
    single = service["spec"].get("loadBalancerIP")
    return [single] if single else []


def choose(wanted: Sequence[str], pools: Sequence[str], taken: set[str]) -> list[str]:
    """The requested addresses if all lie in a pool, else the first free one; nothing if there is none."""
    ranges = [lab_settings.addresses_of(pool) for pool in pools]
    if wanted:
        inside = all(any(low <= int(ipaddress.ip_address(each)) <= high for low, high in ranges) for each in wanted)
        return list(wanted) if inside else []
    for low, high in ranges:
        for number in range(low, high + 1):
            address = str(ipaddress.ip_address(number))
            if address not in taken:
                return [address]
    return []
