"""The mesh of a platform: the clusters whose Cilium is prepared for ClusterMesh, and what each of them says."""

import dataclasses
import enum
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit import cilium_settings
from firstlight.commands.audit.cilium_settings import CiliumAgents, CiliumSetting
from firstlight.document import within
from firstlight.model.component import Component
from firstlight.model.place import Place
from firstlight.repo import chart_values
from firstlight.repo.platform_view import AppliedObject, PlatformView

SECRETS = ("cilium-clustermesh", "cilium-kvstoremesh")
"""What tells agents, and the cache between, where other clusters are."""
AUTHORITY = "cilium-ca"
_SECRET_KINDS = (
    "/Secret", "external-secrets.io/ExternalSecret", "external-secrets.io/ClusterExternalSecret",
    "bitnami.com/SealedSecret", "secrets.hashicorp.com/VaultStaticSecret", "onepassword.com/OnePasswordItem",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MeshMember:
    """A cluster whose Cilium is prepared for a mesh."""

    agents: CiliumAgents
    place: Place
    """Where its mesh is configured first."""
    has_server: bool
    """Whether others can ask it: the mesh's API server is on."""
    peers: tuple[Mapping[str, Any], ...]
    """The clusters that it is told of, with their names."""
    secrets: tuple[AppliedObject, ...]
    """What brings the Secrets that tell of other clusters, where it is not the chart."""
    server: CiliumSetting | None
    """The switch of the API server."""
    config: CiliumSetting | None
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


def members(scene: PlatformView) -> tuple[MeshMember, ...]:
    """The clusters of the mesh; none where there is only one."""
    found = tuple(each for agents in cilium_settings.all_agents(scene) if (each := _member(scene, agents)))
    return found if len(found) > 1 else ()


def _member(scene: PlatformView, agents: CiliumAgents) -> MeshMember | None:
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
    return MeshMember(
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


def bringing(scene: PlatformView, cluster: str, *names: str) -> Iterator[AppliedObject]:
    """The objects that bring a Secret of one of these names beside Cilium."""
    for each in scene.of_cluster(cluster, *_SECRET_KINDS):
        made = within.at(each.value, "spec", "target", "name") or within.at(each.value, "spec", "externalSecretName")
        if (made or each.object.id.name) in names:
            yield each


def name(scene: PlatformView, agents: CiliumAgents) -> str:
    """The name that a cluster has in the mesh; its own in the repo where none is given."""
    found = cilium_settings.said(scene, agents, "cluster", "name")
    return str(found.value) if found and str(found.value) != "default" else agents.cluster


# Who signs the certificates of a cluster of the mesh.


_ISSUERS = {"ClusterIssuer": "cert-manager.io/ClusterIssuer", "Issuer": "cert-manager.io/Issuer"}


class AuthorityOrigin(enum.StrEnum):
    """Where a cluster's certificate authority comes from."""

    GIVEN = "given"
    """From outside, so that others can have the same."""
    OWN = "own"
    """Made in the cluster, so that nobody else has it."""
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class MeshAuthority:
    """The certificate authority of a cluster of the mesh."""

    trust: AuthorityOrigin
    why: str
    place: Place
    mark: str = ""
    """What tells one from another; never the thing itself."""


def authority_of(scene: PlatformView, member: MeshMember) -> MeshAuthority:
    """Who signs the certificates of a cluster of the mesh."""
    auto = [cilium_settings.said(scene, member.agents, *_TLS, "auto", each) for each in ("enabled", "method")]
    enabled, method = auto
    place = method.place if method else member.place
    brought = next(iter(bringing(scene, member.cluster, AUTHORITY)), None)
    if brought is not None:
        return MeshAuthority(AuthorityOrigin.GIVEN, f"{member.cluster}: {brought.object.id}", brought.object.place)
    if any(each.name == AUTHORITY and each.cluster in ("", member.cluster) for each in scene.platform.secrets):
        return MeshAuthority(AuthorityOrigin.GIVEN, f"{member.cluster}: a foundation Secret {AUTHORITY}", place)
    given = cilium_settings.said(scene, member.agents, "tls", "ca", "cert")
    if given is not None and str(given.value):
        mark = hashlib.sha256(str(given.value).encode()).hexdigest()
        return MeshAuthority(AuthorityOrigin.GIVEN, f"{member.cluster}: tls.ca.cert", given.place, mark)
    if (
        not chart_values.are_values_known(member.agents.component)
        or (enabled is not None and not cilium_settings.is_on(enabled.value))
        or _own_tls(member)
    ):
        return MeshAuthority(AuthorityOrigin.UNKNOWN, f"{member.cluster}: given by somebody else", place)
    kind = str(method.value) if method else "helm"
    if kind == "certmanager":
        return _of_issuer(scene, member, place)
    return MeshAuthority(
        AuthorityOrigin.OWN, f"{member.cluster}: made by {kind} (clustermesh.apiserver.tls.auto.method)", place
    )


_TLS = ("clustermesh", "apiserver", "tls")


def _own_tls(member: MeshMember) -> bool:
    """Whether it is told how to trust each of the others."""
    return bool(member.peers) and all(within.at(each, "tls", "cert") for each in member.peers)


def _of_issuer(scene: PlatformView, member: MeshMember, place: Place) -> MeshAuthority:
    said = cilium_settings.said(scene, member.agents, *_TLS, "auto", "certManagerIssuerRef")
    reference = said.value if said and isinstance(said.value, Mapping) else {}
    at = said.place if said else place
    name, kind = str(reference.get("name")), str(reference.get("kind") or "Issuer")
    for item in scene.of_cluster(member.cluster, _ISSUERS.get(kind, "")):
        if item.object.id.name != name:
            continue
        if within.at(item.value, "spec", "selfSigned") is not None:
            return MeshAuthority(
                AuthorityOrigin.OWN, f"{member.cluster}: {kind} {name} is self-signed", item.object.place
            )
        secret = within.at(item.value, "spec", "ca", "secretName")
        if secret and _makes(scene, member.cluster, secret):
            why = f"{member.cluster}: {kind} {name} signs with what a Certificate makes in the cluster"
            return MeshAuthority(AuthorityOrigin.OWN, why, item.object.place)
        if secret:
            return MeshAuthority(AuthorityOrigin.GIVEN, f"{member.cluster}: {kind} {name}", item.object.place)
    return MeshAuthority(AuthorityOrigin.UNKNOWN, f"{member.cluster}: {kind} {name}", at)


def _makes(scene: PlatformView, cluster: str, secret: Any) -> bool:
    certificates = scene.of_cluster(cluster, "cert-manager.io/Certificate")
    return any(within.at(each.value, "spec", "secretName") == secret for each in certificates)
