"""All machines of a cluster: as they are declared, and as they are."""

import asyncio

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute.world import World
from firstlight.gates import node_rows
from firstlight.gates.node_rows import Seen
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import Standing
from firstlight.model.node import ConfigSight, Equality, NodeList
from firstlight.model.platform import Platform
from firstlight.observe import machines as observed
from firstlight.observe.machines import PATIENCE, Way
from firstlight.operate import reaching
from firstlight.operate.means import Means
from firstlight.operate.node import choosing, comparing, declared_configs
from firstlight.operate.node import members as etcd
from firstlight.operate.node.declared_configs import Declared

ANSWERS = 5.0
"""Seconds for the Kubernetes API: who lists machines may do so since it is down."""


async def look(platform: Platform, cluster: Cluster, means: Means) -> NodeList:
    """Look at everything that answers; what does not is said.

    Raises:
        errors.Refused: The machines are Omni's, or there are no keys to them.
    """
    choosing.refuse_omni(cluster)
    async with reaching.reached(cluster, means, is_api_needed=False, patience=ANSWERS) as world:
        way = await reaching.way(world)
        unseen: list[str] = []
        reports = await observed.look_at_all(cluster.machines, way, with_etcd=True)
        there = [each.machine for each in reports if each.standing is Standing.OURS]
        try:
            declared: Declared | None = declared_configs.of(platform, cluster, means)
        except errors.Refused as error:
            declared = None
            unseen.append(f"the configs of the repo: {error.message}")
        versions, configs, nodes, members = await asyncio.gather(
            _versions(there, way),
            _configs(there, declared, world, way),
            _nodes(world, unseen),
            etcd.of(reports, way),
        )
    if members is None and any(each.role is MachineRole.CONTROL_PLANE for each in cluster.machines):
        unseen.append("the members of etcd: no control plane tells them")
    unseen += [
        f"{each.machine.name}: {each.why}" for each in reports if each.standing is not Standing.OURS and each.why
    ]
    unseen += [f"{name}: {each.reason}" for name, each in configs.items() if each.equality is Equality.UNKNOWN]
    seen = Seen(reports=reports, versions=versions, configs=configs, nodes=nodes, members=members)
    return NodeList(cluster=cluster.name, rows=node_rows.rows(seen), unseen=tuple(unseen))


async def _versions(machines: list[Machine], way: Way) -> dict[str, str]:
    async def one(machine: Machine) -> str:
        try:
            return (await way.admin.version(way.at(machine), timeout=PATIENCE)).tag
        except talosctl.TalosError:
            return ""

    found = await asyncio.gather(*(one(each) for each in machines))
    return {each.name: version for each, version in zip(machines, found, strict=True) if version}


async def _configs(
    machines: list[Machine], declared: Declared | None, world: World, way: Way
) -> dict[str, ConfigSight]:
    if declared is None:
        return {}

    async def one(machine: Machine) -> ConfigSight:
        if machine.name not in declared.drafts:
            return ConfigSight(equality=Equality.UNKNOWN, reason="the repo has no config for it")
        try:
            return (await comparing.compare(machine, declared, world, way)).sight
        except errors.FirstlightError as error:
            return ConfigSight(equality=Equality.UNKNOWN, reason=error.message)

    found = await asyncio.gather(*(one(each) for each in machines))
    return {each.name: sight for each, sight in zip(machines, found, strict=True)}


async def _nodes(world: World, unseen: list[str]) -> tuple[dict[str, object], ...] | None:
    if not world.is_connected:
        unseen.append("nodes: the Kubernetes API does not answer")
        return None
    try:
        async with asyncio.timeout(ANSWERS):
            return (await world.kube.list("v1", "Node")).items
    except (TimeoutError, errors.ClientError) as error:
        unseen.append(f"nodes: the Kubernetes API does not answer{f': {error}' if str(error) else ''}")
        return None
