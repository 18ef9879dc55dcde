"""Faults of machines and of what lies on their disks: wiped, without etcd's data, with a config that somebody broke."""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence

from firstlight import errors
from firstlight.commands.down.down import WIPED
from firstlight.commands.recover.drill_context import DrillContext
from firstlight.commands.recover.etcd_restore import LABELS
from firstlight.execute import live_cluster
from firstlight.execute.gate_wait import POLL
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import EtcdData, MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

WIPING = 300.0
"""Seconds for a machine to be bare, or for etcd to be as it was to become."""
WRONG = "cluster: {apiServer: {extraArgs: {event-ttl: two hours}}}\n"
"""What the API server refuses: it wants 2h0m0s."""


def check_three(platform: Platform, cluster: Cluster) -> None:
    """See that etcd can lose a member.

    Raises:
        errors.Refused: It cannot.
    """
    count = len(_planes(cluster))
    if count < 3:
        raise errors.Refused(
            f"{cluster.name} has {count} control plane{'' if count == 1 else 's'} in the repo: with fewer than three "
            "none may be lost",
            hint="Practise another one: etcd, or everything.",
        )


def check_any(platform: Platform, cluster: Cluster) -> None:
    """See that there are machines.

    Raises:
        errors.Refused: There are none.
    """
    if not _planes(cluster):
        raise errors.Refused(f"{cluster.name} has no control planes in the repo")


async def lost_machine(ground: DrillContext) -> str:
    """The last control plane: the first one may be where everybody reaches the API."""
    last = _planes(ground.cluster)[-1]
    await _bare([last], await _way(ground))
    return last.name


async def all_machines(ground: DrillContext) -> str:
    """Every machine of the cluster."""
    await _bare(ground.cluster.machines, await _way(ground))
    return ""


async def etcd_data(ground: DrillContext) -> str:
    """A snapshot is taken, then the data of all members is gone; configs stay."""
    path = ground.lab.home.path / "before-the-drill.snapshot"
    planes = _planes(ground.cluster)
    way = await _way(ground)
    await way.admin.etcd_snapshot(way.at(planes[0]), path)
    await _wipe(planes, way, labels=LABELS)

    async def is_empty() -> bool:
        reports = await machine_survey.look_at_all(planes, way, with_etcd=True)
        return all(each.etcd.data is EtcdData.NONE for each in reports)

    await _until(is_empty, "etcd is not empty")
    return str(path)


async def quorum(ground: DrillContext) -> str:
    """Most members lose their power and then what etcd had on their disks; they come back with their configs.

    Not by a reset: whoever were back before the others were gone would join again, and the quorum would never be lost.
    """
    planes = _planes(ground.cluster)
    gone = [await _virtual(each, ground) for each in planes[-(len(planes) // 2 + 1) :]]
    way = await _way(ground)
    for name in gone:
        await ground.lab.machine(name, "off")
    for name in gone:
        shutil.rmtree(ground.lab.home.machine(name) / "ephemeral" / "etcd")
    for name in gone:
        await ground.lab.machine(name, "on")

    async def is_lost() -> bool:
        reports = await machine_survey.look_at_all(planes, way, with_etcd=True)
        return all(map(_is_without_leader, reports))

    await _until(is_lost, "etcd has its quorum still")
    return ""


async def api_server(ground: DrillContext) -> str:
    """As after a slip of the hand in ``talosctl edit machineconfig``, on every control plane."""
    planes = _planes(ground.cluster)
    way = await _way(ground)
    for each in planes:
        config = await way.admin.machine_config(way.at(each), persistent=True)
        broken = await way.admin.patch_config(config, [Secret(WRONG.encode())])
        await way.admin.apply_config(way.at(each), broken, mode="no-reboot")
    return "machine"


def _is_without_leader(report: MachineReport) -> bool:
    return report.standing is MachineStanding.OURS and not report.etcd.leader


async def _virtual(machine: Machine, ground: DrillContext) -> str:
    """What the lab calls a machine that is declared."""
    endpoint = ground.means.reach.machine(machine.address).partition(":")[0]
    machines = (await ground.lab.status()).machines
    return next(each.name for each in machines if each.endpoint.partition(":")[0] == endpoint)


def _planes(cluster: Cluster) -> list[Machine]:
    return [each for each in cluster.machines if each.role is MachineRole.CONTROL_PLANE]


async def _way(ground: DrillContext) -> MachineAccess:
    async with live_cluster.unconnected(ground.cluster, ground.means) as world:
        return await live_cluster.way(world)


async def _wipe(machines: Sequence[Machine], way: MachineAccess, *, labels: Sequence[str]) -> None:
    """All at once, as if their disks were new: they do not leave etcd before, and their nodes stay."""

    async def one(machine: Machine) -> None:
        await way.admin.reset(
            way.at(machine), graceful=False, reboot=True, wipe="system-disk", system_labels=labels, wait=False
        )

    await asyncio.gather(*map(one, machines))


async def _bare(machines: Sequence[Machine], way: MachineAccess) -> None:
    await _wipe(machines, way, labels=WIPED)

    async def are_bare() -> bool:
        reports = await machine_survey.look_at_all(machines, way)
        return all(each.standing is MachineStanding.MAINTENANCE for each in reports)

    await _until(are_bare, f"{', '.join(each.name for each in machines)}: not in maintenance mode")


async def _until(question: Callable[[], Awaitable[bool]], what: str) -> None:
    deadline = time.monotonic() + WIPING
    while not await question():
        if time.monotonic() > deadline:
            raise errors.TimedOut(f"{what} after {WIPING:g} s")
        await asyncio.sleep(POLL)
