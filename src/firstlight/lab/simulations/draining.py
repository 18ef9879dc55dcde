"""Cordon and drain, as Talos does it before a shutdown or a reset: by the kubelet's own credentials.

The node is cordoned, and every pod that is not a DaemonSet's or a mirror is evicted: disruption budgets are the real
API server's business. Talos takes its own cordon away when the machine is back.
"""

import contextlib

import msgspec

from firstlight.clients import kube
from firstlight.lab import mirror_pods
from firstlight.lab.simulations.world import MANAGER, Object, World


def must_go(pod: Object) -> bool:
    """Whether a drain evicts a pod."""
    metadata = pod["metadata"]
    owners = {owner["kind"] for owner in metadata.get("ownerReferences") or () if owner.get("controller")}
    is_over = pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    return mirror_pods.MIRROR not in (metadata.get("annotations") or {}) and "DaemonSet" not in owners and not is_over


async def drain(world: World, node: Object) -> bool:
    """Bring a node one step closer to being drained; whether it is."""
    name = node["metadata"]["name"]
    await set_unschedulable(world, node, wanted=True)
    left = [pod for pod in world.pods.values() if pod["spec"].get("nodeName") == name and must_go(pod)]
    for pod in left:
        if "deletionTimestamp" not in pod["metadata"]:
            await _evict(world, pod)
    return not left


async def set_unschedulable(world: World, node: Object, *, wanted: bool) -> None:
    """Cordon a node, or end that."""
    if bool(node["spec"].get("unschedulable", False)) != wanted:
        patch = {"spec": {"unschedulable": wanted or None}}
        world.put(world.nodes, await world.client.patch("v1", "Node", node["metadata"]["name"], patch, manager=MANAGER))


async def _evict(world: World, pod: Object) -> None:
    metadata = pod["metadata"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
    }
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
    # It went by itself, or a disruption budget says: not now.
    with contextlib.suppress(kube.NotFound, kube.TooManyRequests):
        await world.client.request("POST", path, body=msgspec.json.encode(eviction))
