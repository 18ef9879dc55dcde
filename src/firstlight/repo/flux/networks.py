"""Addresses for load balancers, as Cilium and MetalLB are told them."""

from collections.abc import Iterator, Sequence

from firstlight.repo.flux import kinds
from firstlight.repo.flux.kinds import entries, mapping, text
from firstlight.repo.manifest import Manifest


def load_balancers(pools: Sequence[Manifest]) -> tuple[str, ...]:
    """The addresses of pools, as they are written: networks, or ranges with a dash."""
    found = [each for pool in pools for each in _addresses(pool)]
    return tuple(dict.fromkeys(each for each in found if each and "$" not in each))


def _addresses(pool: Manifest) -> Iterator[str]:
    spec = kinds.spec(pool)
    if spec.get("disabled") is True:
        return
    for each in map(mapping, [*entries(spec.get("blocks")), *entries(spec.get("cidrs"))]):
        start, stop = text(each.get("start")), text(each.get("stop"))
        yield text(each.get("cidr")) or (f"{start}-{stop}" if start and stop else start)
    for each in entries(spec.get("addresses")):
        yield text(each).replace(" ", "")
