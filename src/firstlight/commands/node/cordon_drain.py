"""The stages around work on one machine: its node cordoned, drained, and later given back.

A node that firstlight cordons carries a mark (``model.draining.MARK``), written in the same request: whoever is killed
leaves it there, and the next run goes on. A node that somebody else has cordoned stays cordoned.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.node import drain_rules, machine_lookup
from firstlight.commands.node.drain_rules import DrainFate, DrainOptions, MaintenanceMark, PodFate
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.cluster import Machine


def cordon(machine: Machine, *, command: str) -> WalkStage:
    """Nothing new is scheduled on the node from now on; the boot that it lives in is remembered on it.

    It writes nothing where the node carries the mark of an earlier run that was killed.

    Args:
        machine: The machine, which must be a node of the cluster.
        command: Who does it, for people who find the mark: ``node upgrade``.
    """
    id = f"{machine.name}:cordon"

    async def look(world: World) -> PendingChange | None:
        node = await machine_lookup.require_node(machine, world)
        mark, is_cordoned = drain_rules.mark_of(node), drain_rules.is_cordoned(node)
        if mark is not None and is_cordoned:
            world.tell(id, f"{machine.name} is marked by a run of {mark.command} that has not ended: it goes on")
            return None
        boot = mark.boot if mark is not None else drain_rules.boot_id(node)
        if not boot:
            raise errors.Refused(
                f"the kubelet of {machine.name} does not tell in which boot it lives: nobody could tell its reboot",
                hint="Has it joined? firstlight node list",
            )
        new = drain_rules.written_mark(MaintenanceMark(command=command, boot=boot, is_ours=not is_cordoned))
        what = f"mark {machine.name}, which somebody else has cordoned" if is_cordoned else f"cordon {machine.name}"
        return PendingChange(
            writes=(what,), perform=lambda: machine_lookup.put_mark(node, world, mark=new, is_cordoned=True)
        )

    return WalkStage(id=id, name=f"cordon {machine.name}", look=look)


def drain(machine: Machine, wishes: DrainOptions) -> WalkStage:
    """Its pods go by the Eviction API, as disruption budgets allow, until only those are left that belong to the node.

    While a budget blocks, it is told which one, and whose pod it holds; when ``wishes.patience`` is over the stage is
    refused. Pods that nobody would make again, and pods with data in emptyDir volumes, refuse it at once, unless the
    wishes allow to lose them: nothing is evicted then.
    """
    id = f"{machine.name}:drain"

    async def look(world: World) -> PendingChange | None:
        name = str((await machine_lookup.require_node(machine, world))["metadata"]["name"])
        found = drain_rules.fates(await machine_lookup.pods_on(name, world), wishes)
        refuse_losses(machine, found)
        going = [each for each in found if each.fate is DrainFate.EVICT]
        if not going:
            return None
        return PendingChange(
            writes=tuple(f"evict {each}" for each in going),
            perform=lambda: evict(name, world, wishes=wishes, tell=lambda text: world.tell(id, text)),
        )

    return WalkStage(id=id, name=f"drain {machine.name}", look=look)


def refuse_losses(machine: Machine, found: Sequence[PodFate]) -> None:
    """Say everything at once that nobody has agreed to lose.

    Raises:
        errors.Refused: There is something.
    """
    lost = [f"{each}: {each.why}" for each in found if each.fate is DrainFate.REFUSE]
    if lost:
        raise errors.Refused(
            f"{machine.name} is not drained: {'; '.join(lost)}",
            hint="Nothing was evicted. The options in brackets agree to it.",
        )


def uncordon(machine: Machine) -> WalkStage:
    """The node takes pods again, and the mark is gone; one that somebody else has cordoned stays so, and that is told.

    It writes nothing where there is no mark.
    """
    id = f"{machine.name}:uncordon"

    async def look(world: World) -> PendingChange | None:
        node = await machine_lookup.require_node(machine, world)
        mark = drain_rules.mark_of(node)
        if mark is None:
            if drain_rules.is_cordoned(node):
                world.tell(id, f"{machine.name} is cordoned, and not by firstlight: kubectl uncordon ends that")
            return None
        is_kept = drain_rules.is_cordoned(node) and not mark.is_ours
        if is_kept:
            world.tell(id, f"{machine.name} was cordoned before, by somebody else: it stays so")
        what = f"take the mark from {machine.name}" if is_kept else f"uncordon {machine.name}"
        return PendingChange(
            writes=(what,), perform=lambda: machine_lookup.put_mark(node, world, mark=None, is_cordoned=is_kept)
        )

    return WalkStage(id=id, name=f"uncordon {machine.name}", look=look)


# A node emptied by the Eviction API: asked again and again, until budgets have let everything go.


POLL = 1.0
_SHOWN = 5
_NAMESPACE_GOES = "NamespaceTerminating"

Pod = Mapping[str, Any]


async def evict(node: str, world: World, *, wishes: DrainOptions, tell: Callable[[str], None]) -> None:
    """Empty a node.

    Args:
        node: Its name.
        world: The cluster.
        wishes: What may be lost, and how long it may take.
        tell: Told what is waited for, whenever that is something else.

    Raises:
        errors.Refused: Budgets, or pods that do not end, hold it up longer than that; or for ever.
    """
    deadline = time.monotonic() + wishes.patience
    told = ""
    while True:
        found = await machine_lookup.pods_on(node, world)
        going = [each for each in drain_rules.fates(found, wishes) if each.fate is DrainFate.EVICT]
        if not going:
            return
        by_uid = {each["metadata"]["uid"]: each for each in found}
        held = [(by_uid[each.uid], said) for each in going if (said := await _asked(each, world)) is not None]
        why, is_stuck = await _why(held, world) if held else (_ending(going), False)
        if is_stuck or time.monotonic() >= deadline:
            raise errors.Refused(
                f"{node} is not drained: {why}",
                hint="Correct the budget, or let there be more pods of it; then run again: it goes on. To end it: "
                f"kubectl uncordon {node}",
            )
        if why != told:
            told = why
            tell(why)
        await asyncio.sleep(POLL)


async def _asked(pod: PodFate, world: World) -> str | None:
    """Ask for one pod to go; what the server says where it does not let it."""
    if pod.is_leaving:
        return None
    try:
        await world.kube.evict(pod.name, namespace=pod.namespace, uid=pod.uid)
    except (kube.NotFound, kube.Conflict):
        pass  # it has gone by itself, and another one may have its name
    except kube.Forbidden as error:
        if not any(each.reason == _NAMESPACE_GOES for each in error.causes):
            raise
        # Its namespace is being deleted, and it goes with that.
    except (kube.TooManyRequests, kube.ServerError) as error:
        return "; ".join(each.message for each in error.causes if each.message) or error.detail
    return None


async def _why(held: Sequence[tuple[Pod, str]], world: World) -> tuple[str, bool]:
    """Which budgets hold these pods, and whether they will for ever."""
    budgets = (await world.kube.list("policy/v1", "PodDisruptionBudget")).items
    lines = [drain_rules.held_reason(pod, budgets, said=said) for pod, said in held]
    return _some(lines, "; "), any(drain_rules.is_stuck(pod, budgets) for pod, _ in held)


def _ending(going: Sequence[PodFate]) -> str:
    return f"waits until {_some([str(each) for each in going], ', ')} {'has' if len(going) == 1 else 'have'} ended"


def _some(lines: Sequence[str], between: str) -> str:
    more = len(lines) - _SHOWN
    return between.join(lines[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
