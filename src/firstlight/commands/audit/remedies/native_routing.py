"""One range of native routing for all clusters of a mesh: wide enough for the pods of all, and no wider."""

from collections.abc import Iterator, Sequence

from firstlight.commands.audit import cluster_mesh, cluster_networks, rulebook
from firstlight.commands.audit.cluster_mesh import MeshMember
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.component import Side
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.repo import address_pools
from firstlight.repo.platform_view import PlatformView

_WIDEST = 8
_FIELD = "ipv4NativeRoutingCIDR"
_RULE = "native-routing-too-narrow"


def widen(scene: PlatformView, findings: Sequence[Finding] = ()) -> Remedy:
    """How all clusters of the mesh get one range."""
    made = tuple(edits(scene))
    asks = () if made else (_question(scene),)
    return Remedy(
        rule=findings[0].code if findings else _RULE,
        title="Route the pods of all clusters of the mesh natively",
        steps=tuple(steps(scene)),
        edits=made,
        open_questions=asks,
    )


def common(scene: PlatformView) -> AddressRange | None:
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


def edits(scene: PlatformView) -> Iterator[FileEdit]:
    """The range of each cluster that has one which is too narrow."""
    wide = common(scene)
    narrow = {name for each in rulebook.our_findings(_RULE, scene) for name in each.clusters}
    for member in cluster_mesh.members(scene) if wide else ():
        given = scene.value(member.component, _FIELD)
        if member.cluster in narrow and given and given.layer.file:
            layer = given.layer
            path = (*layer.prefix, _FIELD)
            yield FileEdit(
                path=layer.file, verb=EditVerb.SET, steps=path, value=str(wide), document=layer.document
            )  # fmt: skip


def steps(scene: PlatformView) -> Iterator[ProcedureStep]:
    """What has to be done where a range is too narrow."""
    wide = common(scene)
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


def _question(scene: PlatformView) -> str:
    return (
        "Which range holds the pods of all clusters and nothing else? The smallest common one is not known, or holds "
        "machines or load balancers, too"
    )


REMEDIES = {_RULE: widen}
