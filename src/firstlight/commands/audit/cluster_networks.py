"""The ranges of pods and services of a cluster, by everybody who says them."""

import dataclasses
import re
from collections.abc import Iterable, Iterator

from firstlight.commands.audit import cilium_settings
from firstlight.model import address_range, fact, talos_facts
from firstlight.model.address_range import AddressRange
from firstlight.model.cluster import Cluster
from firstlight.model.fact import Basis, Confidence, Standing
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_FIRST = 16
_LONG = 2**16
"""Nodes get their ranges from the beginning of a pool on: 256 of them fill a /16 with a /24 each."""
_SETTING = re.compile(
    r"(?:^|_)(PODS?|SERVICES?|SVCS?)_(?:IPV4_)?(?:CIDRS?|SUBNETS?|NETWORKS?|RANGES?)(?:_V4|_STRING)?$", re.IGNORECASE
)


@dataclasses.dataclass(frozen=True, slots=True)
class RangeSource:
    """One who says a range."""

    who: str
    """``Talos``, ``Cilium's pool``, ``the setting POD_CIDR``."""
    spans: tuple[AddressRange, ...]
    place: Place
    is_bound: bool = False
    """It says only within what the range lies."""
    basis: Basis = fact.READ
    """How it is known."""

    def __str__(self) -> str:
        return ", ".join(map(str, self.spans))


def pods(scene: PlatformView, cluster: Cluster) -> list[RangeSource]:
    """Everybody who says from where pods get their addresses; the one who really gives them comes first."""
    found = [*_of_talos(scene, cluster, "pods")]
    agents = cilium_settings.of(scene, cluster.name)
    if agents is not None:
        mode = cilium_settings.mode(scene, agents)
        if mode in cilium_settings.POOL_MODES:
            return [*_pool(scene, agents), *_settings(scene, cluster, "POD")]
        if mode != "kubernetes":
            return []
        found += _native(scene, agents)
    return [*found, *_settings(scene, cluster, "POD")]


def services(scene: PlatformView, cluster: Cluster) -> list[RangeSource]:
    """Everybody who says from where services get their addresses; Talos, who tells the API server, comes first."""
    return [*_of_talos(scene, cluster, "services"), *_settings(scene, cluster, "S")]


def believed(sources: Iterable[RangeSource]) -> RangeSource | None:
    """What most of them say; of equals the first, and a range that covers another one agrees with it."""
    listed = list(sources)
    candidates = [each for each in listed if not each.is_bound]
    return max(candidates, key=lambda each: sum(agree(each, one) for one in listed), default=None)


def used_first(source: RangeSource) -> RangeSource:
    """Of a pool that is very wide, such as Cilium's by default, what a cluster of a few hundred nodes gets of it."""
    near = tuple(
        address_range.around(each, _FIRST) if each.version == 4 and each.length > _LONG else each
        for each in source.spans
    )
    return dataclasses.replace(source, spans=near)


def agree(one: RangeSource, other: RangeSource) -> bool:
    """Whether two say the same, or one says a part of what the other says."""
    return not address_range.uncovered(one.spans, other.spans) or not address_range.uncovered(other.spans, one.spans)


def _of_talos(scene: PlatformView, cluster: Cluster, what: str) -> Iterator[RangeSource]:
    given = talos_facts.pods(cluster) if what == "pods" else talos_facts.services(cluster)
    found = address_range.listed(list(given.value))
    place = given.place or cluster.place
    if given.is_read and found:
        yield RangeSource("Talos", found, place, basis=given.basis)
    elif given.is_known and found and cluster.machines:
        yield RangeSource("Talos by default", found, place, basis=given.basis)


def _pool(scene: PlatformView, agents: cilium_settings.CiliumAgents) -> Iterator[RangeSource]:
    found: list[AddressRange] = []
    place = None
    for family in ("4", "6"):
        said = cilium_settings.said(scene, agents, "ipam", "operator", f"clusterPoolIPv{family}PodCIDRList")
        if said is not None:
            found += address_range.listed(said.value)
            place = place or said.place
    if found and place:
        yield RangeSource("Cilium's pool", tuple(found), place)
    elif place is None and scene.knows(agents.component, "ipam", "operator", "clusterPoolIPv4PodCIDRList"):
        mode = cilium_settings.said(scene, agents, "ipam", "mode")
        at = mode.place if mode else agents.component.origins[0].place
        yield RangeSource("Cilium's pool by default", address_range.listed([cilium_settings.DEFAULT_POOL]), at)


def _native(scene: PlatformView, agents: cilium_settings.CiliumAgents) -> Iterator[RangeSource]:
    """The range that Cilium does not masquerade: it says at least something of where pods are."""
    said = cilium_settings.said(scene, agents, "ipv4NativeRoutingCIDR")
    if said is not None and cilium_settings.is_native(scene, agents) and (found := address_range.listed([said.value])):
        yield RangeSource("Cilium's ipv4NativeRoutingCIDR", found, said.place, is_bound=True)


def _settings(scene: PlatformView, cluster: Cluster, beginning: str) -> Iterator[RangeSource]:
    """Variables of the cluster that are named for it; one is enough where several say the same."""
    seen: set[tuple[AddressRange, ...]] = set()
    for name, value in cluster.settings.items():
        match = _SETTING.search(name)
        if match is None or not match[1].upper().startswith(beginning):
            continue
        found = address_range.listed(value)
        if found and found not in seen:
            seen.add(found)
            named = Basis(Standing.GUESS, Confidence.GUESS, f"{name} is taken for a range of the cluster by its name")
            yield RangeSource(f"the setting {name}", found, _line(scene, cluster, name), basis=named)


def _line(scene: PlatformView, cluster: Cluster, name: str) -> Place:
    place = cluster.said.get("settings", cluster.place)
    return next((at for at, _ in scene.lines(place.path, rf"^\s*{re.escape(name)}\s*:")), place)
