"""How many requests are under way at once: grows while the server copes, halves when it does not (AIMD).

``Window`` is the pure core; ``Limiter`` makes requests wait for their turn. One limiter serves all requests
of a client; watches and log streams, which stay open, do not count.
"""

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Self

FIRST = 16
"""Requests at once to begin with: where 16 kept connections already saturate an API server on two cores."""

MOST = 64
"""Far below the 600 that an API server takes by default, which it shares with everybody else."""


@dataclasses.dataclass(frozen=True)
class RequestWindow:
    """The limit, and what led to it.

    ``epoch`` counts the decreases. A burst of refusals is one signal: requests that began before a decrease
    cannot cause another one.
    """

    limit: int = FIRST
    successes: int = 0
    epoch: int = 0
    most: int = MOST

    def succeeded(self) -> Self:
        """After an answer: one more for every full window of them."""
        if self.successes + 1 < self.limit:
            return dataclasses.replace(self, successes=self.successes + 1)
        return dataclasses.replace(self, limit=min(self.limit + 1, self.most), successes=0)

    def congested(self, epoch: int) -> Self:
        """After a 429 or a timeout of a request that began in ``epoch``."""
        if epoch != self.epoch:
            return self
        return dataclasses.replace(self, limit=max(1, self.limit // 2), successes=0, epoch=epoch + 1)


class RequestSlot:
    """The right to have one request under way."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.is_congested = False

    def congested(self) -> None:
        """Say that the server refused or was too slow."""
        self.is_congested = True


class RequestLimiter:
    """Lets at most ``window.limit`` requests through at once, in the order in which they came."""

    def __init__(self, window: RequestWindow | None = None) -> None:
        self.window = window or RequestWindow()
        self.under_way = 0
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[RequestSlot]:
        """Wait for a turn, and keep it inside the ``async with``."""
        await self._enter()
        slot = RequestSlot(self.window.epoch)
        try:
            yield slot
        except BaseException:
            self._leave()
            raise
        self.window = self.window.congested(slot.epoch) if slot.is_congested else self.window.succeeded()
        self._leave()

    async def _enter(self) -> None:
        if self.under_way < self.window.limit and not self._waiting:
            self.under_way += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the turn came in the same moment: pass it on
            else:
                # Whoever left since has passed over it already, if everybody was cancelled in the same moment.
                with contextlib.suppress(ValueError):
                    self._waiting.remove(turn)
            raise

    def _leave(self) -> None:
        self.under_way -= 1
        while self._waiting and self.under_way < self.window.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                # Counted here and not by the one who waits, else a newcomer could slip in between.
                self.under_way += 1
                turn.set_result(None)
