"""The network plugin as it is in a cluster: its agents with their versions, and its inline manifest in machines.

A machine that still holds the manifest gets what the repo has now. Talos never changes an object that is there because
of it. But the next ``talosctl upgrade-k8s`` brings its manifests into force, and would take the network back to the old
version. A machine that was released does not get it again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.cni.cni_upgrade import CniUpgrade
from firstlight.commands.up.up import PreparedRun
from firstlight.document.within import sequence, text
from firstlight.execute import live_cluster, machine_configs
from firstlight.execute.gate_wait import settle
from firstlight.execute.handover import upgrade_preview
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import cilium, gate_parts, replicas
from firstlight.gates.gate_parts import GatePart
from firstlight.model import versions
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Component, ObjectId, Phase
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.source import Embedded
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting
from firstlight.model.work import Configure
from firstlight.plan import version_bump


def inline_stages(cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap) -> tuple[WalkStage, ...]:
    """A stage for every control plane, where the network plugin began as an inline manifest; else none."""
    if upgrade.component.phase is not Phase.INLINE or cluster.omni_template:
        return ()
    planes = [each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE and each.address]
    return tuple(_stage(each, cluster, upgrade, preparing) for each in planes)


def _stage(machine: Machine, cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap) -> WalkStage:
    async def look(world: World) -> PendingChange | None:
        wanted = await _wanted(machine, upgrade.component, await preparing.get(world), world)
        stale = await _stale(machine, wanted, world)
        if not stale:
            return None

        async def perform() -> None:
            await _put(machine, stale, world)

        return PendingChange(
            writes=tuple(f"give {machine.name} the inline manifest {each}" for each in stale), perform=perform
        )

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        wanted = await _wanted(machine, upgrade.component, await preparing.get(world), world)
        held = await _held(machine, world)
        mine = [each for each in wanted if each in held]
        verdict: Verdict = Skipped(f"{machine.name} was released from it, and does not get it again")
        if mine:
            verdict = Passed(f"{machine.name} holds {', '.join(mine)} as the repo has it")
        on_verdict(verdict)
        return verdict, ""

    return WalkStage(
        id=f"{cluster.name}:cni-inline:{machine.name}", name=f"inline manifest of {machine.name}", phase=Phase.INLINE,
        what="upgrade-k8s does not take the network back", look=look, wait=wait,
    )  # fmt: skip


async def _wanted(machine: Machine, component: Component, prepared: PreparedRun, world: World) -> Mapping[str, str]:
    """The inline manifests of a component as a cluster would begin with them today."""
    drafts = [one for each in prepared.work.tasks.values() if isinstance(each, Configure) for one in each.drafts]
    draft = next((each for each in drafts if each.machine.name == machine.name), None)
    if draft is None:
        return {}
    config = await machine_configs.bootstrap(draft, await machine_configs.make(draft, world), world)
    own = _names(component)
    return {name: each for name, each in machine_configs.inline_manifests(config).items() if name in own}


def _names(component: Component) -> frozenset[str]:
    embedded = [each.name for each in component.origins if isinstance(each.source, Embedded)]
    return frozenset(embedded or [component.name.rpartition("/")[2]])


async def _config(machine: Machine, world: World) -> Secret:
    way = await live_cluster.way(world)
    return await way.admin.machine_config(way.at(machine))


async def _held(machine: Machine, world: World) -> Mapping[str, str]:
    return machine_configs.inline_manifests(await _config(machine, world))


async def _stale(machine: Machine, wanted: Mapping[str, str], world: World) -> Mapping[str, str]:
    held = await _held(machine, world)
    return {name: each for name, each in wanted.items() if name in held and held[name].strip() != each.strip()}


async def _put(machine: Machine, stale: Mapping[str, str], world: World) -> None:
    way = await live_cluster.way(world)
    config = await _config(machine, world)
    held = machine_configs.manifests(config)
    made = await machine_configs.listing(config, machine_configs.with_contents(held, stale), world)
    # What is below ``cluster`` needs no reboot; should it all the same, the machine refuses, and nothing has happened.
    await way.admin.apply_config(way.at(machine), made, mode="no-reboot")
    await settle(machine, way, config=made)


# Talos's manifests brought into force, where it is Talos that keeps the network plugin: ``talosctl upgrade-k8s``.
#
# To the version that runs it upgrades nothing, and applies the manifests of the machines; nothing is pruned.


def manifests_stage(cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap) -> WalkStage:
    """One call on one control plane, after a question: every object of Talos's manifests is written."""

    async def look(world: World) -> PendingChange | None:
        prepared = await preparing.get(world)
        objects = prepared.ground.objects.get(upgrade.component.name, ())
        agents = agents_of(objects)
        if agents is None or not await _is_late(agents, world):
            return None
        machine = next(each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE)
        way = await live_cluster.way(world)
        ids = [each.id for each in objects]
        preview = await upgrade_preview.preview(machine, ids, way=way, world=world, has_inventory=True)

        async def perform() -> None:
            await _sync(machine, world)

        return PendingChange(
            writes=(f"talosctl upgrade-k8s on {machine.name}, to the version that runs",), perform=perform,
            danger=f"Talos applies its manifests anew: {preview}",
        )  # fmt: skip

    return WalkStage(
        id=f"{cluster.name}:cni-manifests", name="Talos applies its manifests", what="upgrade-k8s to the same version",
        phase=Phase.INLINE, look=look,
    )  # fmt: skip


