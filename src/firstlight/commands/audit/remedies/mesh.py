"""ClusterMesh connected through GitOps: one authority from a store, the values of each cluster, and their order."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from firstlight.commands.audit import address_pins, cluster_mesh, rulebook
from firstlight.commands.audit.cluster_mesh import MeshMember
from firstlight.commands.audit.interview import AnswerForm, Interview
from firstlight.commands.audit.remedies import mesh_authority, native_range
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.document import within
from firstlight.model.address_range import AddressRange
from firstlight.model.cluster import Cluster
from firstlight.model.component import Owner, Side, SourceForm
from firstlight.model.decision import ProcedureStep
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.repo.chart_values import ValuesLayer
from firstlight.repo.platform_view import PlatformView

_PORT = 2379
_SERVICE = "clustermesh.apiserver.service"
_ADDRESS_ANNOTATION = "lbipam.cilium.io/ips"


@dataclasses.dataclass(frozen=True, slots=True)
class _Peer:
    """What the others have to know of a cluster."""

    member: MeshMember
    cluster: Cluster
    name: str
    address: str
    is_pinned: bool
    """Whether the repo says the address already."""


def connect(scene: PlatformView, findings: Sequence[Finding], interview: Interview) -> Remedy:
    """How the clusters of the mesh are connected by what the repo says."""
    peers = [
        _peer(scene, each, cluster, interview)
        for each in cluster_mesh.members(scene)
        if (cluster := scene.platform.cluster(each.cluster))
    ]
    refused = list(_refusals(scene))
    _ask(scene, peers, interview)
    right = _right_ranges(scene, peers, interview)
    wide = native_range.wide_range(scene, interview, right) if native_range.narrow_clusters(scene) else None
    authority = mesh_authority.plan(scene, [each.member for each in peers], interview)
    edits: list[FileEdit] = []
    if not refused:
        edits = [*native_range.wider(scene, wide), *authority.edits, *_values(scene, peers, authority.method)]
    return Remedy(
        rule=findings[0].code if findings else "mesh-not-connected",
        title=f"Connect {' and '.join(each.cluster.name for each in peers)} to one mesh, from the repo",
        steps=() if refused else tuple(_steps(scene, peers, authority, wide=wide, right=right)),
        edits=tuple(edits),
        refused=tuple(refused),
    )


def _peer(scene: PlatformView, member: MeshMember, cluster: Cluster, interview: Interview) -> _Peer:
    pinned = _address(scene, member)
    question = (
        f"At which address do others reach the mesh's API server of {cluster.name}? "
        f"Pin it: {_SERVICE} with type LoadBalancer and the annotation {_ADDRESS_ANNOTATION}"
    )
    address = pinned or interview.ask(f"address.{cluster.name}", question, AnswerForm.ADDRESS)
    return _Peer(member, cluster, cluster_mesh.name(scene, member.agents), address, is_pinned=bool(pinned))


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


def _ask(scene: PlatformView, peers: Sequence[_Peer], interview: Interview) -> None:
    """Ask for what no answer on the command line can say: it has to be in the repo."""
    for each in peers:
        if not _layers(scene, each.member):
            interview.tell(
                f"Where are Cilium's values of {each.cluster.name}? No file of the repo gives its clustermesh"
            )
    if _share_files(scene, peers):
        interview.tell(
            "Which variable names the other cluster? The clusters share one file of values: "
            "write clustermesh.config.clusters with variables that each cluster fills in"
        )


def _right_ranges(
    scene: PlatformView, peers: Sequence[_Peer], interview: Interview
) -> Mapping[str, tuple[AddressRange, Finding]]:
    """The pods of clusters about which the repo contradicts itself, as a person answers; by cluster."""
    mesh = {each.cluster.name for each in peers}
    found: dict[str, tuple[AddressRange, Finding]] = {}
    for finding in rulebook.our_findings("pod-range-differs", scene):
        for cluster in finding.clusters if finding.severity is Severity.ERROR else ():
            question = f"Which range is right? {finding.message} ({finding.place})"
            if cluster in mesh and (answer := interview.network(f"pods.{cluster}", question)):
                found[cluster] = (answer, finding)
    return found


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
            if not peer.is_pinned:
                service = ("apiserver", "service")
                values += [
                    ((*service, "type"), "LoadBalancer"),
                    ((*service, "annotations", _ADDRESS_ANNOTATION), peer.address),
                ]
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
    scene: PlatformView,
    peers: Sequence[_Peer],
    authority: mesh_authority.MeshAuthorityPlan,
    *,
    wide: AddressRange | None,
    right: Mapping[str, tuple[AddressRange, Finding]],
) -> Iterator[ProcedureStep]:
    for cluster, (answer, finding) in right.items():
        yield ProcedureStep(
            side=Side.BOOTSTRAP,
            text=f"Write {answer} for the pods of {cluster} wherever another range stands: {finding.message} "
            f"({finding.place}); nodes that have addresses of another range are built anew",
        )
    mesh = {each.cluster.name for each in peers}
    pinned = {pin.place for name in mesh for pin in address_pins.pins(scene, name) if pin.who.endswith(_SERVICE)}
    for finding in rulebook.our_findings("pin-outside-pool", scene):
        if set(finding.clusters) <= mesh and finding.place in pinned:
            yield ProcedureStep(
                side=Side.GITOPS,
                text=f"First let a pool have it: {finding.message}",
                command="firstlight audit --remedy pin-outside-pool",
            )
    yield from native_range.widening(scene, wide)
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


REMEDIES = {"mesh-not-connected": connect, "mesh-by-hand": connect, "mesh-own-authorities": connect}
