"""Whether the clusters of a mesh are connected, by the repo, and trust each other."""

import re
from collections.abc import Iterator, Sequence

from firstlight.commands.audit import cilium_settings, cluster_mesh
from firstlight.commands.audit.cluster_mesh import AuthorityOrigin, MeshMember
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model import versions
from firstlight.model.cluster import Cluster
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import LONGEST, PlatformView

_BY_HAND = re.compile(
    r"#.*\b(?:manual(?:ly)?|by hand|(?:via|with|by|using)\b.*\bCLI|cilium clustermesh)\b", re.IGNORECASE
)
_COMMAND = r"(?<!#)\bcilium\b[^|;&#]*\bclustermesh\s+connect\b"
_SCRIPTS = re.compile(
    r"(?:^|/)(?:[^/]*\.(?:sh|bash|just|mk)|Makefile|\.?justfile|Taskfile[^/]*\.ya?ml|\.?taskfiles/.*\.ya?ml)$"
)


def mesh_not_connected(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A mesh that is prepared, and nothing connects its clusters."""
    apart = list(_apart(scene))
    if apart and not _hands(scene, apart):
        yield _finding(rule, apart, "ClusterMesh is configured and not connected", ())
    yield from _unlisted(rule, scene)


def mesh_by_hand(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A mesh that somebody connects, and nothing in the repo does."""
    apart = list(_apart(scene))
    hands = _hands(scene, apart) if apart else ()
    if hands:
        yield _finding(rule, apart, "ClusterMesh is connected by hand only", hands)


def _apart(scene: PlatformView) -> Iterator[tuple[MeshMember, list[str]]]:
    """The clusters of the mesh that lack something, with what they lack."""
    for member in cluster_mesh.members(scene):
        lacking = []
        if not member.has_server:
            lacking.append("clustermesh.useAPIServer is off")
        if not member.is_told:
            lacking.append("clustermesh.config names no cluster")
        if lacking:
            yield member, lacking


def _finding(
    rule: AuditRule, apart: Sequence[tuple[MeshMember, list[str]]], message: str, hands: Sequence[Evidence]
) -> Finding:
    first, lacking = apart[0]
    place = (first.server if not first.has_server else first.config) or first.server
    names = ", ".join(each.cluster for each, _ in apart)
    return rule.finding(
        f"{message}: {' and '.join(lacking)} in {names}",
        at=place.place if place else first.place,
        clusters=tuple(each.cluster for each, _ in apart),
        subject=first.agents.name,
        evidence=(
            *(Evidence(f"{each.cluster}: {'; '.join(what)}", _where(each)) for each, what in apart),
            *hands,
        ),
        key=message,
    )


def _where(member: MeshMember) -> Place:
    return member.server.place if member.server else member.place


def _hands(scene: PlatformView, apart: Sequence[tuple[MeshMember, list[str]]]) -> list[Evidence]:
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


def _comments(scene: PlatformView, member: MeshMember) -> Iterator[Evidence]:
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


def _unlisted(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A cluster that lists some of the mesh, and leaves out another."""
    mesh = cluster_mesh.members(scene)
    names = {each.cluster: cluster_mesh.name(scene, each.agents) for each in mesh}
    for member in mesh:
        listed = {str(each.get("name")) for each in member.peers}
        if not listed or member.secrets or any("$" in each or "{" in each for each in listed):
            continue
        missing = [name for cluster, name in names.items() if cluster != member.cluster and name not in listed]
        clusters = cilium_settings.said(scene, member.agents, "clustermesh", "config", "clusters")
        if missing and clusters:
            yield rule.finding(
                f"clustermesh.config.clusters leaves out {', '.join(sorted(missing))}",
                at=clusters.place,
                clusters=(member.cluster,),
                subject=member.agents.name,
                evidence=(Evidence(f"{member.cluster} lists {', '.join(sorted(listed))}", clusters.place),),
                severity=Severity.WARNING,
            )


def mesh_unidentified(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A cluster of a mesh without a name or id of its own."""
    for member in cluster_mesh.members(scene):
        for field, default in (("name", "default"), ("id", "0")):
            said = cilium_settings.said(scene, member.agents, "cluster", field)
            is_absent = said is None and scene.knows(member.component, "cluster", field)
            if is_absent or (said is not None and str(said.value) in ("", default)):
                yield rule.finding(
                    f"a cluster of the mesh has no cluster.{field}",
                    at=said.place if said else member.place,
                    clusters=(member.cluster,),
                    subject=member.agents.name,
                    evidence=(Evidence(f"{member.cluster}: ClusterMesh is configured", member.place),),
                )


def mesh_own_authorities(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A mesh whose clusters make a certificate authority each."""
    mesh = cluster_mesh.members(scene)
    trusts = [cluster_mesh.authority_of(scene, each) for each in mesh]
    if any(each.trust is AuthorityOrigin.UNKNOWN for each in trusts):
        return
    own = [each for each in trusts if each.trust is AuthorityOrigin.OWN]
    several = {each.mark for each in trusts if each.trust is AuthorityOrigin.GIVEN}
    if not own and len(several) < 2:
        return
    concerned = own or trusts
    names = ", ".join(each.cluster for each in mesh)
    said = "makes a certificate authority of its own" if own else "is given another certificate authority"
    yield rule.finding(
        f"each cluster of the mesh {said}: {names}",
        at=concerned[0].place,
        clusters=tuple(each.cluster for each in mesh),
        subject=mesh[0].agents.name,
        evidence=tuple(Evidence(each.why, each.place) for each in concerned),
        # A Secret of somebody's making may hold what the other side needs.
        severity=Severity.NOTE if all(each.secrets for each in mesh) else None,
        key="authorities",
    )


# Whether clusters can be told apart.


_IDENTITY = (
    ("", ("cluster", "id")), ("", ("cluster", "secret")), ("", ("cluster", "token")), ("", ("machine", "token")),
    ("DiscoveryIdentityConfig", ("clusterID",)), ("DiscoveryIdentityConfig", ("clusterSecret",)),
)  # fmt: skip
"""What Talos's machines know each other by."""


def shared_ids(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Two clusters whose Cilium has one name or one id."""
    mesh = {each.agents.cluster for each in cluster_mesh.members(scene)}
    for field in ("name", "id"):
        first: dict[str, tuple[str, Evidence]] = {}
        for cluster, component, value, place in _said(scene, field):
            # Cilium's defaults: a cluster that is in no mesh.
            if value in ("", "0", "default"):
                continue
            here = Evidence(f"{cluster}: cluster.{field} {value}", place)
            other, there = first.setdefault(value, (cluster, here))
            # Copies of one cluster, such as for tests, share the very line, and harm nobody outside of a mesh.
            if other != cluster and (there.place != place or {other, cluster} <= mesh):
                yield rule.finding(
                    f"cluster.{field} {value} of {cluster} is that of {other}, too",
                    at=place,
                    clusters=(cluster, other),
                    subject=component,
                    evidence=(there, here),
                    # Clusters that are in no mesh never meet.
                    severity=None if {other, cluster} <= mesh else Severity.NOTE,
                )


def _said(scene: PlatformView, field: str) -> Iterator[tuple[str, str, str, Place]]:
    """What each cluster is called, by the repo, or by the cluster where only that knows."""
    told: set[str] = set()
    for agents in cilium_settings.all_agents(scene):
        found = cilium_settings.said(scene, agents, "cluster", field)
        if found is not None:
            told.add(agents.cluster)
            yield agents.cluster, agents.name, str(found.value), found.place
    for cluster in scene.clusters:
        live = cilium_settings.live(scene, cluster.name, "cluster", field)
        if live and cluster.name not in told:
            yield cluster.name, "", live, Place(cluster.name)


def shared_identity(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Two clusters whose machines have one identity: Talos takes them for members of one cluster."""
    seen: dict[tuple[tuple[str, ...], str], tuple[Cluster, Place]] = {}
    found: dict[tuple[str, str], list[tuple[str, Place, Place]]] = {}
    for cluster in scene.clusters:
        for part in cluster.parts:
            for kind, steps in _IDENTITY:
                value = part.config.text(*steps) if part.kind == kind else ""
                # What a run fills in may differ.
                if not value or any(mark in value for mark in ("${", "{{", "<")):
                    continue
                other, there = seen.setdefault((steps, value), (cluster, part.config.place(*steps)))
                if other.name != cluster.name:
                    shared = found.setdefault((other.name, cluster.name), [])
                    shared.append((".".join(steps), there, part.config.place(*steps)))
    for (one, two), shared in found.items():
        names = tuple(dict.fromkeys(name for name, _, _ in shared))
        yield rule.finding(
            f"{one} and {two} have one {', '.join(names)}",
            at=shared[0][2],
            clusters=(one, two),
            evidence=tuple(
                dict.fromkeys(Evidence(name, at) for name, first, second in shared for at in (first, second))
            ),
            key=f"identity {one} {two}",
        )


# Whether clusters run versions that go together.


Told = tuple[tuple[int, int], str, str, Place, str]
"""The minor version, as it is written, its cluster, its place and its component."""


def mesh_versions_apart(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Cilium of one mesh in versions that were never tried together."""
    told: list[Told] = []
    for member in cluster_mesh.members(scene):
        version = next(
            (each.version for each in reversed(member.component.origins) if versions.minor_alone(each.version)), ""
        )
        minor = versions.minor_alone(version)
        if minor:
            place = next(each.place for each in member.component.origins if each.version == version)
            told.append((minor, version, member.cluster, place, member.agents.name))
    if not told:
        return
    low, high = min(told), max(told)
    if high[0][0] == low[0][0] and high[0][1] - low[0][1] > 1:
        yield rule.finding(
            f"Cilium {low[1]} in {low[2]} and {high[1]} in {high[2]} are one mesh",
            at=low[3],
            clusters=(low[2], high[2]),
            subject=low[4],
            evidence=_shown("Cilium", told),
            fix=f"Bring {low[2]} to 1.{high[0][1] - 1} at least, one minor version at a time.",
        )


def machine_versions_apart(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Talos or Kubernetes in several minor versions; each cluster is well by itself."""
    for what in ("talos", "kubernetes"):
        told: list[Told] = [
            (minor, getattr(each, what), each.name, each.said.get(what, each.place), "")
            for each in scene.clusters
            if (minor := versions.minor_alone(getattr(each, what)))
        ]
        if told and len({each[0] for each in told}) > 1:
            low, high = min(told), max(told)
            named = "Talos" if what == "talos" else "Kubernetes"
            yield rule.finding(
                f"{named} is {low[1]} in {low[2]} and {high[1]} in {high[2]}",
                at=low[3],
                clusters=tuple(each[2] for each in told),
                evidence=_shown(named, told),
                severity=Severity.NOTE,
            )


def _shown(what: str, told: list[Told]) -> tuple[Evidence, ...]:
    return tuple(Evidence(f"{cluster}: {what} {version}", place) for _, version, cluster, place, _ in told)
