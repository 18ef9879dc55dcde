"""Bootstraps etcd, once in the life of a cluster.

Only if every declared control plane answers and none has data; always on the first declared one. Talos refuses a second
bootstrap on the same machine only, and two machines that were both bootstrapped are a split brain that nobody mends.
"""

import asyncio
import time
from collections.abc import Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_access, cluster_identity
from firstlight.execute.gate_wait import POLL
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd, machine_stage
from firstlight.model.cluster import Machine
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.work import BootstrapEtcd
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

READY = 300.0
"""Seconds in which a machine must come to accept a bootstrap: its time is not in sync before."""


async def look(task: BootstrapEtcd, world: World, step: str) -> PendingChange | None:
    """Whether etcd was never bootstrapped.

    Raises:
        errors.Refused: A control plane does not answer, or does not say whether it has data, or there are two clusters.
    """
    way = await cluster_access.ensure(world)
    if await _is_bootstrapped(task.control_planes, world, way, step):
        return None

    async def perform() -> None:
        # Somebody else may have done it while a person was asked.
        if not await _is_bootstrapped(task.control_planes, world, way, step):
            cluster_identity.set_aside(world)
            await _bootstrap(task.first, world, way, step)

    danger = ""
    if known := cluster_identity.known(world.state, world.cluster.name):
        # Disks that were wiped, other machines, or other secrets: whoever has a snapshot wants it back instead.
        danger = (
            f"{world.cluster.name} has lived before (kube-system had the UID {known}), and no control plane has data "
            "of it: a new, empty etcd is bootstrapped, which ends the way back to the old one"
        )
    return PendingChange(writes=(f"bootstrap etcd on {task.first.name}",), perform=perform, danger=danger)


async def _is_bootstrapped(machines: Sequence[Machine], world: World, way: MachineAccess, step: str) -> bool:
    """Ask until all have said so, or patience is over."""
    deadline = time.monotonic() + world.patience
    while True:
        reports = await machine_survey.look_at_all(machines, way, with_etcd=True)
        history = etcd.history(reports)
        strangers = [each for each in reports if each.standing is not MachineStanding.OURS]
        match history:
            case etcd.Bootstrapped(on):
                if len(on) < len(machines):
                    world.tell(step, f"etcd has data on {', '.join(on)}; the others join by themselves")
                return True
            case etcd.SplitBrain(reason):
                raise errors.Refused(reason, hint="Reset the machines of the one that is not wanted, and run again.")
            case etcd.Virgin() if not strangers:
                return False
        if any(each.standing is MachineStanding.FOREIGN for each in strangers) or time.monotonic() >= deadline:
            raise _refusal(history, strangers)
        await asyncio.sleep(POLL)


def _refusal(history: etcd.History, strangers: Sequence[MachineReport]) -> errors.Refused:
    what = "; ".join(f"{each.machine.name} {machine_stage.state_of(each)}" for each in strangers)
    if not what and isinstance(history, etcd.Doubtful):
        what = history.reason
    return errors.Refused(
        f"etcd is not bootstrapped: {what}",
        hint="Every declared control plane must answer and have no data, or there may be two clusters in the end.",
    )


async def _bootstrap(first: Machine, world: World, way: MachineAccess, step: str) -> None:
    """On the first machine; it may say for a while that it is not ready."""
    deadline = time.monotonic() + READY
    said = ""
    while True:
        try:
            await way.admin.bootstrap(way.at(first))
        except talosctl.TalosAlreadyDone:
            # Over our own certificate authority, so that it is this cluster's: the answer to an earlier call was lost.
            world.tell(step, f"{first.name}: etcd has data already")
            return
        except (talosctl.TalosNotReady, talosctl.TalosUnreachable, talosctl.TalosTimedOut) as error:
            if time.monotonic() >= deadline:
                raise
            progress = f"{first.name}: not ready for a bootstrap yet: {error.detail}"
            if progress != said:
                said = progress
                world.tell(step, said)
            await asyncio.sleep(POLL)
        else:
            world.tell(step, f"{first.name}: etcd bootstrapped")
            return
