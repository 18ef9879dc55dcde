"""Servers of the lab answer their own user only: the kernel says who is at the other end of a loopback connection.

So nobody needs a credential: neither the sources of a rehearsed repository, nor ``git push`` from a shell. Root is
another user here, too: it has other ways in.
"""

import asyncio
import contextlib
import logging
import os
import re
import weakref
from collections.abc import Awaitable, Callable
from typing import Protocol

from aiohttp import abc, web

from firstlight.lab import procfs
from firstlight.lab.sources.source_faults import ServerName, SourceFault, SourceFaults

REFUSAL = "only the user who started this lab may use it\n"
_judged: weakref.WeakKeyDictionary[asyncio.BaseTransport, bool] = weakref.WeakKeyDictionary()
"""Connections that were asked about; one asks several times."""


def is_own(transport: asyncio.BaseTransport | None) -> bool:
    """Whether a connection comes from a process of this user."""
    if transport is None:
        return False
    if transport not in _judged:
        ends = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        local, remote = (procfs.SocketAddress(*end[:2]) if isinstance(end, tuple) else None for end in ends)
        if local is None or remote is None:
            return False
        _judged[transport] = procfs.peer_uid(local, remote) == os.geteuid()
    return _judged[transport]


@web.middleware
async def own_user_only(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse whatever another user of this computer asks for."""
    if not is_own(request.transport):
        return web.Response(status=403, text=REFUSAL, headers={"Connection": "close"})
    return await handler(request)


# What the three servers have in common: faults on the way in, a line in the log on the way out.


LOG = logging.getLogger("firstlight.lab.sources")
USER = "user"
"""Under this key a request carries who made it, for the log."""
GONE = 499
"""What the log says of a request whose client is gone; nobody gets to see it."""
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


class SourceServer(Protocol):
    """One of the three."""

    name: ServerName

    def repository(self, path: str) -> str:
        """The repository that a path is about; empty if it is about none."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Do what a request asks for."""

    def refusal(self, status: int, message: str) -> web.Response:
        """An error, in the server's own form; with a challenge if the status is 401."""


class AccessLog(abc.AbstractAccessLogger):
    """One line for each request: never a header, and no query but Git's service."""

    @property
    def enabled(self) -> bool:
        """Whether lines are wanted."""
        return self.logger.isEnabledFor(logging.INFO)

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        """Write it."""
        service = request.query.get("service", "") if "service" in request.query_string else ""
        path = request.rel_url.raw_path + (f"?service={service}" if service else "")
        self.logger.info(
            "%s %s %s %s %s %d bytes %.3f s", self.log_format, shown(request.get(USER) or "-"), request.method,
            shown(path), response.status, response.body_length, time,
        )  # fmt: skip


def shown(text: str) -> str:
    """A stranger's text in a line of a log."""
    return _UNPRINTABLE.sub("?", text[:300])


def runner(server: SourceServer, faults: SourceFaults) -> web.AppRunner:
    """What listens for a server."""

    async def handle(request: web.Request) -> web.StreamResponse:
        fault = faults.strike(server.name, server.repository(request.rel_url.raw_path))
        if fault is not None:
            return await _suffer(request, fault, server, faults)
        try:
            return await server.answer(request)
        except ConnectionError:
            return web.Response(status=GONE)

    app = web.Application(middlewares=[own_user_only])
    app.router.add_route("*", "/{rest:.*}", handle)
    # Bodies come as they were sent: to unpack a blob would change its digest.
    return web.AppRunner(
        app, access_log=LOG, access_log_class=AccessLog, access_log_format=server.name, auto_decompress=False,
        shutdown_timeout=0.5, keepalive_timeout=75, lingering_time=5,
    )  # fmt: skip


async def _suffer(
    request: web.Request, fault: SourceFault, server: SourceServer, faults: SourceFaults
) -> web.StreamResponse:
    match fault.kind:
        case "unavailable":
            return server.refusal(503, "unavailable: a fault of the lab")
        case "unauthorized":
            return server.refusal(401, "credentials are refused: a fault of the lab")
        case "hang":
            await _outlast(request, fault, faults)
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=GONE)


async def _outlast(request: web.Request, fault: SourceFault, faults: SourceFaults) -> None:
    """Wait for the end of a fault, or of the client's patience."""
    while request.transport is not None and not request.transport.is_closing():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(faults.over(fault), 1)
            return
