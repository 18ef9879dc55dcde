import asyncio

import pytest

from firstlight.lab.sources.source_faults import SourceFaults


@pytest.mark.parametrize(
    ("named", "asked", "strikes"),
    [("", "team/a", True), ("", "", True), ("team/a", "team/a", True), ("team", "team/a", True),
     ("team/a", "team/ab", False), ("team/a", "team", False), ("team/a", "", False)],
)  # fmt: skip
async def test_a_fault_concerns_what_it_names(named: str, asked: str, strikes: bool) -> None:
    faults = SourceFaults()
    faults.add("unavailable", "git", repository=named)

    assert (faults.strike("git", asked) is not None) == strikes
    assert faults.strike("registry", asked) is None
    assert [each.hits for each in faults.active()] == [int(strikes)]


async def test_the_newest_strikes_and_a_cleared_one_lets_go() -> None:
    faults = SourceFaults()
    first = faults.add("unavailable", "git")
    second = faults.add("hang", "git")
    waiting = asyncio.create_task(faults.over(second))
    await asyncio.sleep(0)

    assert faults.strike("git", "a/b") == second
    assert not waiting.done()
    faults.clear(second.id)
    await asyncio.wait_for(waiting, 1)
    struck = faults.strike("git", "a/b")
    assert struck is not None
    assert struck.id == first.id
    faults.clear()
    assert faults.active() == ()


async def test_a_fault_ends_by_itself() -> None:
    faults = SourceFaults()
    fault = faults.add("drop", "charts", seconds=0.01)
    await asyncio.wait_for(faults.over(fault), 1)
    assert faults.active() == ()
