"""ClusterMesh connected through GitOps: one authority from a store, the values of each cluster, and their order."""

import dataclasses
from collections.abc import Iterator, Sequence

from firstlight.commands.audit import address_pins, cluster_mesh, cluster_networks, rulebook
from firstlight.commands.audit.cluster_mesh import MeshMember
from firstlight.commands.audit.remedies import mesh_authority
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.document import within
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.cluster import Cluster
from firstlight.model.component import Owner, Side, SourceForm
from firstlight.model.decision import ProcedureStep
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.repo import address_pools, gitops_tree
from firstlight.repo.chart_values import ValuesLayer
from firstlight.repo.platform_view import PlatformView

_PORT = 2379
_SERVICE = "clustermesh.apiserver.service"


@dataclasses.dataclass(frozen=True, slots=True)
class _Peer:
    """What the others have to know of a cluster."""

    member: MeshMember
    cluster: Cluster
    name: str
    address: str


def connect(scene: PlatformView, findings: Sequence[Finding] = ()) -> Remedy:
    """How the clusters of the mesh are connected by what the repo says."""
    peers = [
        _Peer(each, cluster, cluster_mesh.name(scene, each.agents), _address(scene, each))
        for each in cluster_mesh.members(scene)
        if (cluster := scene.platform.cluster(each.cluster))
    ]
    authority = mesh_authority.plan(scene, [each.member for each in peers])
    refused, questions = list(_refusals(scene)), [*_questions(scene, peers), *authority.questions]
    edits: list[FileEdit] = []
    if not refused:
        edits = [*_wider(scene), *authority.edits, *_values(scene, peers, authority.method)]
    return Remedy(
        rule=findings[0].code if findings else "mesh-not-connected",
        title=f"Connect {' and '.join(each.cluster.name for each in peers)} to one mesh, from the repo",
        steps=() if refused else tuple(_steps(scene, peers, authority)),
        edits=tuple(edits),
        refused=tuple(refused),
        open_questions=() if refused else tuple(dict.fromkeys(questions)),
    )


def _address(scene: PlatformView, member: MeshMember) -> str:
    """The address that the mesh's API server is pinned to."""
    for pin in address_pins.pins(scene, member.cluster):
        if pin.component == member.agents.name and pin.who.endswith(_SERVICE):
            return str(pin.address)
    return ""


def _refusals(scene: PlatformView) -> Iterator[str]:
    """What no connection can work with."""
    for finding in (
        *rulebook.our_findings("cluster-id-shared", scene),
        *rulebook.our_findings("cluster-id-missing", scene),
    ):
        yield f"{finding.message}: give each cluster a name and an id first; its workloads restart for it"
    mesh = {each.cluster for each in cluster_mesh.members(scene)}
    for finding in rulebook.our_findings("ranges-overlap", scene):
        if len(finding.clusters) > 1 and finding.severity is Severity.ERROR and set(finding.clusters) <= mesh:
            yield f"{finding.message}: one of the clusters has to be built anew with other ranges first"


def _questions(scene: PlatformView, peers: Sequence[_Peer]) -> Iterator[str]:
    for each in peers:
        if not each.address:
            yield (
                f"At which address do others reach the mesh's API server of {each.cluster.name}? "
                f"Pin it: {_SERVICE} with type LoadBalancer and the annotation lbipam.cilium.io/ips"
            )
    for each in peers:
        if not _layers(scene, each.member):
            yield f"Where are Cilium's values of {each.cluster.name}? No file of the repo gives its clustermesh"
    for each in peers:
        yield from gitops_tree.shared(scene, each.cluster)
    if _share_files(scene, peers):
        yield (
            "Which variable names the other cluster? The clusters share one file of values: "
            "write clustermesh.config.clusters with variables that each cluster fills in"
        )
    mesh = {each.cluster.name for each in peers}
    for finding in rulebook.our_findings("pod-range-differs", scene):
        if finding.severity is Severity.ERROR and mesh & set(finding.clusters):
            yield f"Which range is right? {finding.message} ({finding.place})"


