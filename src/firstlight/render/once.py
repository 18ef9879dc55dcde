"""Work that many ask for and that is done once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Once(Generic[K, V]):
    """Answers by question; the first who asks has the work done, and the others wait for it."""

    def __init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """The answer, or the exception that there was instead of one."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.ensure_future(_awaited(make))
            task.add_done_callback(_seen)
        # Whoever gives up waiting must not take the answer from the others.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End what nobody waits for any more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


async def _awaited(make: Callable[[], Awaitable[V]]) -> V:
    return await make()


def _seen(task: "asyncio.Task[V]") -> None:
    """Take note of an exception, which else would be complained about if all who asked have gone."""
    if not task.cancelled():
        task.exception()
