"""Asks that need no cluster: URLs and commands."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from firstlight.clients import kube
from firstlight.model.observation import Ask, AskRequest, AskResponse
from firstlight.observe import gate_watch

NO_CLUSTER = cast(kube.Client, None)


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """A server that answers 503 to everything."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def ask(ask: Ask, of: str, **given: Any) -> AskResponse:
    return await gate_watch.ask(NO_CLUSTER, AskRequest(ask, of, given))


async def test_a_url_is_held_against_the_status_that_is_expected(address: str) -> None:
    url = f"http://{address}/healthz"

    assert await ask(Ask.HTTP, url, plain_http=[address]) == AskResponse(False, "it answers 503, not 200")
    assert await ask(Ask.HTTP, url, plain_http=[address], status=503) == AskResponse(True, "it answers 503")


async def test_a_url_that_nothing_answers_at_is_a_no() -> None:
    answer = await ask(Ask.HTTP, "http://127.0.0.1:9/", plain_http=["127.0.0.1:9"])

    assert not answer.is_yes
    assert "http://127.0.0.1:9/ cannot be reached" in answer.said


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://169.254.169.254/latest", "https://[::1]/"])
async def test_this_computer_and_the_clouds_own_addresses_are_not_asked(url: str) -> None:
    answer = await ask(Ask.HTTP, url)

    assert not answer.is_yes
    assert "nothing is fetched" in answer.said


async def test_commands_are_refused_unless_somebody_runs_them() -> None:
    asked = AskRequest(Ask.COMMAND, "shop/1", {"run": ["true"]})

    async def run(given: AskRequest) -> AskResponse:
        return AskResponse(given is asked, "ran")

    assert await gate_watch.ask(NO_CLUSTER, asked) == AskResponse(False, "the command shop/1 is not run here")
    assert await gate_watch.ask(NO_CLUSTER, asked, run_command=run) == AskResponse(True, "ran")
