"""The kubelets of virtual machines: each runs while its machine is live and has not stopped it.

What a kubelet would register is in the machine's ``node.json``; which machines run is in the lab's ``live.json``. Both
are looked at five times a second. What to write is decided in ``machine_node`` and ``mirror_pods``. What has become of
it is told to the machine in ``kubelet.json``.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from firstlight.clients import kube
from firstlight.lab import kubelet_objects, lab_directory
from firstlight.lab.machines import machine_node
from firstlight.lab.machines.machine_node import KUBELET_REPORT, MachineNode
from firstlight.lab.simulations.simulated_cluster import MANAGER, Object, SimulatedCluster, is_ready, key, log, now

POLL = 0.2
CLOCK = 0.01
"""Seconds by which the time of a file may lag behind the clock."""
MEMORY = "kubelets.json"
"""Under which boot each kubelet has registered: a Node that is deleted comes back only with the next one."""


class _Live(msgspec.Struct, frozen=True):
    live: tuple[str, ...] = ()
    since: dict[str, float] = {}
    cluster: str = ""
    """Whose API server runs: kubelets of another cluster cannot join it."""
    """When each was started: what it said before is of another life."""


class MachineKubelets:
    """The kubelets of all machines of a lab."""

    def __init__(self, world: SimulatedCluster) -> None:
        self._world = world
        self._names = [machine.name for machine in world.settings.machines]
        self._said: dict[str, MachineNode] = {}
        self._live = _Live()
        self._seen: dict[Path, int] = {}
        self._drained: set[str] = set()
        self._reports = KubeletReports(world)
        self._memory = world.home.run / MEMORY
        self._registered: dict[str, str] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            self._registered = msgspec.json.decode(self._memory.read_bytes(), type=dict[str, str])

    async def watch(self) -> None:
        """Notice what machines say, for ever."""
        for beat in itertools.count():
            # A disruption budget may let a pod go later: nobody tells.
            drains = beat % 5 == 0 and any(said.drain for said in self._said.values())
            if self.look() or drains:
                await self._world.notify()
            await asyncio.sleep(POLL)

    def look(self) -> bool:
        """Read what has changed; whether anything has."""
        home = self._world.home
        changed = False
        if self._has_changed(home.live):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                self._live = msgspec.json.decode(home.live.read_bytes(), type=_Live)
            changed = True
        for name in self._names:
            if self._has_changed(home.machine(name) / "node.json"):
                said = machine_node.read(home.machine(name))
                if said is None:
                    self._said.pop(name, None)
                else:
                    self._said[name] = said
                changed = True
        return changed

    def _has_changed(self, path: Path) -> bool:
        try:
            modified = path.stat().st_mtime_ns
        except OSError:
            modified = 0
        if self._seen.get(path, 0) == modified:
            return False
        self._seen[path] = modified
        return True

    def _is_current(self, name: str) -> bool:
        """Whether what a machine says is of its present life: one that was cut off could not take it back."""
        said_at = self._seen.get(self._world.home.machine(name) / "node.json", 0) / 1e9
        return said_at + CLOCK > self._live.since.get(name, 0)

    def _belongs(self, name: str) -> bool:
        """Whether a machine is of the cluster that runs: with another authority and token it cannot join."""
        said = self._said.get(name)
        return said is None or self._live.cluster in {"", said.cluster}

    async def act(self) -> None:
        """Bring Nodes and mirror pods to where kubelets would have them."""
        able = {name for name in self._live.live if self._is_current(name) and self._belongs(name)}
        owners = claims(self._names, self._said, able)

        async def for_machine(machine: Object) -> None:
            name = machine["metadata"]["name"]
            wanted = self._said.get(name)
            if wanted is None or not wanted.drain:
                self._drained.discard(name)
            if wanted is None or not wanted.up:
                self._forget(name)
            elif owners.get(wanted.name) == name:
                await self._run(name, wanted)

        async def for_node(node: Object) -> None:
            name = node["metadata"]["name"]
            if machine_node.MACHINE in (node["metadata"].get("annotations") or {}) and name not in owners:
                said = self._said.get(node["metadata"]["annotations"][machine_node.MACHINE])
                wanted = said if said is not None and said.name == name else None
                await self._patch(node, machine_node.as_nobody(node, wanted, now=now()))

        machines = [{"kind": "Machine", "metadata": {"name": name}} for name in self._names]
        await self._world.each(machines, for_machine)
        await self._world.each(list(self._world.nodes.values()), for_node)
        self._reports.write(self._said, frozenset(self._drained))

    async def _run(self, machine: str, wanted: MachineNode) -> None:
        world = self._world
        boot = f"{wanted.boot_id} {wanted.name}"
        live = world.nodes.get(("", wanted.name))
        if live is None:
            if self._registered.get(machine) != boot:
                await world.client.create(
                    machine_node.manifest(machine, wanted, now=now()), manager=kubelet_objects.MANAGER
                )
                log.info("Node %s registers", wanted.name)
                self._remember(machine, boot)
            return
        self._remember(machine, boot)
        has_network = kubelet_objects.has_network(live)
        live = await self._patch(
            live, machine_node.as_kubelet(live, machine, wanted, has_network=has_network, now=now())
        )
        if patch := machine_node.as_talos(live, wanted):
            # The whole list of taints with the version it was read at: the controller manager writes taints too.
            patch.setdefault("metadata", {})["resourceVersion"] = live["metadata"]["resourceVersion"]
            world.put(world.nodes, await world.client.patch("v1", "Node", wanted.name, patch, manager=MANAGER))
        await self._mirror(live, wanted)
        if wanted.drain and await drain_node(world, live):
            self._drained.add(machine)
        elif wanted.uncordon:
            await set_unschedulable(world, live, wanted=False)

    async def _patch(self, live: Object, patch: Object) -> Object:
        """Write status and annotations at once: kwok must not see the one without the other."""
        if not patch:
            return live
        patched = await self._world.client.patch(
            "v1", "Node", live["metadata"]["name"], patch, form="strategic", manager=MANAGER, subresource="status"
        )
        self._world.put(self._world.nodes, patched)
        return patched

    async def _mirror(self, node: Object, wanted: MachineNode) -> None:
        world = self._world
        missing, wrong = kubelet_objects.compare_mirror_pods(wanted.static_pods, world.pods.values(), node=wanted.name)
        for pod in wrong:
            namespace, name = key(pod)
            if "deletionTimestamp" not in pod["metadata"]:
                with contextlib.suppress(kube.NotFound, kube.Conflict):
                    await world.client.delete("v1", "Pod", name, namespace=namespace, uid=pod["metadata"]["uid"])
        for static in missing:
            manifest = kubelet_objects.mirror_pod_manifest(static, node, now=now())
            if key(manifest) not in world.pods:
                await world.client.create(manifest, manager=kubelet_objects.MANAGER)

    def _remember(self, machine: str, boot: str) -> None:
        if self._registered.get(machine) != boot:
            self._registered[machine] = boot
            lab_directory.write_whole(self._memory, msgspec.json.encode(self._registered))

    def _forget(self, machine: str) -> None:
        if self._registered.pop(machine, None) is not None:
            lab_directory.write_whole(self._memory, msgspec.json.encode(self._registered))


def claims(names: Sequence[str], said: Mapping[str, MachineNode], live: Collection[str]) -> dict[str, str]:
    """Which machine's kubelet writes each Node: the first that runs and has that name."""
    owners: dict[str, str] = {}
    for name in names:
        wanted = said.get(name)
        if wanted is not None and wanted.up and name in live:
            owners.setdefault(wanted.name, name)
    return owners