async def _is_late(agents: CniWorkload, world: World) -> bool:
    at: WatchTarget = gate_parts.look_at(agents.id)
    view = await world.watching.view([at])
    live = view.one(at)
    return live is not None and version_in(live) != agents.version


async def _sync(machine: Machine, world: World) -> None:
    version = versions.release(str((await world.kube.version()).get("gitVersion") or ""))
    if not version:
        raise errors.ClientError("the API server does not say which version it is")
    way = await live_cluster.way(world)
    await way.admin.upgrade_k8s(
        way.at(machine), to=version, endpoint=world.reach.kubernetes, kubelets=False, pull_first=False, prune=False
    )


_FEW = 3


@dataclasses.dataclass(frozen=True, slots=True)
class CniWorkload:
    """Agents or an operator, as they are to be."""

    id: ObjectId
    image: str
    """Of its first container."""

    @property
    def version(self) -> str:
        """Of the image; all of it where it has none."""
        return version_of(self.image)

    @property
    def look(self) -> WatchTarget:
        """Where it is."""
        return gate_parts.look_at(self.id)


def version_of(image: str) -> str:
    """The version of an image; all of it where it has none."""
    return version_bump.number(image) or image


def version_in(value: Mapping[str, Any]) -> str:
    """The version that a workload's template has."""
    return version_of(_image(value))


def agents_of(objects: Sequence[Object]) -> CniWorkload | None:
    """The DaemonSet that sets up the network of every node; None where no object is one."""
    found = [each for each in objects if each.id.kind == "DaemonSet" and each.id.group == "apps"]
    chosen = next((each for each in found if cilium.is_it(each)), None)
    chosen = chosen or next((each for each in found if _is_network(each.value)), None)
    return _workload(chosen) if chosen is not None else None


def operator(objects: Sequence[Object]) -> CniWorkload | None:
    """Its operator, where it has one."""
    found = [each for each in objects if each.id.kind == "Deployment" and "operator" in each.id.name]
    return _workload(found[0]) if found else None


def rollout(workload: CniWorkload) -> GatePart:
    """Whether every pod of it runs the version that is wanted; what is told names the nodes that are left."""
    pods = WatchTarget(api_version="v1", kind="Pod", namespace=workload.id.namespace)

    def judge(view: GateView) -> Verdict:
        live = view.one(workload.look)
        if live is None:
            return Waiting(f"{workload.id} is not there")
        said = version_in(live)
        if said != workload.version:
            return Waiting(f"{workload.id} still says {said}: nobody has applied {workload.version} yet")
        of_kind = replicas.daemon_set if workload.id.kind == "DaemonSet" else replicas.deployment
        verdict = of_kind(live, view.all(gate_parts.NODES))
        running = versions_by_node(view.all(pods), workload.id)
        left = {node: each for node, each in running.items() if each != workload.version}
        if left:
            return Waiting(
                f"{workload.id.name}: {len(running) - len(left)} of {len(running)} run {said}; {_left(left)}"
            )
        if not isinstance(verdict, Passed):
            return Waiting(f"{workload.id.name}: {verdict.reason}")
        return Passed(f"{workload.id.name} {said} {verdict.reason}")

    return GatePart((workload.look, pods, gate_parts.NODES), judge)


def versions_by_node(pods: Sequence[Mapping[str, Any]], owner: ObjectId) -> dict[str, str]:
    """Which version the pods of a workload run, by node; those of a Deployment belong to its ReplicaSets."""
    found: dict[str, str] = {}
    for pod in pods:
        if text(pod, "metadata", "deletionTimestamp") or not _is_of(pod, owner):
            continue
        place = text(pod, "spec", "nodeName") or text(pod, "metadata", "name")
        found[place] = version_of(_first_image(sequence(pod, "spec", "containers")))
    return found


def _is_of(pod: Mapping[str, Any], owner: ObjectId) -> bool:
    for each in sequence(pod, "metadata", "ownerReferences"):
        kind, name = text(each, "kind"), text(each, "name")
        if (kind, name) == (owner.kind, owner.name):
            return True
        if owner.kind == "Deployment" and kind == "ReplicaSet" and name.rpartition("-")[0] == owner.name:
            return True
    return False


def _left(left: Mapping[str, str]) -> str:
    shown = ", ".join(f"{node} has {each}" for node, each in sorted(left.items())[:_FEW])
    return f"{shown} and {len(left) - _FEW} more" if len(left) > _FEW else shown


def _workload(item: Object) -> CniWorkload:
    return CniWorkload(item.id, _image(item.value))


def _image(value: Mapping[str, Any]) -> str:
    return _first_image(sequence(value, "spec", "template", "spec", "containers"))


def _first_image(containers: Sequence[Any]) -> str:
    return text(containers[0], "image") if containers else ""


def _is_network(value: Mapping[str, Any]) -> bool:
    """Whether it writes CNI's configuration on the host."""
    volumes = sequence(value, "spec", "template", "spec", "volumes")
    return any("/cni" in text(each, "hostPath", "path") for each in volumes)