def _layers(scene: PlatformView, member: MeshMember) -> list[ValuesLayer]:
    """The files with its mesh, one for each half: bootstrap's and GitOps' must stay equal."""
    found: list[ValuesLayer] = []
    for side in (Side.BOOTSTRAP, Side.GITOPS):
        mine = [each for each in scene.values(member.component, side) if each.file and "clustermesh" in each.value]
        found += mine[-1:]
    return found


def _share_files(scene: PlatformView, peers: Sequence[_Peer]) -> bool:
    files = [name for peer in peers for name in {each.file for each in _layers(scene, peer.member)}]
    return len(files) != len(set(files))


def _values(scene: PlatformView, peers: Sequence[_Peer], method: str) -> Iterator[FileEdit]:
    """The values of each cluster; nothing where one is not known, for half a mesh helps nobody."""
    if _share_files(scene, peers) or not all(each.address and _layers(scene, each.member) for each in peers):
        return
    for peer in peers:
        others = [{"name": each.name, "ips": [each.address], "port": _PORT} for each in peers if each.name != peer.name]
        for layer in _layers(scene, peer.member):
            values: list[tuple[tuple[str, ...], object]] = [
                (("useAPIServer",), True), (("config", "enabled"), True), (("config", "clusters"), others),
            ]  # fmt: skip
            if method == "certmanager":
                auto = ("apiserver", "tls", "auto")
                values += [
                    ((*auto, "enabled"), True),
                    ((*auto, "method"), method),
                    ((*auto, "certManagerIssuerRef"), mesh_authority.ISSUER),
                ]
            for path, value in values:
                if within.at(layer.value, "clustermesh", *path) != value:
                    steps = (*layer.prefix, "clustermesh", *path)
                    yield FileEdit(
                        path=layer.file, verb=EditVerb.SET, steps=steps, value=value, document=layer.document
                    )  # fmt: skip


def _steps(
    scene: PlatformView, peers: Sequence[_Peer], authority: mesh_authority.MeshAuthorityPlan
) -> Iterator[ProcedureStep]:
    mesh = {each.cluster.name for each in peers}
    pinned = {pin.place for name in mesh for pin in address_pins.pins(scene, name) if pin.who.endswith(_SERVICE)}
    for finding in rulebook.our_findings("pin-outside-pool", scene):
        if set(finding.clusters) <= mesh and finding.place in pinned:
            yield ProcedureStep(
                side=Side.GITOPS,
                text=f"First let a pool have it: {finding.message}",
                command="firstlight audit --remedy pin-outside-pool",
            )
    yield from _widening(scene)
    yield from authority.steps
    for peer in peers:
        for item in peer.member.secrets:
            yield ProcedureStep(
                side=Side.GITOPS,
                text=f"Take {item.object.id} ({item.object.place}) out of {peer.cluster.name}: "
                "from now on the chart writes that Secret",
            )
    for peer in peers:
        yield _rolling(peer)
        yield ProcedureStep(
            side=None,
            text=f"See that the API server of the mesh has its address {peer.address}".rstrip(),
            command=f"kubectl --context {peer.cluster.name} --namespace kube-system get service clustermesh-apiserver",
        )
    for peer in peers:
        yield ProcedureStep(
            side=None,
            text=f"See that {peer.cluster.name} has found the others",
            command=f"cilium clustermesh status --context {peer.cluster.name} --wait",
        )
    hands = [
        str(each.place)
        for finding in rulebook.our_findings("mesh-by-hand", scene)
        for each in finding.evidence[len(finding.clusters) :]
    ]
    if hands:
        yield ProcedureStep(side=None, text=f"Take away what says that it is done by hand: {', '.join(hands)}")


def _rolling(peer: _Peer) -> ProcedureStep:
    """Who brings the values: where bootstrap owns Cilium, GitOps cannot."""
    cluster, component = peer.cluster.name, peer.member.component
    if component.owner is Owner.GITOPS:
        return ProcedureStep(
            side=Side.GITOPS, text=f"Push the values of {cluster} and let GitOps bring them: its agents roll"
        )
    command = f"firstlight up {cluster}"
    for origin in component.origins:
        if origin.form is SourceForm.HELMFILE:
            command = f"helmfile --file {origin.place.path} --environment {cluster} --selector name={origin.name} apply"
    return ProcedureStep(
        side=Side.BOOTSTRAP,
        text=f"Bring the values of {cluster}, one cluster at a time: Cilium is bootstrap's there, and its agents roll",
        command=command,
    )


