"""Real processes that install the same tool at once, and that are killed in the middle."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from firstlight.tools import binary_cache, content, content_cache, install, tool_progress, workshop
from tests.unit.tools import tiny, tiny_module

PATIENCE = 60
"""Seconds after which a condition that was waited for is taken to be missing for good."""


def gated_go(directory: Path, go: Path, *, command: str = "build") -> Path:
    """A ``go`` that notes each build with its process id, and waits for the file ``gate`` before it begins."""
    path = directory / "gated-go"
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = {command} ]; then\n  echo $$ >> {directory}/builds\n'
        f'  while ! [ -e {directory}/gate ]; do sleep 0.05; done\nfi\nexec {go} "$@"\n'
    )
    path.chmod(0o755)
    return path


class Worker:
    """A process that installs something, and what it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[dict[str, Any]] = []

    async def until(self, kind: str) -> dict[str, Any]:
        """The next event of a kind."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line := await self.process.stdout.readline():
                self.said.append(msgspec.json.decode(line))
                if self.said[-1]["event"] == kind:
                    return self.said[-1]
        raise AssertionError(f"it ended without {kind}, after {self.said}")


@contextlib.asynccontextmanager
async def worker(root: Path, environ: dict[str, str], name: str = "tiny") -> AsyncIterator[Worker]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.tools.worker", str(root), name, env={**os.environ, **environ},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Worker(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - other processes cannot set an Event
            await asyncio.sleep(0.02)


async def until_line(path: Path) -> str:
    await until(lambda: path.exists() and path.read_text().endswith("\n"))
    return path.read_text()


async def until_gone(pid: int) -> None:
    await until(lambda: not Path(f"/proc/{pid}").exists())


async def test_two_processes_build_once_and_both_get_it(
    shop: workshop.Workshop, environ: dict[str, str], go: Path, tmp_path: Path
) -> None:
    environ["FIRSTLIGHT_GO"] = str(gated_go(tmp_path, go))
    async with worker(tmp_path, environ) as first, worker(tmp_path, environ) as second:
        await until_line(tmp_path / "builds")
        # Whichever came first builds; the other one says for whom it waits.
        waits = [asyncio.create_task(one.until("WaitingForLock")) for one in (first, second)]
        done, pending = await asyncio.wait(waits, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.wait(waits)
        waiting = done.pop().result()
        holder = next(one for one in (first, second) if f"process {one.process.pid}," in waiting["holder"])

        (tmp_path / "gate").touch()
        ready = [await one.until("ToolReady") for one in (first, second)]

    assert waiting["holder"] == f"process {holder.process.pid}, which installs tiny"
    assert len((tmp_path / "builds").read_text().split()) == 1
    assert ready[0]["path"] == ready[1]["path"]
    assert sorted(event["how"] for event in ready) == ["build", "cache"]
    assert len(list(shop.cache.entries("tiny"))) == 1


async def test_a_process_killed_while_it_builds_leaves_nothing_to_trip_over(
    shop: workshop.Workshop, environ: dict[str, str], go: Path, tmp_path: Path
) -> None:
    environ["FIRSTLIGHT_GO"] = str(gated_go(tmp_path, go))
    async with worker(tmp_path, environ) as victim:
        compiler = int(await until_line(tmp_path / "builds"))
        staged = list((shop.cache.root / "tmp").iterdir())
        victim.process.send_signal(signal.SIGKILL)
        await victim.process.wait()
    await until_gone(compiler)
    assert staged, "it was killed in the middle"
    assert list((shop.cache.root / "tmp").iterdir()) == staged, "and could not clean up"

    heard: list[tool_progress.ToolEvent] = []
    paths = await install.ensure(["tiny"], heard.append, shop=shop)

    assert paths["tiny"].exists()
    assert not any(isinstance(event, tool_progress.WaitingForLock) for event in heard)
    assert list((shop.cache.root / "tmp").iterdir()) == []
    (entry,) = shop.cache.entries("tiny")
    assert isinstance(entry, binary_cache.CachedBinary)
    assert binary_cache.verify(entry) is None


async def test_a_process_killed_while_it_takes_content_leaves_nothing_to_trip_over(
    environ: dict[str, str], go: Path, tmp_path: Path
) -> None:
    environ["GOPROXY"] = tiny_module.publish(tmp_path / "proxy")
    shop = tiny.shop(tmp_path, environ, known=tiny.CATALOGUE + tiny_module.CONTENT)
    environ["FIRSTLIGHT_GO"] = str(gated_go(tmp_path, go, command="mod"))
    async with worker(tmp_path, environ, "tiny-chart") as victim:
        downloader = int(await until_line(tmp_path / "builds"))
        staged = list((shop.cache.root / "tmp").iterdir())
        victim.process.send_signal(signal.SIGKILL)
        await victim.process.wait()
    await until_gone(downloader)
    assert staged, "it was killed in the middle"
    assert list((shop.cache.root / "tmp").iterdir()) == staged, "and could not clean up"
    assert not (shop.cache.root / "content").exists(), "and had kept nothing"

    heard: list[tool_progress.ToolEvent] = []
    paths = await content.ensure(["tiny-chart"], heard.append, shop=shop)

    assert paths["tiny-chart"].is_dir()
    assert not any(isinstance(event, tool_progress.WaitingForLock) for event in heard)
    assert list((shop.cache.root / "tmp").iterdir()) == []
    (entry,) = content_cache.of(shop.cache).entries("tiny-chart")
    assert isinstance(entry, content_cache.CachedContent)
    assert content_cache.verify(entry) is None


async def test_two_processes_take_content_once(environ: dict[str, str], go: Path, tmp_path: Path) -> None:
    environ["GOPROXY"] = tiny_module.publish(tmp_path / "proxy")
    environ["FIRSTLIGHT_GO"] = str(gated_go(tmp_path, go, command="mod"))
    async with worker(tmp_path, environ, "tiny-chart") as first:
        await until_line(tmp_path / "builds")
        async with worker(tmp_path, environ, "tiny-chart") as second:
            waiting = await second.until("WaitingForLock")
            (tmp_path / "gate").touch()
            ready = [await one.until("ToolReady") for one in (first, second)]

    assert waiting["holder"] == f"process {first.process.pid}, which installs tiny-chart"
    assert len((tmp_path / "builds").read_text().split()) == 1
    assert ready[0]["path"] == ready[1]["path"]
    assert [event["how"] for event in ready] == ["modules", "cache"]
