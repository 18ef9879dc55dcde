"""Who signs the certificates of a cluster of the mesh."""

import dataclasses
import enum
import hashlib
from collections.abc import Mapping
from typing import Any

from firstlight.document import within
from firstlight.model.place import Place
from firstlight.policy.auditing import charts, cilium_settings, meshes
from firstlight.policy.auditing.meshes import Member
from firstlight.policy.auditing.scene import Scene

_ISSUERS = {"ClusterIssuer": "cert-manager.io/ClusterIssuer", "Issuer": "cert-manager.io/Issuer"}


class Trust(enum.StrEnum):
    """Where a cluster's certificate authority comes from."""

    GIVEN = "given"
    """From outside, so that others can have the same."""
    OWN = "own"
    """Made in the cluster, so that nobody else has it."""
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class Authority:
    """The certificate authority of a cluster of the mesh."""

    trust: Trust
    why: str
    place: Place
    mark: str = ""
    """What tells one from another; never the thing itself."""


def of(scene: Scene, member: Member) -> Authority:
    """Who signs the certificates of a cluster of the mesh."""
    auto = [cilium_settings.said(scene, member.agents, *_TLS, "auto", each) for each in ("enabled", "method")]
    enabled, method = auto
    place = method.place if method else member.place
    brought = next(iter(meshes.bringing(scene, member.cluster, meshes.AUTHORITY)), None)
    if brought is not None:
        return Authority(Trust.GIVEN, f"{member.cluster}: {brought.object.id}", brought.object.place)
    if any(each.name == meshes.AUTHORITY and each.cluster in ("", member.cluster) for each in scene.platform.secrets):
        return Authority(Trust.GIVEN, f"{member.cluster}: a foundation Secret {meshes.AUTHORITY}", place)
    given = cilium_settings.said(scene, member.agents, "tls", "ca", "cert")
    if given is not None and str(given.value):
        mark = hashlib.sha256(str(given.value).encode()).hexdigest()
        return Authority(Trust.GIVEN, f"{member.cluster}: tls.ca.cert", given.place, mark)
    if (
        not charts.are_values_known(member.agents.component)
        or (enabled is not None and not cilium_settings.is_on(enabled.value))
        or _own_tls(member)
    ):
        return Authority(Trust.UNKNOWN, f"{member.cluster}: given by somebody else", place)
    kind = str(method.value) if method else "helm"
    if kind == "certmanager":
        return _of_issuer(scene, member, place)
    return Authority(Trust.OWN, f"{member.cluster}: made by {kind} (clustermesh.apiserver.tls.auto.method)", place)


_TLS = ("clustermesh", "apiserver", "tls")


def _own_tls(member: Member) -> bool:
    """Whether it is told how to trust each of the others."""
    return bool(member.peers) and all(within.at(each, "tls", "cert") for each in member.peers)


def _of_issuer(scene: Scene, member: Member, place: Place) -> Authority:
    said = cilium_settings.said(scene, member.agents, *_TLS, "auto", "certManagerIssuerRef")
    reference = said.value if said and isinstance(said.value, Mapping) else {}
    at = said.place if said else place
    name, kind = str(reference.get("name")), str(reference.get("kind") or "Issuer")
    for item in scene.of_cluster(member.cluster, _ISSUERS.get(kind, "")):
        if item.object.id.name != name:
            continue
        if within.at(item.value, "spec", "selfSigned") is not None:
            return Authority(Trust.OWN, f"{member.cluster}: {kind} {name} is self-signed", item.object.place)
        secret = within.at(item.value, "spec", "ca", "secretName")
        if secret and _makes(scene, member.cluster, secret):
            why = f"{member.cluster}: {kind} {name} signs with what a Certificate makes in the cluster"
            return Authority(Trust.OWN, why, item.object.place)
        if secret:
            return Authority(Trust.GIVEN, f"{member.cluster}: {kind} {name}", item.object.place)
    return Authority(Trust.UNKNOWN, f"{member.cluster}: {kind} {name}", at)


def _makes(scene: Scene, cluster: str, secret: Any) -> bool:
    certificates = scene.of_cluster(cluster, "cert-manager.io/Certificate")
    return any(within.at(each.value, "spec", "secretName") == secret for each in certificates)
