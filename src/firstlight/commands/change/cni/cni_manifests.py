"""The inline manifest of the network plugin in machines that still hold it: it gets what the repo has now.

Talos never changes an object that is there because of it. But the next ``talosctl upgrade-k8s`` brings its manifests
into force, and would take the network back to the old version. A machine that was released does not get it again.
"""

import dataclasses
from collections.abc import Mapping

from firstlight import errors
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.cni import cni_agents
from firstlight.commands.change.cni.cni_agents import CniWorkload
from firstlight.commands.change.cni.cni_upgrade import CniUpgrade
from firstlight.commands.up.up import PreparedRun
from firstlight.execute import live_cluster, machine_configs
from firstlight.execute.gate_wait import settle
from firstlight.execute.handover import upgrade_preview
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import gate_parts
from firstlight.model import versions
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Component, Phase
from firstlight.model.observation import WatchTarget
from firstlight.model.secret import Secret
from firstlight.model.source import Embedded
from firstlight.model.verdict import Passed, Skipped, Verdict
from firstlight.model.work import Configure


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
    made = await machine_configs.listing(config, dataclasses.replace(held, inline={**held.inline, **stale}), world)
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
        agents = cni_agents.agents(objects)
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
    return live is not None and cni_agents.version_in(live) != agents.version


async def _sync(machine: Machine, world: World) -> None:
    version = versions.release(str((await world.kube.version()).get("gitVersion") or ""))
    if not version:
        raise errors.ClientError("the API server does not say which version it is")
    way = await live_cluster.way(world)
    await way.admin.upgrade_k8s(
        way.at(machine), to=version, endpoint=world.reach.kubernetes, kubelets=False, pull_first=False, prune=False
    )
