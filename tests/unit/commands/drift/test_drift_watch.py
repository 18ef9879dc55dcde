"""Changes that are waited for: whoever stops leaves nothing behind."""

import asyncio

import pytest

from firstlight.commands.drift import drift


async def waits_for_ever() -> None:
    await asyncio.Event().wait()


async def test_who_stops_waiting_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()  # other tests share the loop
    queue: asyncio.Queue[drift._Changed] = asyncio.Queue()
    watch = asyncio.create_task(waits_for_ever())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await drift._gathered(queue, [watch])
    assert asyncio.all_tasks() - before == {watch}
    watch.cancel()


async def test_a_watch_that_ends_ends_the_waiting() -> None:
    before = asyncio.all_tasks()

    async def fails() -> None:
        raise ValueError("gone")

    queue: asyncio.Queue[drift._Changed] = asyncio.Queue()
    with pytest.raises(ValueError, match="gone"):
        await drift._gathered(queue, [asyncio.create_task(fails())])
    assert asyncio.all_tasks() - before == set()


async def test_the_last_change_of_an_object_counts() -> None:
    queue: asyncio.Queue[drift._Changed] = asyncio.Queue()
    kind, key = ("v1", "ConfigMap"), ("shop", "settings")
    for each in ({"data": {"a": "1"}}, {"data": {"a": "2"}}):
        queue.put_nowait((kind, key, each))
    watch = asyncio.create_task(waits_for_ever())
    assert await drift._gathered(queue, [watch]) == {(kind, key): {"data": {"a": "2"}}}
    watch.cancel()
