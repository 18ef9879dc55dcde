"""Talos's manifests brought into force, where it is Talos that keeps the network plugin: ``talosctl upgrade-k8s``.

To the version that runs it upgrades nothing, and applies the manifests of the machines; nothing is pruned.
"""

import re

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.handing import upgrade_preview
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.gates import looking
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Phase
from firstlight.model.observation import Look
from firstlight.operate import reaching
from firstlight.operate.changing import cni_agents
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.changing.cni_agents import Workload
from firstlight.operate.changing.cni_choosing import Upgrade

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+)")


def stage(cluster: Cluster, upgrade: Upgrade, preparing: Preparing) -> Stage:
    """One call on one control plane, after a question: every object of Talos's manifests is written."""

    async def look(world: World) -> Change | None:
        prepared = await preparing.get(world)
        objects = prepared.ground.objects.get(upgrade.component.name, ())
        agents = cni_agents.agents(objects)
        if agents is None or not await _is_late(agents, world):
            return None
        machine = next(each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE)
        way = await reaching.way(world)
        ids = [each.id for each in objects]
        preview = await upgrade_preview.preview(machine, ids, way=way, world=world, has_inventory=True)

        async def perform() -> None:
            await _sync(machine, world)

        return Change(
            writes=(f"talosctl upgrade-k8s on {machine.name}, to the version that runs",), perform=perform,
            danger=f"Talos applies its manifests anew: {preview}",
        )  # fmt: skip

    return Stage(
        id=f"{cluster.name}:cni-manifests", name="Talos applies its manifests", what="upgrade-k8s to the same version",
        phase=Phase.INLINE, look=look,
    )  # fmt: skip


async def _is_late(agents: Workload, world: World) -> bool:
    at: Look = looking.at(agents.id)
    view = await world.watching.view([at])
    live = view.one(at)
    return live is not None and cni_agents.version_in(live) != agents.version


async def _sync(machine: Machine, world: World) -> None:
    found = _VERSION.match(str((await world.kube.version()).get("gitVersion") or ""))
    if found is None:
        raise errors.ClientError("the API server does not say which version it is")
    way = await reaching.way(world)
    await way.admin.upgrade_k8s(
        way.at(machine), to=found[1], endpoint=world.reach.kubernetes, kubelets=False, pull_first=False, prune=False
    )
