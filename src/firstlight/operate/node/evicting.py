"""A node emptied by the Eviction API: asked again and again, until budgets have let everything go."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.world import World
from firstlight.gates import draining as gate
from firstlight.model.draining import Drain, Fate, PodFate
from firstlight.operate.node import nodes

POLL = 1.0
_SHOWN = 5
_NAMESPACE_GOES = "NamespaceTerminating"

Pod = Mapping[str, Any]


async def evict(node: str, world: World, *, wishes: Drain, tell: Callable[[str], None]) -> None:
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
        found = await nodes.pods(node, world)
        going = [each for each in gate.fates(found, wishes) if each.fate is Fate.EVICT]
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
    lines = [gate.held(pod, budgets, said=said) for pod, said in held]
    return _some(lines, "; "), any(gate.is_stuck(pod, budgets) for pod, _ in held)


def _ending(going: Sequence[PodFate]) -> str:
    return f"waits until {_some([str(each) for each in going], ', ')} {'has' if len(going) == 1 else 'have'} ended"


def _some(lines: Sequence[str], between: str) -> str:
    more = len(lines) - _SHOWN
    return between.join(lines[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
