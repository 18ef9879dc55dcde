"""The life of a process that is kept, with a shell script for a machine."""

import asyncio
import contextlib
import dataclasses
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.lab import procfs
from firstlight.lab.lab_part import Part, ReadinessProbe
from firstlight.lab.part_keeper import Keeper
from tests.labs import until

Start = Callable[[str], Awaitable[Keeper]]


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Keeps a script running as a machine; ``boot`` in it says that it is ready."""
    tasks: list[asyncio.Task[None]] = []

    async def make(script: str) -> Keeper:
        ready = f"boot() {{ printf %s $$ > {tmp_path}/ready; }}; echo life >> {tmp_path}/lives\n"
        part = Part(
            name="m", what="", reality="simulated", argv=("/bin/sh", "-c", ready + script),
            probe=ReadinessProbe(mark=tmp_path / "ready", what="its API"), grace=1, switch=tmp_path / "off",
            stale=(tmp_path / "ready",),
        )  # fmt: skip
        kept = Keeper(
            part, log=tmp_path / "log", cwd=tmp_path, env=dict(os.environ), tls=lambda: None, is_ready=lambda _: True
        )
        tasks.append(asyncio.create_task(kept.run()))
        return kept

    yield make
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def state(keeper: Keeper, wanted: str, detail: str = "") -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        status = keeper.status()
        return status.state == wanted and detail in status.detail

    return holds


async def test_a_reboot_is_a_new_life_and_no_fault(start: Start, tmp_path: Path) -> None:
    keeper = await start(f"boot; [ $(wc -l < {tmp_path}/lives) -gt 7 ] && exec sleep 60; sleep 0.1; exit 3")

    await until(lambda: _is(keeper.boots == 8 and keeper.is_ready), "eight lives")

    assert keeper.status().restarts == 0


async def test_a_machine_that_powers_off_stays_off_until_it_is_switched_on(start: Start, tmp_path: Path) -> None:
    keeper = await start(f"boot; [ $(wc -l < {tmp_path}/lives) -gt 1 ] && exec sleep 60; exit 0")

    await until(state(keeper, "resting", "powered off"), "the power to go")
    assert keeper.status().idle
    assert not keeper.is_live
    keeper.switch_on()
    await until(state(keeper, "ready"), "the second life")

    assert not keeper.status().idle
    assert keeper.status().restarts == 0


async def test_a_machine_that_was_off_is_off_when_the_lab_comes_back(start: Start, tmp_path: Path) -> None:
    (tmp_path / "off").write_text("switched off")

    keeper = await start("boot; exec sleep 60")

    await until(state(keeper, "resting", "switched off"), "it to stay off")
    assert not (tmp_path / "lives").exists()


async def test_pulling_the_plug_kills_the_whole_group_and_a_crash_is_counted(start: Start, tmp_path: Path) -> None:
    keeper = await start(f"sleep 60 & printf %s $! > {tmp_path}/child; boot; wait")
    await until(state(keeper, "ready"), "the first life")
    child = int((tmp_path / "child").read_text())

    keeper.switch_off("switched off")
    await until(state(keeper, "resting", "switched off"), "the power to go")

    await until(lambda: _is(not _is_alive(child)), "its child to die with it")
    keeper.switch_on()
    await until(state(keeper, "ready"), "the next life")
    assert keeper.status().restarts == 0
    keeper.kill()
    await until(lambda: _is(keeper.boots == 3 and keeper.is_ready), "it to come back by itself")
    assert keeper.status().restarts == 1


async def test_a_stopped_machine_is_not_live(start: Start) -> None:
    keeper = await start("boot; exec sleep 60")
    await until(state(keeper, "ready"), "its life")

    keeper.pause()
    assert not keeper.is_live
    keeper.unpause()

    assert keeper.is_live


async def test_one_at_rest_comes_back_as_what_it_is_to_be(start: Start) -> None:
    keeper = await start("boot; exec sleep 60")
    await until(state(keeper, "ready"), "its life")

    await keeper.rest("for a while", state="waiting", idle=True)
    resting = keeper.status()
    other = Part(name="m", what="", reality="real", argv=("/bin/sh", "-c", "exec sleep 61"), probe=ReadinessProbe())
    keeper.resume(other)
    await until(state(keeper, "starting"), "the other one")

    assert (resting.state, resting.detail, resting.idle, resting.pid) == ("waiting", "for a while", True, 0)
    assert not keeper.status().idle
    assert keeper.part is other


async def _is(truth: bool) -> bool:
    return truth


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    return False


SERVER = """
import os, socket, sys, time
one = socket.create_server(("127.71.252.5", 0))
open("made", "w").write(str(one.getsockname()[1]))
os.rename("made", "port")
there = socket.create_connection(("127.71.252.5", int(sys.argv[1])))
time.sleep(60)
"""


@pytest.mark.parametrize("kind", ["connected", "listening"])
async def test_a_part_that_answers_nobody_is_ready_once_the_kernel_says_so(kind: str, tmp_path: Path) -> None:
    with socket.create_server(("127.71.252.5", 0)) as server:
        there = procfs.SocketAddress(*server.getsockname())
        probe = ReadinessProbe(connected=there) if kind == "connected" else ReadinessProbe(listening=there)
        argv = (sys.executable, "-c", SERVER, str(there.port))
        kept = Keeper(
            Part(name="m", what="", reality="real", argv=argv, probe=probe, grace=1), log=tmp_path / "log",
            cwd=tmp_path, env=dict(os.environ), tls=lambda: None, is_ready=lambda _: True,
        )  # fmt: skip
        task = asyncio.create_task(kept.run())
        if kind == "listening":
            # Another process has that port: it is not the part that listens there.
            await until(state(kept, "starting", f"waits for {there} to be open"), "it to wait")
            await until(lambda: _is((tmp_path / "port").exists()), "its own port")
            own = procfs.SocketAddress(there.host, int((tmp_path / "port").read_text()))
            kept.part = dataclasses.replace(kept.part, probe=ReadinessProbe(listening=own))
        try:
            await until(state(kept, "ready"), "it to be ready")
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
