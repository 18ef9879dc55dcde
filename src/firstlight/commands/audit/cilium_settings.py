"""What Cilium is told in a cluster: by chart values, or by its ConfigMap where somebody has rendered it."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from firstlight.document import within
from firstlight.model.component import Component
from firstlight.model.place import Place
from firstlight.repo import chart_values
from firstlight.repo.platform_view import PlatformView

_KEYS = {
    ("cluster", "name"): "cluster-name",
    ("cluster", "id"): "cluster-id",
    ("ipam", "mode"): "ipam",
    ("ipam", "operator", "clusterPoolIPv4PodCIDRList"): "cluster-pool-ipv4-cidr",
    ("ipam", "operator", "clusterPoolIPv6PodCIDRList"): "cluster-pool-ipv6-cidr",
    ("routingMode",): "routing-mode",
    ("ipv4NativeRoutingCIDR",): "ipv4-native-routing-cidr",
    ("ipv6NativeRoutingCIDR",): "ipv6-native-routing-cidr",
}
"""The keys of the ConfigMap ``cilium-config`` by the values that the chart makes them from."""
CONFIG = "cilium-config"
POOL_MODES = ("cluster-pool", "cluster-pool-v2beta")
DEFAULT_POOL = "10.0.0.0/8"
"""The chart's ``ipam.operator.clusterPoolIPv4PodCIDRList``."""


@dataclasses.dataclass(frozen=True, slots=True)
class CiliumSetting:
    """A setting, and where it is made."""

    value: Any
    place: Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CiliumAgents:
    """Cilium in one cluster."""

    cluster: str
    component: Component

    @property
    def name(self) -> str:
        """What the component is called."""
        return self.component.name


def all_agents(scene: PlatformView) -> Iterator[CiliumAgents]:
    """Cilium of each cluster that has one whose settings are known, once for each cluster."""
    seen: set[str] = set()
    for component in scene.with_role("cni"):
        if component.cluster not in seen and (_is_charts(scene, component) or _is_rendered(scene, component)):
            seen.add(component.cluster)
            yield CiliumAgents(cluster=component.cluster, component=component)


def of(scene: PlatformView, cluster: str) -> CiliumAgents | None:
    """Cilium of one cluster."""
    return next((each for each in all_agents(scene) if each.cluster == cluster), None)


def said(scene: PlatformView, agents: CiliumAgents, *path: str) -> CiliumSetting | None:
    """A setting by the path of the chart's value."""
    given = scene.value(agents.component, *path)
    if given is not None:
        return CiliumSetting(given.value, given.place)
    key = _KEYS.get(path)
    if key is None or scene.values(agents.component):
        return None
    for each in _configs(scene, agents.cluster):
        value = within.at(each.value, "data", key)
        if value is not None:
            return CiliumSetting(value, each.object.at("data", key))
    return None


def _is_charts(scene: PlatformView, component: Component) -> bool:
    return any(
        chart_values.chart_name(each.chart) == "cilium" and each.chart.repository for each in scene.values(component)
    )


def _is_rendered(scene: PlatformView, component: Component) -> bool:
    return any(each.component == component for each in _configs(scene, component.cluster))


def _configs(scene: PlatformView, cluster: str) -> list[Any]:
    return [each for each in scene.of_cluster(cluster, "/ConfigMap") if each.object.id.name == CONFIG]


def live(scene: PlatformView, cluster: str, *path: str) -> str:
    """A setting as the cluster itself has it; empty where it was not asked or has none."""
    found = scene.live.get(cluster)
    for each in found.of("/ConfigMap") if found else ():
        if within.at(each, "metadata", "name") == CONFIG:
            return str(within.at(each, "data", _KEYS[path]) or "")
    return ""


def mode(scene: PlatformView, agents: CiliumAgents) -> str:
    """Who gives pods their addresses: ``kubernetes`` by nodes, ``cluster-pool`` by Cilium; empty where nobody knows."""
    asked = live(scene, agents.cluster, "ipam", "mode")
    found = said(scene, agents, "ipam", "mode")
    if asked or found:
        return asked or str(found.value if found else "")
    return "cluster-pool" if scene.knows(agents.component, "ipam", "mode") else ""


def is_native(scene: PlatformView, agents: CiliumAgents) -> bool:
    """Whether pods' packets go between nodes as they are, without a tunnel."""
    found = said(scene, agents, "routingMode")
    return found is not None and str(found.value) == "native"


def is_on(value: Any) -> bool:
    """Whether a switch is on; ``--set`` makes texts of them."""
    return value is True or str(value).lower() == "true"
