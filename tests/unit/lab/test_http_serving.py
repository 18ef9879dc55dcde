"""Servers of the lab let their own user in, and nobody else."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from firstlight.lab import http_serving, procfs
from firstlight.lab.sources.source_faults import ServerName, SourceFaults
from firstlight.lab.standins import connect
from tests import strangers
from tests.strangers import needs_root


class Echo:
    """A server of the sources that says yes to everything."""

    name: ServerName = "git"

    def repository(self, path: str) -> str:
        return ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="yes")

    def refusal(self, status: int, message: str) -> web.Response:
        return web.Response(status=status)


@pytest_asyncio.fixture(params=["sources", "standins"])
async def at(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[procfs.SocketAddress]:
    runner = (
        http_serving.runner(Echo(), SourceFaults())
        if request.param == "sources"
        else web.AppRunner(connect.ConnectServer(tmp_path).app())
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.71.252.3", 0)
    await site.start()
    yield procfs.SocketAddress(*runner.addresses[0][:2])
    await runner.cleanup()


async def asked(at: procfs.SocketAddress) -> int:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://{at.host}:{at.port}/heartbeat") as first:
            await first.read()
        async with session.get(f"http://{at.host}:{at.port}/heartbeat") as answer:
            assert (first.status, answer.status) in ((200, 200), (403, 403))
            return answer.status


async def test_the_own_user_is_answered(at: procfs.SocketAddress) -> None:
    assert await asked(at) == 200


async def test_another_user_is_refused(at: procfs.SocketAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)

    assert await asked(at) == 403


async def test_a_client_that_the_kernel_does_not_know_is_refused(
    at: procfs.SocketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(procfs, "peer_uid", lambda local, remote: None)

    assert await asked(at) == 403


@needs_root
async def test_nobody_is_refused(at: procfs.SocketAddress) -> None:
    answer, heard = await asyncio.to_thread(
        strangers.as_stranger, lambda: strangers.ask(at.host, at.port, "/heartbeat")
    )

    assert (answer, heard.endswith(http_serving.REFUSAL.encode())) == ("refused", True)
