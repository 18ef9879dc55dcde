"""The mesh of a platform: the clusters whose Cilium is prepared for ClusterMesh, and what each of them says."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.model.component import Component
from firstlight.model.place import Place
from firstlight.policy.auditing import cilium_settings
from firstlight.policy.auditing.cilium_settings import Agents, Said
from firstlight.policy.auditing.scene import Item, Scene

SECRETS = ("cilium-clustermesh", "cilium-kvstoremesh")
"""What tells agents, and the cache between, where other clusters are."""
AUTHORITY = "cilium-ca"
_SECRET_KINDS = (
    "/Secret", "external-secrets.io/ExternalSecret", "external-secrets.io/ClusterExternalSecret",
    "bitnami.com/SealedSecret", "secrets.hashicorp.com/VaultStaticSecret", "onepassword.com/OnePasswordItem",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A cluster whose Cilium is prepared for a mesh."""

    agents: Agents
    place: Place
    """Where its mesh is configured first."""
    has_server: bool
    """Whether others can ask it: the mesh's API server is on."""
    peers: tuple[Mapping[str, Any], ...]
    """The clusters that it is told of, with their names."""
    secrets: tuple[Item, ...]
    """What brings the Secrets that tell of other clusters, where it is not the chart."""
    server: Said | None
    """The switch of the API server."""
    config: Said | None
    """The switch of the list of clusters."""

    @property
    def cluster(self) -> str:
        """The cluster's name in the repo."""
        return self.agents.cluster

    @property
    def component(self) -> Component:
        """Its Cilium."""
        return self.agents.component

    @property
    def is_told(self) -> bool:
        """Whether anything tells it of another cluster."""
        return bool(self.peers or self.secrets)


def members(scene: Scene) -> tuple[Member, ...]:
    """The clusters of the mesh; none where there is only one."""
    found = tuple(each for agents in cilium_settings.all_agents(scene) if (each := _member(scene, agents)))
    return found if len(found) > 1 else ()


def _member(scene: Scene, agents: Agents) -> Member | None:
    asked = {
        path: cilium_settings.said(scene, agents, "clustermesh", *path)
        for path in (("useAPIServer",), ("config",), ("config", "enabled"), ("config", "clusters"), ("apiserver",))
    }
    server, config = asked["useAPIServer",], asked["config", "enabled"]
    has_server = server is not None and cilium_settings.is_on(server.value)
    is_listing = config is not None and cilium_settings.is_on(config.value)
    clusters = asked["config", "clusters"]
    peers = tuple(_peers(clusters.value)) if is_listing and clusters else ()
    secrets = tuple(bringing(scene, agents.cluster, *SECRETS))
    first = next((each for each in (server, config, asked["apiserver",]) if each), None)
    if not (has_server or is_listing or asked["apiserver",] or peers):
        return None
    place = first.place if first else agents.component.origins[0].place
    return Member(
        agents=agents,
        place=place,
        has_server=has_server,
        peers=peers,
        secrets=secrets,
        server=server,
        config=config,
    )


def _peers(clusters: Any) -> Iterator[Mapping[str, Any]]:
    """A list of clusters, or since 1.19 a mapping by their names."""
    if isinstance(clusters, Mapping):
        for name, each in clusters.items():
            if isinstance(each, Mapping) and each.get("enabled", True) is not False:
                yield {**each, "name": name}
    for each in clusters if isinstance(clusters, list) else ():
        if isinstance(each, Mapping):
            yield each


def bringing(scene: Scene, cluster: str, *names: str) -> Iterator[Item]:
    """The objects that bring a Secret of one of these names beside Cilium."""
    for each in scene.of_cluster(cluster, *_SECRET_KINDS):
        made = within.at(each.value, "spec", "target", "name") or within.at(each.value, "spec", "externalSecretName")
        if (made or each.object.id.name) in names:
            yield each


def name(scene: Scene, agents: Agents) -> str:
    """The name that a cluster has in the mesh; its own in the repo where none is given."""
    found = cilium_settings.said(scene, agents, "cluster", "name")
    return str(found.value) if found and str(found.value) != "default" else agents.cluster
