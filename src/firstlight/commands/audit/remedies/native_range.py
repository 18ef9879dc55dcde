"""One range of native routing for all clusters of a mesh: wide enough for the pods of all, and no wider."""

from collections.abc import Iterator, Mapping, Sequence

from firstlight import errors
from firstlight.commands.audit import cluster_mesh, cluster_networks, rulebook
from firstlight.commands.audit.cluster_mesh import MeshMember
from firstlight.commands.audit.interview import Interview
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


def widen(scene: PlatformView, findings: Sequence[Finding], interview: Interview) -> Remedy:
    """How all clusters of the mesh get one range."""
    wide = wide_range(scene, interview, {})
    return Remedy(
        rule=findings[0].code if findings else _RULE,
        title="Route the pods of all clusters of the mesh natively",
        steps=tuple(widening(scene, wide)),
        edits=tuple(wider(scene, wide)),
    )


def wide_range(
    scene: PlatformView, interview: Interview, right: Mapping[str, tuple[AddressRange, Finding]]
) -> AddressRange | None:
    """The smallest network with the pods of all clusters, else the one that a person answers.

    Raises:
        errors.UsageError: The answer leaves out pods that are known, or holds machines or load balancers.
    """
    pods, is_whole = _pods(scene, right)
    found = address_range.together(pods) if is_whole else None
    if found and found.first != 0 and _bits(found) >= _WIDEST and not any(map(found.overlaps, _others(scene))):
        return found
    answer = interview.network(
        "range",
        "Which range holds the pods of all clusters and nothing else? The smallest common one is not known, or holds "
        "machines or load balancers, too",
    )
    if answer is None:
        return None
    left = address_range.uncovered(pods, [answer])
    if left:
        raise errors.UsageError(f"--answer range: {answer} does not hold the pods in {', '.join(map(str, left))}")
    if among := [each for each in _others(scene) if answer.overlaps(each)]:
        listed = ", ".join(map(str, among[:3]))
        raise errors.UsageError(
            f"--answer range: {answer} also holds {listed}, which are not pods",
            hint="Native routing would send traffic for them past the masquerade. Choose a narrower range.",
        )
    return answer


def _pods(scene: PlatformView, right: Mapping[str, tuple[AddressRange, Finding]]) -> tuple[list[AddressRange], bool]:
    """The pods of all clusters of the mesh, as far as they are known, and whether those of all are."""
    pods: list[AddressRange] = []
    is_whole = True
    for member in cluster_mesh.members(scene):
        if member.cluster in right:
            pods.append(right[member.cluster][0])
            continue
        cluster = scene.platform.cluster(member.cluster)
        sources = cluster_networks.pods(scene, cluster) if cluster else []
        stated = [each for each in sources if not each.is_bound]
        if not stated or any(not cluster_networks.agree(stated[0], each) for each in stated[1:]):
            is_whole = False
        else:
            pods += [each for each in stated[0].spans if each.version == 4]
    return pods, is_whole


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


def narrow_clusters(scene: PlatformView) -> set[str]:
    """The clusters whose range is too narrow."""
    return {name for each in rulebook.our_findings(_RULE, scene) for name in each.clusters}


def wider(scene: PlatformView, wide: AddressRange | None) -> Iterator[FileEdit]:
    """The range of each cluster that has one which is too narrow."""
    narrow = narrow_clusters(scene)
    for member in cluster_mesh.members(scene) if wide else ():
        given = scene.value(member.component, _FIELD)
        if member.cluster in narrow and given and given.layer.file:
            layer = given.layer
            path = (*layer.prefix, _FIELD)
            yield FileEdit(
                path=layer.file, verb=EditVerb.SET, steps=path, value=str(wide), document=layer.document
            )  # fmt: skip


def widening(scene: PlatformView, wide: AddressRange | None) -> Iterator[ProcedureStep]:
    """What has to be done where a range is too narrow."""
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


REMEDIES = {_RULE: widen}
