"""Servers of the lab answer their own user only: the kernel says who is at the other end of a loopback connection.

So nobody needs a credential: neither the sources of a rehearsed repository, nor ``git push`` from a shell. Root is
another user here, too: it has other ways in.
"""

import asyncio
import os
import weakref
from collections.abc import Awaitable, Callable

from aiohttp import web

from firstlight.lab import sockets

REFUSAL = "only the user who started this lab may use it\n"
_judged: weakref.WeakKeyDictionary[asyncio.BaseTransport, bool] = weakref.WeakKeyDictionary()
"""Connections that were asked about; one asks several times."""


def is_own(transport: asyncio.BaseTransport | None) -> bool:
    """Whether a connection comes from a process of this user."""
    if transport is None:
        return False
    if transport not in _judged:
        ends = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        local, remote = (sockets.Address(*end[:2]) if isinstance(end, tuple) else None for end in ends)
        if local is None or remote is None:
            return False
        _judged[transport] = sockets.peer_uid(local, remote) == os.geteuid()
    return _judged[transport]


@web.middleware
async def only(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse whatever another user of this computer asks for."""
    if not is_own(request.transport):
        return web.Response(status=403, text=REFUSAL, headers={"Connection": "close"})
    return await handler(request)
