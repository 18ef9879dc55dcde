"""Whether the clusters of a mesh are connected, by the repo, and trust each other."""

import re
from collections.abc import Iterator, Sequence

from firstlight.model.finding import Evidence, Severity
from firstlight.model.place import Place
from firstlight.policy.auditing import cilium_settings, mesh_authority, meshes
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.mesh_authority import Trust
from firstlight.policy.auditing.meshes import Member
from firstlight.policy.auditing.scene import LONGEST, Scene

_BY_HAND = re.compile(
    r"#.*\b(?:manual(?:ly)?|by hand|(?:via|with|by|using)\b.*\bCLI|cilium clustermesh)\b", re.IGNORECASE
)
_COMMAND = r"(?<!#)\bcilium\b[^|;&#]*\bclustermesh\s+connect\b"
_SCRIPTS = re.compile(
    r"(?:^|/)(?:[^/]*\.(?:sh|bash|just|mk)|Makefile|\.?justfile|Taskfile[^/]*\.ya?ml|\.?taskfiles/.*\.ya?ml)$"
)


def not_connected(scene: Scene) -> Iterator[Hit]:
    """A mesh that is prepared, and nothing connects its clusters."""
    apart = list(_apart(scene))
    if apart and not _hands(scene, apart):
        yield _hit(apart, "ClusterMesh is configured and not connected", ())
    yield from _unlisted(scene)


def by_hand(scene: Scene) -> Iterator[Hit]:
    """A mesh that somebody connects, and nothing in the repo does."""
    apart = list(_apart(scene))
    hands = _hands(scene, apart) if apart else ()
    if hands:
        yield _hit(apart, "ClusterMesh is connected by hand only", hands)


def _apart(scene: Scene) -> Iterator[tuple[Member, list[str]]]:
    """The clusters of the mesh that lack something, with what they lack."""
    for member in meshes.members(scene):
        lacking = []
        if not member.has_server:
            lacking.append("clustermesh.useAPIServer is off")
        if not member.is_told:
            lacking.append("clustermesh.config names no cluster")
        if lacking:
            yield member, lacking


def _hit(apart: Sequence[tuple[Member, list[str]]], message: str, hands: Sequence[Evidence]) -> Hit:
    first, lacking = apart[0]
    place = (first.server if not first.has_server else first.config) or first.server
    names = ", ".join(each.cluster for each, _ in apart)
    return Hit(
        message=f"{message}: {' and '.join(lacking)} in {names}",
        place=place.place if place else first.place,
        clusters=tuple(each.cluster for each, _ in apart),
        component=first.agents.name,
        evidence=(*(Evidence(f"{each.cluster}: {'; '.join(what)}", _where(each)) for each, what in apart), *hands),
        key=message,
    )


def _where(member: Member) -> Place:
    return member.server.place if member.server else member.place


def _hands(scene: Scene, apart: Sequence[tuple[Member, list[str]]]) -> list[Evidence]:
    """Commands that connect clusters, and comments that say who does."""
    found = [
        Evidence(match[0].strip(), place)
        for path in scene.files.files
        if _SCRIPTS.search(path)
        for place, match in scene.lines(path, _COMMAND)
    ]
    for member, _ in apart:
        found += _comments(scene, member)
    return found


def _comments(scene: Scene, member: Member) -> Iterator[Evidence]:
    """What the lines about the mesh say beside their values."""
    given = scene.value(member.component, "clustermesh")
    if given is None or not given.place.line:
        return
    lines = (scene.files.text(given.place.path) or "").splitlines()
    start = given.place.line - 1
    if start >= len(lines):
        return
    depth = _depth(lines[start])
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and not line.lstrip().startswith("#") and _depth(line) <= depth:
            return
        if _BY_HAND.search(line[:LONGEST]) and _depth(line) > depth:
            place = Place(given.place.path, number + 1, line.index("#") + 1)
            yield Evidence(line[line.index("#") :].strip(), place)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _unlisted(scene: Scene) -> Iterator[Hit]:
    """A cluster that lists some of the mesh, and leaves out another."""
    mesh = meshes.members(scene)
    names = {each.cluster: meshes.name(scene, each.agents) for each in mesh}
    for member in mesh:
        listed = {str(each.get("name")) for each in member.peers}
        if not listed or member.secrets or any("$" in each or "{" in each for each in listed):
            continue
        missing = [name for cluster, name in names.items() if cluster != member.cluster and name not in listed]
        clusters = cilium_settings.said(scene, member.agents, "clustermesh", "config", "clusters")
        if missing and clusters:
            yield Hit(
                message=f"clustermesh.config.clusters leaves out {', '.join(sorted(missing))}",
                place=clusters.place,
                clusters=(member.cluster,),
                component=member.agents.name,
                evidence=(Evidence(f"{member.cluster} lists {', '.join(sorted(listed))}", clusters.place),),
                severity=Severity.WARNING,
            )


def unidentified(scene: Scene) -> Iterator[Hit]:
    """A cluster of a mesh without a name or id of its own."""
    for member in meshes.members(scene):
        for field, default in (("name", "default"), ("id", "0")):
            said = cilium_settings.said(scene, member.agents, "cluster", field)
            if said is None or str(said.value) in ("", default):
                yield Hit(
                    message=f"a cluster of the mesh has no cluster.{field}",
                    place=said.place if said else member.place,
                    clusters=(member.cluster,),
                    component=member.agents.name,
                    evidence=(Evidence(f"{member.cluster}: ClusterMesh is configured", member.place),),
                )


def own_authorities(scene: Scene) -> Iterator[Hit]:
    """A mesh whose clusters make a certificate authority each."""
    mesh = meshes.members(scene)
    trusts = [mesh_authority.of(scene, each) for each in mesh]
    if any(each.trust is Trust.UNKNOWN for each in trusts):
        return
    own = [each for each in trusts if each.trust is Trust.OWN]
    several = {each.mark for each in trusts if each.trust is Trust.GIVEN}
    if not own and len(several) < 2:
        return
    concerned = own or trusts
    names = ", ".join(each.cluster for each in mesh)
    said = "makes a certificate authority of its own" if own else "is given another certificate authority"
    yield Hit(
        message=f"each cluster of the mesh {said}: {names}",
        place=concerned[0].place,
        clusters=tuple(each.cluster for each in mesh),
        component=mesh[0].agents.name,
        evidence=tuple(Evidence(each.why, each.place) for each in concerned),
        # A Secret of somebody's making may hold what the other side needs.
        severity=Severity.NOTE if all(each.secrets for each in mesh) else None,
        key="authorities",
    )
