"""Work that is done once, however many ask."""

import asyncio

import pytest

from firstlight.render.chart_store import Once


async def test_it_is_done_once_and_everybody_gets_it() -> None:
    once: Once[str, int] = Once()
    done = []

    async def make() -> int:
        done.append(1)
        await asyncio.sleep(0)
        return 7

    assert await asyncio.gather(*(once.get("a", make) for _ in range(5))) == [7] * 5
    assert len(done) == 1


async def test_everybody_gets_the_failure_too() -> None:
    once: Once[str, int] = Once()

    async def fail() -> int:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await once.get("a", fail)


async def test_who_gives_up_does_not_take_it_from_the_others() -> None:
    once: Once[str, int] = Once()
    go = asyncio.Event()

    async def make() -> int:
        await go.wait()
        return 7

    impatient = asyncio.create_task(once.get("a", make))
    patient = asyncio.create_task(once.get("a", make))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.sleep(0)
    go.set()
    assert await patient == 7


async def test_what_nobody_waits_for_is_ended() -> None:
    once: Once[str, None] = Once()
    begun = asyncio.Event()
    ended = []

    async def make() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(1)

    waiting = asyncio.create_task(once.get("a", make))
    await begun.wait()
    waiting.cancel()
    await once.close()
    assert ended == [1]
