"""One request to git's own server programs: the body goes in as it comes, the answer goes out as it is made."""

import asyncio
import contextlib
import os
import signal
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from aiohttp import web

IDLE = 60
"""Seconds without a byte from the client, after which a request is over."""
FETCH_LIMIT = 64 << 20
"""Bytes of what a client says that it wants and has: a million commits."""
_CHUNK = 1 << 16
_GRACE = 10
"""Seconds for git to tidy up after a client that went away."""


class BadBodyError(Exception):
    """A request's body is not what it says, or too much."""


async def serve(
    request: web.Request,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    headers: Mapping[str, str],
    limit: int,
    preface: bytes = b"",
    on_request: Callable[[bytes], None] = lambda _: None,
    on_answer: Callable[[bytes], None] = lambda _: None,
    to_the_end: bool = False,
) -> tuple[web.StreamResponse | None, str]:
    """Let a program answer a request.

    Args:
        request: The request.
        argv: The program.
        env: Its whole environment.
        headers: Those of the answer.
        limit: How much it may be told.
        preface: What the answer begins with.
        on_request: Sees every part of the body that the program got.
        on_answer: Sees every part of what it answered.
        to_the_end: Whether the program may finish what it does when the client is gone.

    Returns:
        The answer, sent; None if the program failed without a word. And what it complained about.

    Raises:
        BadBodyError: The program could not be told what it should do.
    """
    process = await asyncio.create_subprocess_exec(
        *argv, env=env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, start_new_session=True, limit=4 * _CHUNK,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    complaints = asyncio.create_task(_last(process.stderr))
    feeding = asyncio.create_task(_feed(request, process.stdin, limit, on_request))
    try:
        first = await process.stdout.read(_CHUNK)
        if feeding.done() or not first:
            await feeding
        if not first and await process.wait() != 0:
            return None, await complaints
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        if preface:
            await response.write(preface)
        while first:
            on_answer(first)
            await response.write(first)
            first = await process.stdout.read(_CHUNK)
        await process.wait()
        await response.write_eof()
        return response, await complaints
    finally:
        process.stdin.close()
        feeding.cancel()
        await _end(process, _GRACE if to_the_end else 0, on_answer)
        complaints.cancel()
        await asyncio.gather(feeding, complaints, return_exceptions=True)


async def _feed(
    request: web.Request, stdin: asyncio.StreamWriter, limit: int, on_request: Callable[[bytes], None]
) -> None:
    try:
        async for chunk in _body(request, limit):
            on_request(chunk)
            stdin.write(chunk)
            await stdin.drain()
    except (BrokenPipeError, ConnectionResetError, web.RequestPayloadError):
        # Either git has heard enough and says why, or the client is gone and nobody listens.
        return
    except TimeoutError as error:
        raise BadBodyError(f"nothing came for {IDLE} s") from error
    finally:
        stdin.close()


async def _body(request: web.Request, limit: int) -> AsyncIterator[bytes]:
    """The body, unpacked if it is packed; what is unpacked at once is bounded."""
    encoding = request.headers.get("Content-Encoding", "").lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise BadBodyError(f"content encoding {encoding[:20]!r} is not understood")
    unpack = zlib.decompressobj(31) if encoding.endswith("gzip") else None
    size = 0
    while True:
        async with asyncio.timeout(IDLE):
            chunk = await request.content.readany()
        if not chunk:
            break
        while chunk:
            part, chunk = (chunk, b"") if unpack is None else _unpack(unpack, chunk)
            size += len(part)
            if size > limit:
                raise BadBodyError(f"more than {limit >> 20} MiB")
            if part:
                yield part
    if unpack is not None and size and not unpack.eof:
        raise BadBodyError("the packed body ends too early")


def _unpack(unpack: "zlib._Decompress", chunk: bytes) -> tuple[bytes, bytes]:
    try:
        part = unpack.decompress(chunk, 4 * _CHUNK)
    except zlib.error as error:
        raise BadBodyError("the body is not packed as it says") from error
    return part, unpack.unconsumed_tail


async def _last(stream: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await stream.read(_CHUNK):
        kept = (kept + chunk)[-4096:]
    return kept.decode(errors="replace").strip()


async def _end(process: asyncio.subprocess.Process, grace: float, on_answer: Callable[[bytes], None]) -> None:
    """With grace, let it come to its end by itself: its input is closed, and git tidies up after a push cut off."""
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(grace):
            while chunk := await process.stdout.read(_CHUNK):
                on_answer(chunk)
            await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
