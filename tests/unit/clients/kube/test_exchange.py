import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.kube import exchange


def test_it_grows_by_one_per_window_of_successes() -> None:
    window = exchange.RequestWindow()

    for _ in range(15):
        window = window.succeeded()
    assert window.limit == 16
    window = window.succeeded()
    assert (window.limit, window.successes) == (17, 0)


def test_a_burst_of_refusals_halves_once() -> None:
    window = exchange.RequestWindow()

    for _ in range(16):
        window = window.congested(0)

    assert (window.limit, window.epoch) == (8, 1)
    assert window.congested(1).limit == 4


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3))))
def test_the_limit_stays_in_its_bounds_and_moves_in_small_steps(outcomes: list[tuple[bool, int]]) -> None:
    window = exchange.RequestWindow()
    for is_success, age in outcomes:
        before = window
        window = window.succeeded() if is_success else window.congested(max(0, window.epoch - age))

        assert 1 <= window.limit <= exchange.MOST
        assert window.limit - before.limit <= 1
        assert window.limit >= before.limit // 2
        if not is_success and age and before.epoch:
            assert window == before


@given(st.integers(1, 64))
def test_it_comes_back_after_any_decrease(limit: int) -> None:
    window = exchange.RequestWindow(limit=limit)

    for _ in range(64 * 64):
        window = window.succeeded()

    assert window.limit == exchange.MOST


async def test_no_more_than_the_limit_are_under_way_and_all_get_their_turn() -> None:
    limiter = exchange.RequestLimiter(exchange.RequestWindow(limit=3, most=3))
    most = 0
    order = []

    async def work(number: int) -> None:
        nonlocal most
        async with limiter.slot():
            most = max(most, limiter.under_way)
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(50)))

    assert (most, limiter.under_way) == (3, 0)
    assert order == sorted(order)


async def test_a_cancelled_one_leaves_its_place_to_the_next() -> None:
    limiter = exchange.RequestLimiter(exchange.RequestWindow(limit=1, most=1))
    release = asyncio.Event()
    done = []

    async def work(number: int) -> None:
        async with limiter.slot():
            if number == 0:
                await release.wait()
            done.append(number)

    tasks = [asyncio.create_task(work(number)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    release.set()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert done == [0, 2, 3]
    assert limiter.under_way == 0


async def test_one_that_is_cancelled_as_its_turn_comes_passes_it_on() -> None:
    limiter = exchange.RequestLimiter(exchange.RequestWindow(limit=1, most=1))
    done = []

    async def work(number: int) -> None:
        async with limiter.slot():
            done.append(number)

    async with limiter.slot():
        tasks = [asyncio.create_task(work(number)) for number in range(2)]
        await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    assert done == [1]
    assert limiter.under_way == 0


async def test_a_failing_request_gives_its_slot_back_and_changes_nothing() -> None:
    limiter = exchange.RequestLimiter()

    with pytest.raises(ValueError, match="no"):
        async with limiter.slot():
            raise ValueError("no")

    assert limiter.under_way == 0
    assert limiter.window == exchange.RequestWindow()


async def test_one_that_is_cancelled_as_somebody_leaves_is_cancelled_and_nothing_else() -> None:
    limiter = exchange.RequestLimiter(exchange.RequestWindow(limit=1))

    async def work() -> None:
        async with limiter.slot():
            pass

    async with limiter.slot():
        waiting = asyncio.create_task(work())
        await asyncio.sleep(0)
        waiting.cancel()
    (ended,) = await asyncio.gather(waiting, return_exceptions=True)

    assert isinstance(ended, asyncio.CancelledError)
    assert limiter.under_way == 0
