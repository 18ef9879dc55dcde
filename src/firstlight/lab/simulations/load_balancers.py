"""Addresses for LoadBalancer services, from the declared pools or from CiliumLoadBalancerIPPools if there are any."""

import ipaddress
from collections.abc import Sequence

from firstlight.lab import settings as lab_settings
from firstlight.lab.simulations.world import MANAGER, Object, World, condition, key, now

REQUESTED = ("lbipam.cilium.io/ips", "io.cilium/lb-ipam-ips")
SATISFIED = "cilium.io/IPAMRequestSatisfied"


class Simulation:
    """The address manager."""

    what = "LoadBalancer services get addresses from pools"

    async def start(self, world: World) -> None:
        """Follow services."""
        self._services = await world.follow("v1", "Service")

    async def act(self, world: World) -> None:
        """Give addresses to services that have none, one after the other, so that no two get the same."""
        for service in list(self._services.values()):
            if service["spec"].get("type") == "LoadBalancer" and not ingress(service):
                await world.each([service], lambda obj: self._assign(world, obj))

    async def _assign(self, world: World, service: Object) -> None:
        taken = {address for each in self._services.values() for address in ingress(each)}
        chosen = choose(requested(service), await _pools(world), taken)
        if not chosen and condition(service, SATISFIED) == "False":
            return
        entry = {
            "type": SATISFIED,
            "status": "True" if chosen else "False",
            "reason": "satisfied" if chosen else "no_pool",
            "message": "" if chosen else "no pool has the requested or any free address",
            "lastTransitionTime": now(),
        }
        addresses = [{"ip": address, "ipMode": "VIP"} for address in chosen]
        status = {"conditions": [entry], **({"loadBalancer": {"ingress": addresses}} if chosen else {})}
        namespace, name = key(service)
        patched = await world.client.patch(
            "v1", "Service", name, {"status": status}, form="merge", manager=MANAGER, namespace=namespace,
            subresource="status",
        )  # fmt: skip
        world.put(self._services, patched)


async def _pools(world: World) -> Sequence[str]:
    definition = world.definition("cilium.io", "CiliumLoadBalancerIPPool")
    if definition is None:
        return world.settings.load_balancers
    version = definition["spec"]["versions"][0]["name"]
    pools = await world.follow(f"cilium.io/{version}", "CiliumLoadBalancerIPPool")
    blocks = [block for pool in pools.values() for block in pool["spec"].get("blocks", ())]
    return [block.get("cidr") or f"{block['start']}-{block.get('stop', block['start'])}" for block in blocks]


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
    """The requested addresses if all are free and lie in a pool, else the first free one; nothing if there is none."""
    ranges = [found for pool in pools if (found := _range(pool))]
    if wanted:
        numbers = [found[0] for each in wanted if (found := _range(each))]
        inside = len(numbers) == len(wanted) and all(
            any(low <= number <= high for low, high in ranges) for number in numbers
        )
        return list(wanted) if inside and not taken & set(wanted) else []
    for low, high in ranges:
        for number in range(low, high + 1):
            address = str(ipaddress.ip_address(number))
            if address not in taken:
                return [address]
    return []


def _range(pool: str) -> tuple[int, int] | None:
    """The first and last address of a pool; nothing if it is none, as with a variable that nobody has filled in."""
    try:
        return lab_settings.addresses_of(pool)
    except ValueError:
        return None
