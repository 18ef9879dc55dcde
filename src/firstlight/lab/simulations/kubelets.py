"""What kubelets and CNI agents write: nodes register, the network comes with a CNI pod, pods get their sandboxes.

kwok writes the rest of the status (see stages.yaml). A CNI pod is one that mounts the host's /etc/cni/net.d; once it
is ready, its node has a network, and keeps it when the pod is replaced, as the file that it wrote stays.
"""

import asyncio
import contextlib
import datetime
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import nodes
from firstlight.lab.simulations.world import MANAGER, Object, World, condition, is_ready, key

WHAT = "nodes register, CNI agents report, pods get sandboxes"

CNI_DIRECTORY = "/etc/cni/net.d"
AGENTS = {
    # label of the agent's pods: (reason of NetworkUnavailable=False, taint that goes when the agent is ready)
    ("k8s-app", "cilium"): ("CiliumIsUp", "node.cilium.io/agent-not-ready"),
    ("app", "flannel"): ("FlannelIsUp", ""),
    ("k8s-app", "calico-node"): ("CalicoIsUp", ""),
}


async def run(world: World) -> None:
    """Register the declared nodes, then follow nodes, pods and definitions."""
    await _register(world)
    await _wait_for_default_account(world)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_follow(world, "v1", "Node"))
        tasks.create_task(_follow(world, "v1", "Pod"))
        tasks.create_task(_follow(world, "apiextensions.k8s.io/v1", "CustomResourceDefinition"))
        tasks.create_task(_act(world))


async def _register(world: World) -> None:
    listing = await world.client.list("v1", "Node")
    present = {each["metadata"]["name"] for each in listing.items}
    declared = {node.name: node for node in world.settings.nodes}
    for name, node in declared.items():
        if name not in present:
            await world.client.create(nodes.manifest(node), manager=nodes.MANAGER)
    for each in listing.items:
        mine = each["metadata"].get("annotations", {}).get("kwok.x-k8s.io/node") == "fake"
        if mine and each["metadata"]["name"] not in declared:
            await world.client.delete("v1", "Node", each["metadata"]["name"])


async def _wait_for_default_account(world: World) -> None:
    """The first pods of a lab are refused without it; the controller manager makes it within a second."""
    async with contextlib.aclosing(world.client.watch("v1", "ServiceAccount", namespace="default")) as events:
        async for event in events:
            if isinstance(event, kube.Added | kube.Modified) and event.object["metadata"]["name"] == "default":
                return


async def _follow(world: World, api_version: str, kind: str) -> None:
    stores: dict[str, tuple[str, dict[Any, Object]]] = {
        "Node": ("nodes", world.nodes),
        "Pod": ("pods", world.pods),
        "CustomResourceDefinition": ("definitions", world.definitions),
    }
    what, store = stores[kind]
    async for event in world.client.watch(api_version, kind):
        if isinstance(event, kube.Synced):
            world.start(what)
        else:
            name = key(event.object) if kind == "Pod" else event.object["metadata"]["name"]
            gone = isinstance(event, kube.Deleted) or (
                kind == "CustomResourceDefinition" and condition(event.object, "Established") != "True"
            )
            if gone:
                store.pop(name, None)
            else:
                store[name] = event.object
        await world.notify()


async def _act(world: World) -> None:
    """Bring nodes and pods to where a kubelet would have them."""
    async for _ in world.changes():
        for pod in list(world.pods.values()):
            node = world.nodes.get(pod["spec"].get("nodeName", ""))
            if node is None or "deletionTimestamp" in pod["metadata"]:
                continue
            if is_cni(pod) and is_ready(pod):
                with world.forgiving(f"network of {node['metadata']['name']}"):
                    await _network_up(world, node, pod)
            if _wants_sandbox(pod) and has_network(node):
                with world.forgiving(f"sandbox of {key(pod)}"):
                    await _patch_pod(world, pod, "PodReadyToStartContainers")
            elif _lost_ready(pod) and is_ready(node):
                with world.forgiving(f"readiness of {key(pod)}"):
                    await _patch_pod(world, pod, "Ready")


