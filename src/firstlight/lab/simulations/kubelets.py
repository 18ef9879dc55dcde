"""What kubelets and CNI agents write: nodes register, the network comes with a CNI pod, pods get their sandboxes.

kwok writes the rest of the status (see stages.yaml). A CNI pod is one that mounts the host's /etc/cni/net.d; once it
is ready, its node has a network, and keeps it when the pod is replaced, as the file that it wrote stays.

In a lab with machines, nodes are what the machines say (see machine_kubelets); where a kubelet does not run, nothing
happens to its pods.
"""

import contextlib

from firstlight.clients import kube
from firstlight.lab import kubelet_objects
from firstlight.lab.machines import machine_node
from firstlight.lab.machines.machine_node import MACHINE, OFF, POWER
from firstlight.lab.simulations.machine_kubelets import MachineKubelets
from firstlight.lab.simulations.simulated_cluster import (
    MANAGER,
    Object,
    SimulatedCluster,
    condition,
    is_ready,
    key,
    now,
)

CNI_DIRECTORY = "/etc/cni/net.d"
AGENTS = {
    # label of the agent's pods: (reason of NetworkUnavailable=False, taint that goes when the agent is ready)
    ("k8s-app", "cilium"): ("CiliumIsUp", "node.cilium.io/agent-not-ready"),
    ("app", "flannel"): ("FlannelIsUp", ""),
    ("k8s-app", "calico-node"): ("CalicoIsUp", ""),
}


class KubeletSimulation:
    """Nodes, their network, and the start of their pods."""

    what = "nodes register, CNI agents report, pods get sandboxes"

    def __init__(self) -> None:
        self._machines: MachineKubelets | None = None

    async def start(self, world: SimulatedCluster) -> None:
        """Register the declared nodes; those that are no longer declared, or not so, leave."""
        if world.settings.machines:
            self._machines = MachineKubelets(world)
            self._machines.look()
            world.tasks.create_task(self._machines.watch(), name="machines")
        else:
            await _register_declared(world)
        await _wait_for_default_account(world)

    async def act(self, world: SimulatedCluster) -> None:
        """Bring nodes and pods to where a kubelet would have them."""
        if self._machines is not None:
            await self._machines.act()

        async def for_pod(pod: Object) -> None:
            node = world.nodes.get(("", pod["spec"].get("nodeName", "")))
            if node is None:
                return
            if is_frozen(pod) == machine_node.is_on(node):
                await _freeze(world, pod, None if is_frozen(pod) else OFF)
            if "deletionTimestamp" in pod["metadata"] or not machine_node.is_on(node):
                return
            if is_cni(pod) and is_ready(pod):
                await _network_up(world, node, pod)
            if _wants_sandbox(pod) and (kubelet_objects.has_network(node) or pod["spec"].get("hostNetwork")):
                await _set_condition(world, pod, "PodReadyToStartContainers")
            elif _lost_ready(pod) and (is_ready(node) or _needs_no_network(pod, node)):
                await _set_condition(world, pod, "Ready")

        await world.each(list(world.pods.values()), for_pod)


async def _register_declared(world: SimulatedCluster) -> None:
    declared = {node.name: kubelet_objects.node_manifest(node) for node in world.settings.nodes}
    present = {node["metadata"]["name"]: node for node in world.nodes.values() if kubelet_objects.is_simulated(node)}
    for name, live in present.items():
        if name not in declared or kubelet_objects.is_declared_otherwise(live, declared[name]):
            await world.client.delete("v1", "Node", name)
    for name, manifest in declared.items():
        if name not in present or kubelet_objects.is_declared_otherwise(present[name], manifest):
            await world.client.create(manifest, manager=kubelet_objects.MANAGER)


def is_frozen(pod: Object) -> bool:
    """Whether a pod is on a node whose kubelet does not run, and kwok knows."""
    return bool((pod["metadata"].get("annotations") or {}).get(POWER) == OFF)


async def _freeze(world: SimulatedCluster, pod: Object, power: str | None) -> None:
    namespace, name = key(pod)
    patch = {"metadata": {"annotations": {POWER: power}}}
    patched = await world.client.patch("v1", "Pod", name, patch, manager=MANAGER, namespace=namespace)
    world.put(world.pods, patched)


def is_cni(pod: Object) -> bool:
    """Whether a pod brings the node its network."""
    volumes = pod["spec"].get("volumes", ())
    paths = [volume.get("hostPath", {}).get("path", "") for volume in volumes]
    return any(path.rstrip("/") == CNI_DIRECTORY for path in paths)


async def _wait_for_default_account(world: SimulatedCluster) -> None:
    """The first pods of a lab are refused without it; the controller manager makes it within a second."""
    async with contextlib.aclosing(world.client.watch("v1", "ServiceAccount", namespace="default")) as events:
        async for event in events:
            if isinstance(event, kube.Added | kube.Modified) and event.object["metadata"]["name"] == "default":
                return


def _wants_sandbox(pod: Object) -> bool:
    return condition(pod, "PodReadyToStartContainers") == "False" and pod["status"].get("phase") == "Pending"


