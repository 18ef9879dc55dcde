"""One range of native routing for all clusters of a mesh: wide enough for the pods of all, and no wider."""

from collections.abc import Iterator, Sequence

from firstlight.model.component import Side
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import Edit, EditVerb, Finding
from firstlight.model.remedy import Remedy
from firstlight.policy.auditing import address_pools, meshes, networks, spans
from firstlight.policy.auditing.checks import ranges
from firstlight.policy.auditing.meshes import Member
from firstlight.policy.auditing.scene import Scene
from firstlight.policy.auditing.spans import Span

_WIDEST = 8
_FIELD = "ipv4NativeRoutingCIDR"


def widen(scene: Scene, findings: Sequence[Finding] = ()) -> Remedy:
    """How all clusters of the mesh get one range."""
    made = tuple(edits(scene))
    asks = () if made else (_question(scene),)
    return Remedy(
        rule=findings[0].rule if findings else "native-routing-too-narrow",
        title="Route the pods of all clusters of the mesh natively",
        steps=tuple(steps(scene)),
        edits=made,
        open_questions=asks,
    )


def common(scene: Scene) -> Span | None:
    """The smallest network with the pods of all clusters; None where it is not known, or would hold others too."""
    pods: list[Span] = []
    for member in meshes.members(scene):
        cluster = scene.platform.cluster(member.cluster)
        sources = networks.pods(scene, cluster) if cluster else []
        stated = [each for each in sources if not each.is_bound]
        if not stated or any(not networks.agree(stated[0], each) for each in stated[1:]):
            return None
        pods += [each for each in stated[0].spans if each.version == 4]
    found = spans.together(pods)
    if found is None or any(found.overlaps(each) for each in _others(scene)):
        return None
    return found if found.first != 0 and _bits(found) >= _WIDEST else None


def _bits(span: Span) -> int:
    return 32 - (span.last - span.first).bit_length()


def _others(scene: Scene) -> Iterator[Span]:
    """Machines and load balancers, which are not routed as pods are."""
    for cluster in scene.clusters:
        for each in (*(one.address.partition("/")[0] for one in cluster.machines), cluster.network.vip):
            if found := spans.address(each):
                yield found
        for pool in address_pools.pools(scene, cluster.name):
            yield from pool.blocks


def edits(scene: Scene) -> Iterator[Edit]:
    """The range of each cluster that has one which is too narrow."""
    wide = common(scene)
    narrow = {name for hit in ranges.native_routing(scene) for name in hit.clusters}
    for member in meshes.members(scene) if wide else ():
        given = scene.value(member.component, _FIELD)
        if member.cluster in narrow and given and given.layer.file:
            layer = given.layer
            path = (*layer.prefix, _FIELD)
            yield Edit(
                path=layer.file, verb=EditVerb.SET, steps=path, value=str(wide), document=layer.document
            )  # fmt: skip


def steps(scene: Scene) -> Iterator[ProcedureStep]:
    """What has to be done where a range is too narrow."""
    wide = common(scene)
    said = f"to {wide}" if wide else "to all pods of the mesh"
    for hit in ranges.native_routing(scene):
        yield ProcedureStep(
            side=_side(scene, hit.clusters[0]),
            text=f"Widen the range in {hit.place} {said}, and let the agents of {hit.clusters[0]} roll: {hit.message}",
        )


def _side(scene: Scene, cluster: str) -> Side:
    found: Member | None = next((each for each in meshes.members(scene) if each.cluster == cluster), None)
    return Side.BOOTSTRAP if found and found.component.halves[0] else Side.GITOPS


def _question(scene: Scene) -> str:
    return (
        "Which range holds the pods of all clusters and nothing else? The smallest common one is not known, or holds "
        "machines or load balancers, too"
    )


REMEDIES = {"native-routing-too-narrow": widen}
