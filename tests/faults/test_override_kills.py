"""Overrides killed before and after every write: the next command finishes them, and nothing rests or is lost."""

import itertools
from collections.abc import AsyncIterator

import msgspec
import pytest
import pytest_asyncio

from firstlight.execute.overrides.override_context import OverrideEvent, OverrideWriting
from tests import overrides
from tests.conftest import sample
from tests.flux import Flux
from tests.overrides import Shop

WRITES = {
    "begin": ("record", "snapshot", "hold", "record"),
    "apply": ("record", "apply"),
    "delete": ("record", "delete"),
    "end": ("ask", "record", "owners", "unshield", "ask", "release", "ask", "forget", "record"),
    "abort": (
        "record", "restore", "owners", "restore", "owners", "unshield", "ask", "release", "ask", "forget", "record",
    ),
}  # fmt: skip
"""What each command writes, in its order."""
CELLS = [
    (command, number, moment)
    for command, writes in WRITES.items()
    for number in range(1, len(writes) + 1)
    for moment in ("before", "after")
]
SAMPLE = 6


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        cells = sample(metafunc.config, "overrides killed", CELLS, SAMPLE)
        metafunc.parametrize("cell", cells, ids=["-".join(map(str, cell)) for cell in cells])


@pytest_asyncio.fixture(scope="module")
async def shop(flux: Flux, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shop]:
    async with overrides.opened(flux, tmp_path_factory.mktemp("overrides")) as found:
        yield found


async def test_the_next_command_finishes_what_was_cut_off(shop: Shop, cell: tuple[str, int, str]) -> None:
    name, number, moment = cell
    before = await shop.replicas()
    after = before + 1
    order = await shop.prepared(name, replicas=after)

    was_killed = await shop.killed(msgspec.structs.replace(order, write=number, moment=moment))

    assert was_killed, f"{name} writes less often than {number} times"
    await shop.next()
    found = await overrides.is_consistent(shop, before=before, after=after)
    is_ended = name == "end"
    if found is not None:
        await shop.next("end" if is_ended else "abort", replicas=after, revision=order.revision)
    await shop.is_as_git_has_it(after if is_ended else before)


async def test_these_are_all_the_writes(shop: Shop) -> None:
    seen: dict[str, tuple[str, ...]] = {}
    after = await shop.replicas() + 1
    for run in (("begin", "apply", "delete", "abort"), ("begin", "apply", "end")):
        for name in run:
            names: list[str] = []

            def tell(event: OverrideEvent, names: list[str] = names) -> None:
                if isinstance(event, OverrideWriting):
                    names.append(event.name)

            revision = await shop.mended(after) if name == "end" else ""
            opened = await shop.open()
            order = shop.order(name, id=opened[0].id if opened else "", replicas=after, revision=revision)
            await overrides.perform(order, shop.ground(tell=tell))
            # A controller may have written in between, so that a write is refused and sent again.
            seen[name] = tuple(each.partition(" ")[0] for each, _ in itertools.groupby(names))
    assert seen == WRITES, seen
    await shop.is_as_git_has_it(after)