# One range of native routing for all clusters of a mesh: wide enough for the pods of all, and no wider.


_WIDEST = 8
_FIELD = "ipv4NativeRoutingCIDR"
_RULE = "native-routing-too-narrow"


def widen(scene: PlatformView, findings: Sequence[Finding] = ()) -> Remedy:
    """How all clusters of the mesh get one range."""
    made = tuple(_wider(scene))
    asks = () if made else (_which_range(scene),)
    return Remedy(
        rule=findings[0].code if findings else _RULE,
        title="Route the pods of all clusters of the mesh natively",
        steps=tuple(_widening(scene)),
        edits=made,
        open_questions=asks,
    )


def common_range(scene: PlatformView) -> AddressRange | None:
    """The smallest network with the pods of all clusters; None where it is not known, or would hold others too."""
    pods: list[AddressRange] = []
    for member in cluster_mesh.members(scene):
        cluster = scene.platform.cluster(member.cluster)
        sources = cluster_networks.pods(scene, cluster) if cluster else []
        stated = [each for each in sources if not each.is_bound]
        if not stated or any(not cluster_networks.agree(stated[0], each) for each in stated[1:]):
            return None
        pods += [each for each in stated[0].spans if each.version == 4]
    found = address_range.together(pods)
    if found is None or any(found.overlaps(each) for each in _others(scene)):
        return None
    return found if found.first != 0 and _bits(found) >= _WIDEST else None


def _bits(span: AddressRange) -> int:
    return 32 - (span.last - span.first).bit_length()


def _others(scene: PlatformView) -> Iterator[AddressRange]:
    """Machines and load balancers, which are not routed as pods are."""
    for cluster in scene.clusters:
        for each in (*(one.address.partition("/")[0] for one in cluster.machines), cluster.network.vip):
            if found := address_range.address(each):
                yield found
        for pool in address_pools.pools(scene, cluster.name):
            yield from pool.blocks


def _wider(scene: PlatformView) -> Iterator[FileEdit]:
    """The range of each cluster that has one which is too narrow."""
    wide = common_range(scene)
    narrow = {name for each in rulebook.our_findings(_RULE, scene) for name in each.clusters}
    for member in cluster_mesh.members(scene) if wide else ():
        given = scene.value(member.component, _FIELD)
        if member.cluster in narrow and given and given.layer.file:
            layer = given.layer
            path = (*layer.prefix, _FIELD)
            yield FileEdit(
                path=layer.file, verb=EditVerb.SET, steps=path, value=str(wide), document=layer.document
            )  # fmt: skip


def _widening(scene: PlatformView) -> Iterator[ProcedureStep]:
    """What has to be done where a range is too narrow."""
    wide = common_range(scene)
    said = f"to {wide}" if wide else "to all pods of the mesh"
    for each in rulebook.our_findings(_RULE, scene):
        yield ProcedureStep(
            side=_side(scene, each.clusters[0]),
            text=f"Widen the range in {each.place} {said}, and let the agents of {each.clusters[0]} roll: "
            f"{each.message}",
        )


def _side(scene: PlatformView, cluster: str) -> Side:
    found: MeshMember | None = next((each for each in cluster_mesh.members(scene) if each.cluster == cluster), None)
    return Side.BOOTSTRAP if found and found.component.halves[0] else Side.GITOPS


def _which_range(scene: PlatformView) -> str:
    return (
        "Which range holds the pods of all clusters and nothing else? The smallest common one is not known, or holds "
        "machines or load balancers, too"
    )


REMEDIES = {
    "mesh-not-connected": connect, "mesh-by-hand": connect, "mesh-own-authorities": connect, _RULE: widen,
}  # fmt: skip
