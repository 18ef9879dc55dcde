"""What happens to storage when a node goes: Ceph's OSDs and monitors, Longhorn's replicas, volumes of one node alone.

A copy that is away for the time of a reboot is no loss. The last healthy copy is: whoever wants that must say so.
"""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.document import conditions
from firstlight.document.within import mapping, sequence, text
from firstlight.execute.world import World
from firstlight.model.diagnostic import Diagnostic, Severity

Objects = Sequence[Mapping[str, Any]]
_HOST = "kubernetes.io/hostname"
_HURT = ("PG_AVAILABILITY", "PG_DEGRADED", "PG_DAMAGED", "OSD_DOWN", "OSD_HOST_DOWN", "MON_DOWN", "OBJECT_UNFOUND")
"""What Ceph calls it when copies are missing already."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeVolumes:
    """The objects of a cluster that tell where its data is; kinds that it does not have are empty."""

    pods: Objects = ()
    """All pods of Ceph, on all nodes."""
    ceph_clusters: Objects = ()
    longhorn_replicas: Objects = ()
    longhorn_volumes: Objects = ()
    volumes: Objects = ()
    """PersistentVolumes."""


def concerns(node: str, stored: NodeVolumes) -> tuple[Diagnostic, ...]:
    """What becomes of data while a node is away, the heaviest first."""
    found = [*_ceph(node, stored), *_longhorn(node, stored), *_local(node, stored.volumes)]
    return tuple(sorted(found, key=lambda each: -each.severity.rank))


def _ceph(node: str, stored: NodeVolumes) -> Iterator[Diagnostic]:
    yield from _osds(node, stored)
    monitors = [each for each in stored.pods if _app(each) == "rook-ceph-mon"]
    here = [each for each in monitors if _on(each, node)]
    if not here:
        return
    stay = sum(_is_ready(each) and not _on(each, node) for each in monitors)
    needed = len(monitors) // 2 + 1
    if stay < needed:
        yield Diagnostic(
            code="ceph-monitor-quorum-at-risk",
            severity=Severity.ERROR if len(monitors) > 1 else Severity.WARNING,
            message=f"Ceph would have {stay} of {len(monitors)} monitors, and needs {needed}: its volumes would stop",
        )


def _osds(node: str, stored: NodeVolumes) -> Iterator[Diagnostic]:
    osds = [each for each in stored.pods if _app(each) == "rook-ceph-osd"]
    here = [each for each in osds if _on(each, node)]
    if not here:
        return
    ids = ", ".join(sorted(text(each, "metadata", "labels", "ceph-osd-id") or "?" for each in here))
    what = f"OSD{'s' if len(here) > 1 else ''} {ids} of Ceph {'are' if len(here) > 1 else 'is'} on {node}"
    if len(here) == len(osds):
        message = f"{what}, and no other is anywhere: all of its volumes would stop"
        yield Diagnostic.error("ceph-osds-on-one-node", message)
    for each in stored.ceph_clusters:
        health, name = text(each, "status", "ceph", "health"), text(each, "metadata", "name")
        details = mapping(each, "status", "ceph", "details")
        hurt = [one for one in _HURT if one in details]
        if health == "HEALTH_ERR" or hurt:
            why = f" ({', '.join(hurt)})" if hurt else ""
            said = f"{what}, and Ceph {name} is {health}{why}: copies are missing already"
            yield Diagnostic.error("ceph-degraded", said)
        elif health == "HEALTH_OK":
            yield Diagnostic.note("ceph-osds-go", f"{what}; Ceph {name} is {health}")
        else:
            why = f" ({', '.join(sorted(details))})" if details else ""
            message = f"{what}, and Ceph {name} is {health or 'of unknown health'}{why}"
            yield Diagnostic.warning("ceph-not-healthy", message)


def _longhorn(node: str, stored: NodeVolumes) -> Iterator[Diagnostic]:
    healthy = [each for each in stored.longhorn_replicas if _is_healthy(each)]
    names = {text(each, "metadata", "name"): _claim(each) for each in stored.longhorn_volumes}
    here = sorted({_volume(each) for each in healthy if text(each, "spec", "nodeID") == node})
    elsewhere = {_volume(each) for each in healthy if text(each, "spec", "nodeID") != node}
    for volume in here:
        if volume not in elsewhere:
            name = names.get(volume) or volume
            said = f"the only healthy replica of the Longhorn volume {name} is on {node}"
            yield Diagnostic.error("longhorn-last-replica", said)
    if kept := [each for each in here if each in elsewhere]:
        many, keep = ("1 Longhorn volume", "keeps") if len(kept) == 1 else (f"{len(kept)} Longhorn volumes", "keep")
        said = f"{many} with a replica on {node} {keep} another healthy one"
        yield Diagnostic.note("longhorn-replicas-go", said)


def _local(node: str, volumes: Objects) -> Iterator[Diagnostic]:
    bound = [each for each in volumes if text(each, "status", "phase") == "Bound" and _hosts(each) == {node}]
    for each in bound:
        claim = f"{text(each, 'spec', 'claimRef', 'namespace')}/{text(each, 'spec', 'claimRef', 'name')}"
        said = f"the volume of {claim} is on {node} alone: its pods wait until that is back"
        yield Diagnostic.warning("volume-on-one-node", said)


def _hosts(volume: Mapping[str, Any]) -> set[str]:
    """The nodes that a volume can be used on, where it names them; empty for one that can be used anywhere."""
    found: set[str] = set()
    for term in sequence(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms"):
        hosts = [
            set(sequence(each, "values"))
            for each in sequence(term, "matchExpressions")
            if text(each, "key") == _HOST and text(each, "operator") == "In"
        ]
        if not hosts:
            return set()
        found |= set.intersection(*hosts)
    return found


def _is_healthy(replica: Mapping[str, Any]) -> bool:
    return bool(text(replica, "spec", "healthyAt")) and not text(replica, "spec", "failedAt")


def _volume(replica: Mapping[str, Any]) -> str:
    return text(replica, "spec", "volumeName")


def _claim(volume: Mapping[str, Any]) -> str:
    claim = mapping(volume, "status", "kubernetesStatus")
    namespace, name = text(claim, "namespace"), text(claim, "pvcName")
    return f"{namespace}/{name}" if name else ""


def _app(pod: Mapping[str, Any]) -> str:
    return text(pod, "metadata", "labels", "app")


def _on(pod: Mapping[str, Any], node: str) -> bool:
    return text(pod, "spec", "nodeName") == node


def _is_ready(pod: Mapping[str, Any]) -> bool:
    return text(conditions.condition(pod, "Ready"), "status") == "True"


# A replica of Longhorn 1.9 that is healthy, and what Rook tells of a Ceph that is not quite well:
#
# spec: {nodeID: worker-1, volumeName: pvc-2f…, healthyAt: "2026-11-16T06:39:20Z", failedAt: "", desireState: running}
#
# status:
#   ceph:
#     health: HEALTH_WARN
#     details: {POOL_NO_REDUNDANCY: {message: 1 pool(s) have no replicas configured, severity: HEALTH_WARN}}


# What a cluster's storage says of a node that is to go, asked of the API.


_CEPH = "app in (rook-ceph-osd,rook-ceph-mon)"


async def storage_concerns(node: str, world: World) -> tuple[Diagnostic, ...]:
    """What becomes of data while a node is away, the heaviest first; kinds that are not there are no concern."""
    pods, ceph, replicas, longhorn, volumes = await asyncio.gather(
        _listed(world, "v1", "Pod", labels=_CEPH),
        _listed(world, "ceph.rook.io/v1", "CephCluster"),
        _listed(world, "longhorn.io/v1beta2", "Replica"),
        _listed(world, "longhorn.io/v1beta2", "Volume"),
        _listed(world, "v1", "PersistentVolume"),
    )
    stored = NodeVolumes(
        pods=pods, ceph_clusters=ceph, longhorn_replicas=replicas, longhorn_volumes=longhorn, volumes=volumes
    )
    return concerns(node, stored)


async def _listed(world: World, api_version: str, kind: str, *, labels: str = "") -> Objects:
    try:
        return (await world.kube.list(api_version, kind, labels=labels)).items
    except (kube.UnknownKind, kube.NotFound):
        return ()
