"""Machine configs of a change: one machine first, and the next only when it is well, as ``node apply`` does it."""

import dataclasses

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import nodes
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.component import Phase
from firstlight.model.machine_report import Standing
from firstlight.model.verdict import Skipped, Verdict
from firstlight.observe import machines as observed
from firstlight.operate import reaching
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.node import applying
from firstlight.operate.node.giving import Asked


def stages(cluster: Cluster, preparing: Preparing, world: World) -> tuple[Stage, ...]:
    """A stage for every machine that has an address; those that have their config already write nothing.

    Raises:
        errors.Refused: The files say something of machines that cannot be used.
    """
    declared = preparing.machines(world)
    mine = [each for each in applying.chosen(cluster, ()) if each.address and each.name in declared.drafts]
    made = applying.stages(mine, declared, Asked())
    first = {each.name: "; one machine first" for each in mine[:1]}
    return tuple(
        _guarded(stage, each, cluster, what=f"its config as Git has it{first.get(each.name, '')}")
        for each, stage in zip(mine, made, strict=True)
    )


def _guarded(stage: Stage, machine: Machine, cluster: Cluster, *, what: str) -> Stage:
    """The stage of a machine that is a part of the cluster; nothing for one that has not joined."""

    async def look(world: World) -> Change | None:
        return await stage.look(world) if await _is_ours(machine, world) else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        if await _is_ours(machine, world):
            return await stage.wait(world, on_verdict)
        verdict = Skipped(f"{machine.name} has not joined yet: it gets its config when it does")
        on_verdict(verdict)
        return verdict, ""

    return dataclasses.replace(
        stage, id=f"{cluster.name}:machine:{machine.name}", what=what, phase=Phase.MACHINE, look=look, wait=wait
    )


async def _is_ours(machine: Machine, world: World) -> bool:
    """Whether a machine is a part of the cluster; one that waits in maintenance mode joins by another command.

    Raises:
        errors.Unreachable: It does not answer: whoever goes on would leave it with another config than the others.
    """
    report = await observed.look_at(machine, await reaching.way(world))
    if report.standing is not Standing.ABSENT:
        return report.standing is Standing.OURS
    if nodes.of_machine(machine, (await world.kube.list("v1", "Node")).items) is not None:
        message = f"{machine.name} ({machine.address}) is a node of the cluster, and does not answer"
        raise errors.Unreachable(message, target=machine.address)
    return False