def is_cni(pod: Object) -> bool:
    """Whether a pod brings the node its network."""
    volumes = pod["spec"].get("volumes", ())
    paths = [volume.get("hostPath", {}).get("path", "") for volume in volumes]
    return any(path.rstrip("/") == CNI_DIRECTORY for path in paths)


def has_network(node: Object) -> bool:
    """Whether a CNI agent has been ready on the node."""
    annotations: dict[str, str] = node["metadata"].get("annotations", {})
    return annotations.get(nodes.NETWORK_ANNOTATION) == "ready"


def _wants_sandbox(pod: Object) -> bool:
    return condition(pod, "PodReadyToStartContainers") == "False" and pod["status"].get("phase") == "Pending"


def _lost_ready(pod: Object) -> bool:
    """The controller manager takes Ready from pods of a node that is lost; a kubelet that is back gives it again."""
    running = pod["status"].get("phase") == "Running"
    return running and condition(pod, "Ready") == "False" and condition(pod, "ContainersReady") == "True"


async def _patch_pod(world: World, pod: Object, kind: str) -> None:
    namespace, name = key(pod)
    patch = {"status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": _now()}]}}
    world.pods[key(pod)] = await world.client.patch(
        "v1", "Pod", name, patch, form="strategic", manager=MANAGER, namespace=namespace, subresource="status"
    )


async def _network_up(world: World, node: Object, pod: Object) -> None:
    name = node["metadata"]["name"]
    if not has_network(node):
        patch = {"metadata": {"annotations": {nodes.NETWORK_ANNOTATION: "ready"}}}
        node = await world.client.patch("v1", "Node", name, patch, form="merge", manager=MANAGER)
    labels = pod["metadata"].get("labels", {})
    for label, (reason, taint) in AGENTS.items():
        if label in labels.items():
            node = await _agent_writes(world, node, reason=reason, taint=taint)
            if reason == "CiliumIsUp":
                await _cilium_node(world, node)
    world.nodes[name] = node


async def _agent_writes(world: World, node: Object, *, reason: str, taint: str) -> Object:
    name = node["metadata"]["name"]
    if condition(node, "NetworkUnavailable") != "False":
        entry = {
            "type": "NetworkUnavailable", "status": "False", "reason": reason, "message": f"{reason} (simulated)",
            "lastTransitionTime": _now(), "lastHeartbeatTime": _now(),
        }  # fmt: skip
        node = await world.client.patch(
            "v1", "Node", name, {"status": {"conditions": [entry]}}, form="strategic", manager=MANAGER,
            subresource="status",
        )  # fmt: skip
    taints = node["spec"].get("taints", [])
    kept = [each for each in taints if each["key"] != taint]
    if len(kept) != len(taints):
        # The whole list with the version it was read at: the controller manager writes taints too.
        patch = {
            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
            "spec": {"taints": kept or None},
        }
        node = await world.client.patch("v1", "Node", name, patch, form="merge", manager=MANAGER)
    return node


async def _cilium_node(world: World, node: Object) -> None:
    if "ciliumnodes.cilium.io" not in world.definitions:
        return
    name = node["metadata"]["name"]
    try:
        await world.client.get("cilium.io/v2", "CiliumNode", name)
    except kube.NotFound:
        addresses = [each for each in node["status"].get("addresses", ()) if each["type"] == "InternalIP"]
        await world.client.create(
            {
                "apiVersion": "cilium.io/v2",
                "kind": "CiliumNode",
                "metadata": {
                    "name": name,
                    "ownerReferences": [
                        {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
                    ],
                },
                "spec": {
                    "addresses": [{"ip": each["address"], "type": "InternalIP"} for each in addresses],
                    "ipam": {"podCIDRs": node["spec"].get("podCIDRs", [])},
                },
            },
            manager="cilium-agent",
        )
    except errors.ClientError:
        # Discovery may lag behind the definition for a moment; the next change tries again.
        return


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
