"""Overrides through a proxy that fails: a command does what it is for, or says so and the next one mends it."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube
from tests import overrides
from tests.conftest import sample
from tests.flux import Flux
from tests.overrides import Shop

FAULTS: dict[str, dict[str, Any]] = {
    "409": {"fault": "status", "code": 409},
    "429": {"fault": "status", "code": 429, "retryAfter": 1},
    "503": {"fault": "status", "code": 503},
    "reset-before": {"fault": "reset-before"},
    "reset-after": {"fault": "reset-after"},
    "blackhole": {"fault": "blackhole", "milliseconds": 500},
}
REQUESTS: dict[str, dict[str, int]] = {
    "begin": {"get": 1, "list": 1, "update": 3},
    "apply": {"get": 1, "list": 1, "update": 3},
    "delete": {"get": 1, "list": 1, "update": 1, "delete": 1},
    "end": {"get": 1, "list": 1, "update": 3, "delete": 1},
    "abort": {"get": 1, "list": 1, "update": 3, "delete": 1},
}
"""How many requests of each class are hit: reads are all alike, writes are not."""
CELLS = [
    (name, fault, where, position)
    for name, classes in REQUESTS.items()
    for fault in FAULTS
    for where, count in classes.items()
    for position in range(count)
    if fault != "409" or where in ("update", "delete")
]
SAMPLE = 6


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        cells = sample(metafunc.config, "overrides under faults", CELLS, SAMPLE)
        metafunc.parametrize("cell", cells, ids=["-".join(map(str, cell)) for cell in cells])


@pytest_asyncio.fixture(scope="module")
async def shop(flux: Flux, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    async with overrides.opened(flux, tmp_path_factory.mktemp("overrides")) as found:
        yield found


async def test_a_fault_is_survived_or_told(shop: Shop, cell: tuple[str, str, str, int]) -> None:
    name, fault, where, position = cell
    before = await shop.replicas()
    after = before + 1
    order = await shop.prepared(name, replicas=after)
    faults = shop.flux.lab.faults

    await faults.clear()
    await faults.add(**FAULTS[fault], match={"classes": [where]}, skip=position, times=1)
    told = None
    try:
        async with kube.Client(kube.load(shop.flux.lab.home.kubeconfig_faults)) as client:
            await overrides.perform(order, shop.ground(client=client))
    except errors.FirstlightError as error:
        told = error
    finally:
        (active,) = await faults.active()
        await faults.clear()

    assert active.hits == 1, f"the fault never struck: {active.matched} requests matched"
    if told is None and name in ("end", "abort"):
        assert not await shop.open()
    await shop.next()
    found = await overrides.is_consistent(shop, before=before, after=after)
    is_ended = name == "end"
    if found is not None:
        assert told is None or name != "begin", "it says that it has not begun, and is open"
        await shop.next("end" if is_ended else "abort", replicas=after, revision=order.revision)
    await shop.is_as_git_has_it(after if is_ended else before)


@pytest.mark.long
async def test_a_twentieth_of_all_requests_may_fail_all_the_way(shop: Shop) -> None:
    before = await shop.replicas()
    faults = shop.flux.lab.faults
    await faults.clear()
    await faults.seed(12)
    async with kube.Client(kube.load(shop.flux.lab.home.kubeconfig_faults)) as client:
        for number in range(5):
            after = before + 1 + number
            for name in ("begin", "apply", "end"):
                revision = await shop.mended(after) if name == "end" else ""
                opened = await shop.open()
                if name != "begin" and not opened:
                    break
                order = shop.order(name, id=opened[0].id if opened else "", replicas=after, revision=revision)
                await faults.add("status", code=503, rate=0.03)
                await faults.add("reset-after", rate=0.03)
                with contextlib.suppress(errors.FirstlightError):
                    await overrides.perform(order, shop.ground(client=client))
                await faults.clear()
            await shop.next()
            if await overrides.is_consistent(shop, before=after - 1, after=after) is not None:
                await shop.next("end", replicas=after, revision=await shop.mended(after))
            await shop.mended(after)
            await shop.flux.reconcile("GitRepository", shop.space, shop.space)
            await shop.flux.reconcile("Kustomization", "shop", shop.space)
            await shop.is_as_git_has_it(after)
