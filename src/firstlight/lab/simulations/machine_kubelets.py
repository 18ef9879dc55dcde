"""The kubelets of virtual machines: each runs while its machine is live and has not stopped it.

What a kubelet would register is in the machine's ``node.json``; which machines run is in the lab's ``live.json``. Both
are looked at five times a second. What to write is decided in ``machine_node`` and ``mirror_pods``. What has become of
it is told to the machine in ``kubelet.json``.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from firstlight.clients import kube
from firstlight.lab import directory, machine_node, mirror_pods, nodes
from firstlight.lab.machine_node import MachineNode
from firstlight.lab.simulations import draining, kubelet_reports
from firstlight.lab.simulations.world import MANAGER, Object, World, key, log, now

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

    def __init__(self, world: World) -> None:
        self._world = world
        self._names = [machine.name for machine in world.settings.machines]
        self._said: dict[str, MachineNode] = {}
        self._live = _Live()
        self._seen: dict[Path, int] = {}
        self._drained: set[str] = set()
        self._reports = kubelet_reports.Reports(world)
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
                await world.client.create(machine_node.manifest(machine, wanted, now=now()), manager=nodes.MANAGER)
                log.info("Node %s registers", wanted.name)
                self._remember(machine, boot)
            return
        self._remember(machine, boot)
        has_network = nodes.has_network(live)
        live = await self._patch(
            live, machine_node.as_kubelet(live, machine, wanted, has_network=has_network, now=now())
        )
        if patch := machine_node.as_talos(live, wanted):
            # The whole list of taints with the version it was read at: the controller manager writes taints too.
            patch.setdefault("metadata", {})["resourceVersion"] = live["metadata"]["resourceVersion"]
            world.put(world.nodes, await world.client.patch("v1", "Node", wanted.name, patch, manager=MANAGER))
        await self._mirror(live, wanted)
        if wanted.drain and await draining.drain(world, live):
            self._drained.add(machine)
        elif wanted.uncordon:
            await draining.set_unschedulable(world, live, wanted=False)

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
        missing, wrong = mirror_pods.compare(wanted.static_pods, world.pods.values(), node=wanted.name)
        for pod in wrong:
            namespace, name = key(pod)
            if "deletionTimestamp" not in pod["metadata"]:
                with contextlib.suppress(kube.NotFound, kube.Conflict):
                    await world.client.delete("v1", "Pod", name, namespace=namespace, uid=pod["metadata"]["uid"])
        for static in missing:
            manifest = mirror_pods.manifest(static, node, now=now())
            if key(manifest) not in world.pods:
                await world.client.create(manifest, manager=nodes.MANAGER)

    def _remember(self, machine: str, boot: str) -> None:
        if self._registered.get(machine) != boot:
            self._registered[machine] = boot
            directory.write_whole(self._memory, msgspec.json.encode(self._registered))

    def _forget(self, machine: str) -> None:
        if self._registered.pop(machine, None) is not None:
            directory.write_whole(self._memory, msgspec.json.encode(self._registered))


def claims(names: Sequence[str], said: Mapping[str, MachineNode], live: Collection[str]) -> dict[str, str]:
    """Which machine's kubelet writes each Node: the first that runs and has that name."""
    owners: dict[str, str] = {}
    for name in names:
        wanted = said.get(name)
        if wanted is not None and wanted.up and name in live:
            owners.setdefault(wanted.name, name)
    return owners
