"""Bootstraps etcd, once in the life of a cluster.

Only if every declared control plane answers and none has data; always on the first declared one. Talos refuses a second
bootstrap on the same machine only, and two machines that were both bootstrapped are a split brain that nobody mends.
"""

import asyncio
import time
from collections.abc import Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys, identity
from firstlight.execute.change import Change
from firstlight.execute.machine_gates import POLL
from firstlight.execute.world import World
from firstlight.gates import etcd as gate
from firstlight.gates import machines as machine_gate
from firstlight.model.cluster import Machine
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.work import BootstrapEtcd
from firstlight.observe import machines as observed
from firstlight.observe.machines import Way

READY = 300.0
"""Seconds in which a machine must come to accept a bootstrap: its time is not in sync before."""


async def look(task: BootstrapEtcd, world: World, step: str) -> Change | None:
    """Whether etcd was never bootstrapped.

    Raises:
        errors.Refused: A control plane does not answer, or does not say whether it has data, or there are two clusters.
    """
    way = await cluster_keys.ensure(world)
    if await _is_bootstrapped(task.control_planes, world, way, step):
        return None

    async def perform() -> None:
        # Somebody else may have done it while a person was asked.
        if not await _is_bootstrapped(task.control_planes, world, way, step):
            identity.set_aside(world)
            await _bootstrap(task.first, world, way, step)

    danger = ""
    if known := identity.known(world.state, world.cluster.name):
        # Disks that were wiped, other machines, or other secrets: whoever has a snapshot wants it back instead.
        danger = (
            f"{world.cluster.name} has lived before (kube-system had the UID {known}), and no control plane has data "
            "of it: a new, empty etcd is bootstrapped, which ends the way back to the old one"
        )
    return Change(writes=(f"bootstrap etcd on {task.first.name}",), perform=perform, danger=danger)


async def _is_bootstrapped(machines: Sequence[Machine], world: World, way: Way, step: str) -> bool:
    """Ask until all have said so, or patience is over."""
    deadline = time.monotonic() + world.patience
    while True:
        reports = await observed.look_at_all(machines, way, with_etcd=True)
        history = gate.history(reports)
        strangers = [each for each in reports if each.standing is not Standing.OURS]
        match history:
            case gate.Bootstrapped(on):
                if len(on) < len(machines):
                    world.tell(step, f"etcd has data on {', '.join(on)}; the others join by themselves")
                return True
            case gate.Split(reason):
                raise errors.Refused(reason, hint="Reset the machines of the one that is not wanted, and run again.")
            case gate.Virgin() if not strangers:
                return False
        if any(each.standing is Standing.FOREIGN for each in strangers) or time.monotonic() >= deadline:
            raise _refusal(history, strangers)
        await asyncio.sleep(POLL)


def _refusal(history: gate.History, strangers: Sequence[MachineReport]) -> errors.Refused:
    what = "; ".join(f"{each.machine.name} {machine_gate.state_of(each)}" for each in strangers)
    if not what and isinstance(history, gate.Doubtful):
        what = history.reason
    return errors.Refused(
        f"etcd is not bootstrapped: {what}",
        hint="Every declared control plane must answer and have no data, or there may be two clusters in the end.",
    )


async def _bootstrap(first: Machine, world: World, way: Way, step: str) -> None:
    """On the first machine; it may say for a while that it is not ready."""
    deadline = time.monotonic() + READY
    said = ""
    while True:
        try:
            await way.admin.bootstrap(way.at(first))
        except talosctl.AlreadyDone:
            # Over our own certificate authority, so that it is this cluster's: the answer to an earlier call was lost.
            world.tell(step, f"{first.name}: etcd has data already")
            return
        except (talosctl.NotReadyYet, talosctl.Unreachable, talosctl.TimedOut) as error:
            if time.monotonic() >= deadline:
                raise
            if error.detail != said:
                said = error.detail
                world.tell(step, f"{first.name}: not ready for a bootstrap yet: {said}")
            await asyncio.sleep(POLL)
        else:
            world.tell(step, f"{first.name}: etcd bootstrapped")
            return
