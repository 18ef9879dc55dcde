"""A state that is reported while something long runs, so that nobody takes it for a hang."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from firstlight.tools import events

_EVERY = 1.0
"""Seconds between two reports while nothing new happens."""


@contextlib.asynccontextmanager
async def beat(report: events.Report, state: Callable[[], events.Event]) -> AsyncIterator[None]:
    """Report a state now, every second, and at the end."""

    async def repeat() -> None:
        while True:
            report(state())
            await asyncio.sleep(_EVERY)

    task = asyncio.create_task(repeat())
    try:
        yield
        report(state())
    finally:
        task.cancel()
