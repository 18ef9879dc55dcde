"""The last lines of containers that rules want, masked before anybody sees them."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping

from firstlight import errors
from firstlight.clients import kube
from firstlight.observe.doctor import masking
from firstlight.policy.diagnosing.scene import WantedLog

TAIL = 50
PATIENCE = 5.0
"""Seconds for one log: a node that is gone answers never."""
MOST = 40
"""Logs that are read: forty pods that fail alike tell the same."""
_AT_ONCE = 8


async def look(
    client: kube.Client, wanted: Iterable[WantedLog], *, hide: Callable[[str], str] = str
) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """Lines by ``WantedLog.key``, and what was not read; of a container that ended before, its end comes first.

    Args:
        client: Of the cluster.
        wanted: Which containers.
        hide: Takes known values out of a line.
    """
    chosen = sorted(set(wanted))
    turn = asyncio.Semaphore(_AT_ONCE)

    async def read(each: WantedLog) -> tuple[str, ...] | None:
        async with turn:
            lines = await _lines(client, each)
            return masking.lines(map(hide, lines)) if lines is not None else None

    found: dict[str, tuple[str, ...]] = {}
    failed = 0
    # Previous ones first, so that lines are in the order in which they were printed.
    taken = sorted(chosen[:MOST], key=lambda each: not each.is_previous)
    for each, lines in zip(taken, await asyncio.gather(*map(read, taken)), strict=True):
        if lines is None:
            failed += not each.is_previous
        elif lines:
            found[each.key] = (*found.get(each.key, ()), *lines)
    return found, _unread(len(chosen) - len(taken), failed)


async def _lines(client: kube.Client, wanted: WantedLog) -> tuple[str, ...] | None:
    printed = client.logs(
        wanted.pod,
        namespace=wanted.namespace,
        container=wanted.container,
        previous=wanted.is_previous,
        tail=TAIL,
    )
    try:
        async with asyncio.timeout(PATIENCE), contextlib.aclosing(printed):
            lines = [each async for each in printed]
    except (errors.ClientError, TimeoutError):
        return None
    return tuple(lines[-TAIL:])


def _unread(left: int, failed: int) -> str:
    said = [f"{left} more that fail alike"] if left > 0 else []
    said += [f"{failed} that no kubelet gave"] if failed else []
    return f"logs: {', '.join(said)}" if said else ""
