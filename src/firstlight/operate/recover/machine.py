"""A machine that is lost, rebuilt: its member of etcd and its node go, then it is configured anew and joins.

One that answers with the cluster's keys is never wiped here, and its member and node stay: it is either rebuilt
already, by a run that was killed, or a person decides that it goes (``node reset``).
"""

import asyncio
import dataclasses
import time

from firstlight import errors
from firstlight.execute import cluster_keys
from firstlight.execute.change import Change
from firstlight.execute.machine_gates import POLL
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.platform import Platform
from firstlight.observe import machines as observed
from firstlight.operate.node import adding, coming_back, removing

_LEAVING = ("member", "node")
"""The stages of a departure that need no machine."""


def stages(
    platform: Platform, cluster: Cluster, machine: Machine, *, timeout: float = coming_back.TIMEOUT
) -> tuple[Stage, ...]:
    """The stages, in their order.

    Raises:
        errors.Refused: The repo's machines are not understood.
    """
    departure = {each.id: each for each in removing.stages(machine, removing.Wishes(command="node remove"))}
    silence: list[MachineReport] = []
    gone = [_while_lost(departure[f"{machine.name}:{each}"], machine, silence) for each in _LEAVING]
    return (*gone, *adding.stages(platform, cluster, machine, timeout=timeout))


def _while_lost(stage: Stage, machine: Machine, silence: list[MachineReport]) -> Stage:
    async def look(world: World) -> Change | None:
        report = await _standing(machine, world, silence)
        if report.standing is Standing.OURS:
            return None
        if report.standing is Standing.FOREIGN:
            raise errors.Refused(
                f"at {machine.address} is a machine of another cluster ({report.why}): it is not touched",
                hint=f"Look whether that is the address of {machine.name}.",
            )
        change = await stage.look(world)
        if change is None:
            return None
        danger = f"{machine.name} counts as lost: {', '.join(change.writes)}. What its disks held is not looked for."
        return dataclasses.replace(change, danger=danger)

    return dataclasses.replace(stage, look=look)


async def _standing(machine: Machine, world: World, silence: list[MachineReport]) -> MachineReport:
    """The machine; one that is silent is waited for once, since it may only be between two boots."""
    way = await cluster_keys.ensure(world)
    deadline = time.monotonic() + (0.0 if silence else world.patience)
    while True:
        report = await observed.look_at(machine, way)
        if report.standing is not Standing.ABSENT:
            return report
        if time.monotonic() >= deadline:
            silence.append(report)
            return report
        await asyncio.sleep(POLL)