# Cordon and drain, as Talos does it before a shutdown or a reset: by the kubelet's own credentials.
#
# The node is cordoned, and every pod that is not a DaemonSet's or a mirror is evicted: disruption budgets are the real
# API server's business. Talos takes its own cordon away when the machine is back.


def is_evicted(pod: Object) -> bool:
    """Whether a drain evicts a pod."""
    metadata = pod["metadata"]
    owners = {owner["kind"] for owner in metadata.get("ownerReferences") or () if owner.get("controller")}
    is_over = pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    return (
        kubelet_objects.MIRROR not in (metadata.get("annotations") or {}) and "DaemonSet" not in owners and not is_over
    )


async def drain_node(world: SimulatedCluster, node: Object) -> bool:
    """Bring a node one step closer to being drained; whether it is."""
    name = node["metadata"]["name"]
    await set_unschedulable(world, node, wanted=True)
    left = [pod for pod in world.pods.values() if pod["spec"].get("nodeName") == name and is_evicted(pod)]
    for pod in left:
        if "deletionTimestamp" not in pod["metadata"]:
            await _evict(world, pod)
    return not left


async def set_unschedulable(world: SimulatedCluster, node: Object, *, wanted: bool) -> None:
    """Cordon a node, or end that."""
    if bool(node["spec"].get("unschedulable", False)) != wanted:
        patch = {"spec": {"unschedulable": wanted or None}}
        world.put(world.nodes, await world.client.patch("v1", "Node", node["metadata"]["name"], patch, manager=MANAGER))


async def _evict(world: SimulatedCluster, pod: Object) -> None:
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


# What the kubelets tell their machines: a file beside each ``node.json`` that Talos reads its node's status from.


def kubelet_report(
    wanted: machine_node.MachineNode, node: Object | None, pods: Iterable[Object], *, drained: bool
) -> dict[str, object]:
    """What a kubelet says of its node and its static pods."""
    metadata = node["metadata"] if node else {}
    mirrors = [pod for pod in pods if kubelet_objects.MIRROR in (pod["metadata"].get("annotations") or {})]
    return {
        "bootId": wanted.boot_id,
        "registered": node is not None,
        "ready": node is not None and machine_node.is_on(node) and is_ready(node),
        "unschedulable": bool(node and node["spec"].get("unschedulable", False)),
        "drained": drained,
        "labels": metadata.get("labels") or {},
        "annotations": metadata.get("annotations") or {},
        "staticPods": [
            {"name": pod["metadata"]["name"], "ready": is_ready(pod), "status": pod.get("status", {})}
            for pod in sorted(mirrors, key=lambda pod: str(pod["metadata"]["name"]))
        ],
    }


class KubeletReports:
    """Writes the files, each only when there is news."""

    def __init__(self, world: SimulatedCluster) -> None:
        self._world = world
        self._written: dict[str, bytes] = {}

    def write(self, said: Mapping[str, machine_node.MachineNode], drained: frozenset[str]) -> None:
        """Tell every machine that has a kubelet."""
        by_node: dict[str, list[Object]] = {}
        for pod in self._world.pods.values():
            by_node.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        for machine, wanted in said.items():
            node = self._world.nodes.get(("", wanted.name))
            told = kubelet_report(wanted, node, by_node.get(wanted.name, ()), drained=machine in drained)
            content = msgspec.json.encode(told, order="sorted")
            if self._written.get(machine) != content:
                # The machine may be leaving the lab at this moment.
                with contextlib.suppress(OSError):
                    lab_directory.write_whole(self._world.home.machine(machine) / KUBELET_REPORT, content)
                    self._written[machine] = content
