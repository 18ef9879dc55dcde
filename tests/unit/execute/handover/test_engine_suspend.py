"""Engines are let go whatever happens, but nobody waits for that for ever."""

import asyncio

import pytest

from firstlight import errors
from firstlight.execute.handover import engine_suspend


async def test_what_must_be_done_is_done_though_somebody_cancels_again_and_again() -> None:
    done: list[str] = []
    may = asyncio.Event()

    async def work() -> None:
        await may.wait()
        done.append("resumed")

    waiting = asyncio.ensure_future(engine_suspend._surely(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    may.set()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert done == ["resumed"]


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_suspend, "LONGEST", 0.01)

    with pytest.raises(errors.ClientError, match="could not be resumed"):
        await engine_suspend._surely(asyncio.sleep(3600))


async def test_what_goes_wrong_is_told() -> None:
    async def work() -> None:
        raise errors.ClientError("no answer")

    with pytest.raises(errors.ClientError, match="no answer"):
        await engine_suspend._surely(work())