def _lost_ready(pod: Object) -> bool:
    """The controller manager takes Ready from pods of a node that is lost; a kubelet that is back gives it again."""
    running = pod["status"].get("phase") == "Running"
    return running and condition(pod, "Ready") == "False" and condition(pod, "ContainersReady") == "True"


def _needs_no_network(pod: Object, node: Object) -> bool:
    """A machine that is wiped and joins again waits for its CNI agent, which must not wait for the machine."""
    return bool(pod["spec"].get("hostNetwork") and MACHINE in (node["metadata"].get("annotations") or {}))


async def _set_condition(world: SimulatedCluster, pod: Object, kind: str) -> None:
    namespace, name = key(pod)
    patch = {"status": {"conditions": [{"type": kind, "status": "True", "lastTransitionTime": now()}]}}
    patched = await world.client.patch(
        "v1", "Pod", name, patch, form="strategic", manager=MANAGER, namespace=namespace, subresource="status"
    )
    world.put(world.pods, patched)


async def _network_up(world: SimulatedCluster, node: Object, pod: Object) -> None:
    name = node["metadata"]["name"]
    if not kubelet_objects.has_network(node):
        patch = {"metadata": {"annotations": {kubelet_objects.NETWORK_ANNOTATION: "ready"}}}
        node = await world.client.patch("v1", "Node", name, patch, form="merge", manager=MANAGER)
    for label, (reason, taint) in AGENTS.items():
        if label in pod["metadata"].get("labels", {}).items():
            node = await _agent_writes(world, node, reason=reason, taint=taint)
            if reason == "CiliumIsUp":
                await _cilium_node(world, node)
    world.put(world.nodes, node)


async def _agent_writes(world: SimulatedCluster, node: Object, *, reason: str, taint: str) -> Object:
    name = node["metadata"]["name"]
    if condition(node, "NetworkUnavailable") != "False":
        entry = {
            "type": "NetworkUnavailable", "status": "False", "reason": reason, "message": f"{reason} (simulated)",
            "lastTransitionTime": now(), "lastHeartbeatTime": now(),
        }  # fmt: skip
        node = await world.client.patch(
            "v1", "Node", name, {"status": {"conditions": [entry]}}, form="strategic", manager=MANAGER,
            subresource="status",
        )  # fmt: skip
    taints = node["spec"].get("taints", [])
    kept = [each for each in taints if each["key"] != taint]
    if len(kept) != len(taints):
        # The whole list with the version it was read at: the controller manager writes taints too.
        version = {"resourceVersion": node["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "spec": {"taints": kept or None}}
        node = await world.client.patch("v1", "Node", name, patch, form="merge", manager=MANAGER)
    return node


async def _cilium_node(world: SimulatedCluster, node: Object) -> None:
    if world.definition("cilium.io", "CiliumNode") is None:
        return
    name = node["metadata"]["name"]
    present = await world.follow("cilium.io/v2", "CiliumNode")
    if ("", name) in present:
        return
    addresses = [each for each in node["status"].get("addresses", ()) if each["type"] == "InternalIP"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
    await world.client.apply(
        {
            "apiVersion": "cilium.io/v2",
            "kind": "CiliumNode",
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {
                "addresses": [{"ip": each["address"], "type": "InternalIP"} for each in addresses],
                "ipam": {"podCIDRs": node["spec"].get("podCIDRs", [])},
            },
        },
        manager="cilium-agent",
    )


# The approval of kubelets' certificate requests; signing is the real controller manager's.


CERTIFICATES_GROUP, CERTIFICATE_REQUEST = "certificates.k8s.io/v1", "CertificateSigningRequest"
SIGNERS = {"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"}


class CertificateRequestSimulation:
    """The approver."""

    what = "kubelets' certificate requests are approved (signing is real)"

    async def start(self, world: SimulatedCluster) -> None:
        """Follow requests."""
        self._requests = await world.follow(CERTIFICATES_GROUP, CERTIFICATE_REQUEST)

    async def act(self, world: SimulatedCluster) -> None:
        """Approve what kubelets ask for."""

        async def approve(request: Object) -> None:
            entry = {
                "type": "Approved", "status": "True", "reason": "LabApproved",
                "message": "approved by the lab (simulated)", "lastUpdateTime": now(), "lastTransitionTime": now(),
            }  # fmt: skip
            patched = await world.client.patch(
                CERTIFICATES_GROUP,
                CERTIFICATE_REQUEST,
                request["metadata"]["name"],
                {"status": {"conditions": [entry]}},
                form="strategic",
                manager=MANAGER,
                subresource="approval",
            )
            world.put(self._requests, patched)

        await world.each([request for request in list(self._requests.values()) if is_request_due(request)], approve)


def is_request_due(request: Object) -> bool:
    """Whether nobody has decided on a request that a kubelet makes."""
    decided = request.get("status", {}).get("conditions")
    return request["spec"]["signerName"] in SIGNERS and not decided
