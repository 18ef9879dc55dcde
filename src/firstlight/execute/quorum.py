"""Whether etcd can do without a control plane for the time of its reboot, counted over all members that it knows."""

import asyncio
import time
from collections.abc import Callable, Sequence

from firstlight import errors
from firstlight.execute.machine_gates import POLL
from firstlight.execute.world import World
from firstlight.gates import etcd as gate
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.verdict import Passed, Verdict
from firstlight.observe import machines as observed
from firstlight.observe.machines import Way


def control_planes(world: World, machines: Sequence[Machine] = ()) -> tuple[Machine, ...]:
    """Every control plane that is declared, not only those of a step."""
    found = {each.name: each for each in (*world.cluster.machines, *machines) if each.role is MachineRole.CONTROL_PLANE}
    return tuple(found.values())


async def judge(machine: Machine, planes: Sequence[Machine], way: Way) -> Verdict:
    """Whether it can now; looked at once."""
    return gate.without(await observed.look_at_all(planes, way, with_etcd=True), machine.name)


async def require(
    machine: Machine, planes: Sequence[Machine], way: Way, *, patience: float, tell: Callable[[str], None]
) -> str:
    """Wait until it can: another machine may just be on its way back from a reboot.

    Args:
        machine: The one that is to reboot.
        planes: All control planes.
        way: How they are reached.
        patience: Seconds.
        tell: Told what is waited for.

    Returns:
        What becomes of etcd meanwhile.

    Raises:
        errors.Refused: It cannot, and patience is over.
    """
    deadline = time.monotonic() + patience
    told = ""
    while True:
        verdict = await judge(machine, planes, way)
        if isinstance(verdict, Passed):
            return verdict.reason
        if time.monotonic() >= deadline:
            raise errors.Refused(
                f"{machine.name} is not rebooted: {verdict.reason}",
                hint="Bring the other members back, or take those that are gone out of etcd: talosctl etcd "
                "remove-member. Then run again.",
            )
        if verdict.reason != told:
            told = verdict.reason
            tell(f"{machine.name}: its reboot waits: {told}")
        await asyncio.sleep(POLL)
