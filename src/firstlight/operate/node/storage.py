"""What a cluster's storage says of a node that is to go, asked of the API."""

import asyncio

from firstlight.clients import kube
from firstlight.execute.world import World
from firstlight.gates import node_storage as gate
from firstlight.gates.node_storage import Objects, Stored
from firstlight.model.draining import Concern

_CEPH = "app in (rook-ceph-osd,rook-ceph-mon)"


async def concerns(node: str, world: World) -> tuple[Concern, ...]:
    """What becomes of data while a node is away, the heaviest first; kinds that are not there are no concern."""
    pods, ceph, replicas, longhorn, volumes = await asyncio.gather(
        _listed(world, "v1", "Pod", labels=_CEPH),
        _listed(world, "ceph.rook.io/v1", "CephCluster"),
        _listed(world, "longhorn.io/v1beta2", "Replica"),
        _listed(world, "longhorn.io/v1beta2", "Volume"),
        _listed(world, "v1", "PersistentVolume"),
    )
    stored = Stored(
        pods=pods, ceph_clusters=ceph, longhorn_replicas=replicas, longhorn_volumes=longhorn, volumes=volumes
    )
    return gate.concerns(node, stored)


async def _listed(world: World, api_version: str, kind: str, *, labels: str = "") -> Objects:
    try:
        return (await world.kube.list(api_version, kind, labels=labels)).items
    except (kube.UnknownKind, kube.NotFound):
        return ()
