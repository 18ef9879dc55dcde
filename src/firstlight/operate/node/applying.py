"""The repo's configs given to machines that live: one first, and the next only when that one is well."""

import asyncio
import time
from collections.abc import Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.document import mistakes
from firstlight.execute import cluster_keys, quorum
from firstlight.execute.change import Change
from firstlight.execute.machine_gates import POLL
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.secret import Secret
from firstlight.model.verdict import Verdict
from firstlight.observe import machines as observed
from firstlight.observe.machines import Way
from firstlight.operate.node import coming_back, comparing, giving, trying
from firstlight.operate.node.coming_back import Expected
from firstlight.operate.node.comparing import Compared
from firstlight.operate.node.declared_configs import Declared
from firstlight.operate.node.giving import Asked

COMMAND = "node apply"


def chosen(cluster: Cluster, names: Sequence[str]) -> tuple[Machine, ...]:
    """The machines that are meant, in the order in which they get their configs.

    Args:
        cluster: As declared.
        names: In the order that somebody wants; none for all, workers before control planes.

    Raises:
        errors.UsageError: There is none of a name.
    """
    by_name = {each.name: each for each in cluster.machines}
    if missing := [each for each in names if each not in by_name]:
        hint = mistakes.near(missing[0], list(by_name)) or "The repo declares no machines."
        raise errors.UsageError(f"{cluster.name} has no machine {missing[0]}", hint=hint)
    if names:
        return tuple(by_name[each] for each in dict.fromkeys(names))
    return tuple(sorted(cluster.machines, key=lambda each: each.role is MachineRole.CONTROL_PLANE))


async def compare(machines: Sequence[Machine], declared: Declared, world: World) -> tuple[Compared, ...]:
    """What each would do with its config; nothing is written.

    Raises:
        errors.Refused: A machine does not answer, or does not take its config, or the repo has none for it.
    """
    way = await cluster_keys.ensure(world)
    if missing := [each.name for each in machines if each.name not in declared.drafts]:
        when = f" at {declared.revision[:12]}" if declared.revision else ""
        raise errors.Refused(f"the repo has no config for {', '.join(missing)}{when}", hint="Name other machines.")

    deadline = time.monotonic() + world.patience

    async def one(machine: Machine) -> Compared:
        while True:
            try:
                return await comparing.compare(machine, declared, world, way)
            except talosctl.TalosError as error:
                is_passing = isinstance(error, talosctl.NotReadyYet | talosctl.Unreachable | talosctl.TimedOut)
                if not is_passing or time.monotonic() >= deadline:
                    raise errors.Refused(
                        f"{machine.name} does not tell its config: {error.detail}",
                        hint="Bring it back first, or name the others: --machine NAME",
                    ) from error
            await asyncio.sleep(POLL)  # a run that was killed may have sent it into a reboot

    return tuple(await asyncio.gather(*(one(each) for each in machines)))


def stages(machines: Sequence[Machine], declared: Declared, asked: Asked) -> tuple[Stage, ...]:
    """The stages for these machines, one after the other."""
    if not asked.tried:
        return tuple(_stage(each, declared, asked) for each in machines)
    return tuple(stage for each in machines for stage in trying.stages(each, declared, asked))


def _stage(machine: Machine, declared: Declared, asked: Asked) -> Stage:
    """One machine gets its config, and is waited for until that is in force, and it is well."""
    id = f"{machine.name}:apply"
    wanted: list[Secret] = []

    async def look(world: World) -> Change | None:
        way = await cluster_keys.ensure(world)
        found = await comparing.compare(machine, declared, world, way)
        wanted[:] = [] if found.is_equal else [found.wanted]
        if found.is_equal:
            return None
        if found.is_staged:
            return await _reboot(found, world, way, id)
        giving.refuse_pending(found)
        danger = await _danger(found, world, way, id) if found.sight.needs_reboot else ""
        how = " (reboot)" if found.sight.needs_reboot else ""
        what = f"apply the config of {machine.name}{how}"
        return Change(writes=(what,), perform=lambda: giving.give(found, way), danger=danger)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        way = await cluster_keys.ensure(world)
        return await coming_back.wait(
            machine, world, on_verdict, expected=Expected(), timeout=asked.timeout,
            also=(lambda: giving.in_force(machine, wanted[0], way)) if wanted else None,
        )  # fmt: skip

    return Stage(id=id, name=f"configure {machine.name}", look=look, wait=wait)


async def _reboot(found: Compared, world: World, way: Way, step: str) -> Change | None:
    """It has the config on its disk: it is on its way to reboot into it, or somebody must send it there."""
    machine = found.machine
    if (await observed.look_at(machine, way)).stage != "running":
        return None
    return Change(
        writes=(f"reboot {machine.name} into the config that it has on its disk",),
        perform=lambda: way.admin.reboot(way.at(machine), wait=False),
        danger=await _danger(found, world, way, step),
    )


async def _danger(found: Compared, world: World, way: Way, step: str) -> str:
    """What a reboot means: asked of a person, and of etcd."""
    machine = found.machine
    said = [f"{machine.name} reboots{f' ({why})' if (why := giving.first_line(found.sight.reason)) else ''}"]
    if machine.role is MachineRole.CONTROL_PLANE:
        planes = quorum.control_planes(world, [machine])
        said.append(
            await quorum.require(
                machine, planes, way, patience=world.patience, tell=lambda text: world.tell(step, text)
            )
        )
    return "; ".join(said)
