"""The stages around work on one machine: its node cordoned, drained, and later given back.

A node that firstlight cordons carries a mark (``model.draining.MARK``), written in the same request: whoever is killed
leaves it there, and the next run goes on. A node that somebody else has cordoned stays cordoned.
"""

from collections.abc import Sequence

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.gates import draining as gate
from firstlight.gates import node_marks
from firstlight.model.cluster import Machine
from firstlight.model.draining import Drain, Fate, Mark, PodFate
from firstlight.operate.node import evicting, nodes


def cordon(machine: Machine, *, command: str) -> Stage:
    """Nothing new is scheduled on the node from now on; the boot that it lives in is remembered on it.

    It writes nothing where the node carries the mark of an earlier run that was killed.

    Args:
        machine: The machine, which must be a node of the cluster.
        command: Who does it, for people who find the mark: ``node upgrade``.
    """
    id = f"{machine.name}:cordon"

    async def look(world: World) -> Change | None:
        node = await nodes.of(machine, world)
        mark, is_cordoned = node_marks.of(node), node_marks.is_cordoned(node)
        if mark is not None and is_cordoned:
            world.tell(id, f"{machine.name} is marked by a run of {mark.command} that has not ended: it goes on")
            return None
        boot = mark.boot if mark is not None else node_marks.boot(node)
        if not boot:
            raise errors.Refused(
                f"the kubelet of {machine.name} does not tell in which boot it lives: nobody could tell its reboot",
                hint="Has it joined? firstlight node list",
            )
        new = node_marks.written(Mark(command=command, boot=boot, is_ours=not is_cordoned))
        what = f"mark {machine.name}, which somebody else has cordoned" if is_cordoned else f"cordon {machine.name}"
        return Change(writes=(what,), perform=lambda: nodes.put(node, world, mark=new, is_cordoned=True))

    return Stage(id=id, name=f"cordon {machine.name}", look=look)


def drain(machine: Machine, wishes: Drain) -> Stage:
    """Its pods go by the Eviction API, as disruption budgets allow, until only those are left that belong to the node.

    While a budget blocks, it is told which one, and whose pod it holds; when ``wishes.patience`` is over the stage is
    refused. Pods that nobody would make again, and pods with data in emptyDir volumes, refuse it at once, unless the
    wishes allow to lose them: nothing is evicted then.
    """
    id = f"{machine.name}:drain"

    async def look(world: World) -> Change | None:
        name = str((await nodes.of(machine, world))["metadata"]["name"])
        found = gate.fates(await nodes.pods(name, world), wishes)
        refuse_losses(machine, found)
        going = [each for each in found if each.fate is Fate.EVICT]
        if not going:
            return None
        return Change(
            writes=tuple(f"evict {each}" for each in going),
            perform=lambda: evicting.evict(name, world, wishes=wishes, tell=lambda text: world.tell(id, text)),
        )

    return Stage(id=id, name=f"drain {machine.name}", look=look)


def refuse_losses(machine: Machine, found: Sequence[PodFate]) -> None:
    """Say everything at once that nobody has agreed to lose.

    Raises:
        errors.Refused: There is something.
    """
    lost = [f"{each}: {each.why}" for each in found if each.fate is Fate.REFUSE]
    if lost:
        raise errors.Refused(
            f"{machine.name} is not drained: {'; '.join(lost)}",
            hint="Nothing was evicted. The options in brackets agree to it.",
        )


def uncordon(machine: Machine) -> Stage:
    """The node takes pods again, and the mark is gone; one that somebody else has cordoned stays so, and that is told.

    It writes nothing where there is no mark.
    """
    id = f"{machine.name}:uncordon"

    async def look(world: World) -> Change | None:
        node = await nodes.of(machine, world)
        mark = node_marks.of(node)
        if mark is None:
            if node_marks.is_cordoned(node):
                world.tell(id, f"{machine.name} is cordoned, and not by firstlight: kubectl uncordon ends that")
            return None
        is_kept = node_marks.is_cordoned(node) and not mark.is_ours
        if is_kept:
            world.tell(id, f"{machine.name} was cordoned before, by somebody else: it stays so")
        what = f"take the mark from {machine.name}" if is_kept else f"uncordon {machine.name}"
        return Change(writes=(what,), perform=lambda: nodes.put(node, world, mark=None, is_cordoned=is_kept))

    return Stage(id=id, name=f"uncordon {machine.name}", look=look)
