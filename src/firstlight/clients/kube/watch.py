"""The loop of a watch: lists, connects, reconnects, and lets ``tracking`` say what is new.

It gets everything that touches the network as functions from ``client``, and the pause between attempts too.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients.kube import kube_errors, retry, transport, watch_tracker

IDLE_TIMEOUT = 150.0
"""Seconds of silence after which a connection counts as dead; bookmarks come about each minute."""

List = Callable[[], Awaitable[tuple[tuple[dict[str, Any], ...], str]]]
"""All objects, and the resource version of the listing."""

Connect = Callable[[str], AbstractAsyncContextManager[AsyncGenerator[bytes, None]]]
"""A watch from a resource version on, as chunks of bytes."""

Pause = Callable[[int], Awaitable[None]]
"""Waits before the next attempt, given how many came to nothing."""

OnCut = Callable[[Exception], None]
"""Told why a watch was interrupted."""

_PASSING = (errors.Unreachable, errors.TimedOut, kube_errors.ServerError, kube_errors.TooManyRequests)


_IN_VAIN = 2


class _Restart(Exception):
    """The place in the history is lost: list again."""


async def follow(
    target: kube_errors.ApiTarget, *, fetch: List, connect: Connect, pause: Pause, on_cut: OnCut
) -> AsyncGenerator[watch_tracker.WatchEvent, None]:
    """Everything there is, then ``Synced``, then every change for ever.

    Raises:
        errors.FirstlightError: The first listing fails, or the server says something that waiting does not
            change.
    """
    tracker = watch_tracker.WatchTracker()
    for event in tracker.take_listing(*await fetch()):
        yield event
    is_lost = False
    failures = 0
    while True:
        failures += 1
        try:
            if is_lost:
                for event in tracker.take_listing(*await fetch()):
                    yield event
                is_lost = False
            async with connect(tracker.position) as chunks, aclosing(_events(chunks, target)) as raw:
                async for kind, item in raw:
                    failures = 0
                    for event in tracker.take_event(kind, item):
                        yield event
        except (_Restart, watch_tracker.VersionWentBack, kube_errors.Gone) as error:
            on_cut(error)
            is_lost = True
        except transport.AttemptFailed as failure:
            on_cut(failure.error)
            # A server that could not be reached was restarted, perhaps on a restored etcd: see below.
            is_lost = is_lost or failure.happened is retry.AttemptEnd.NOT_SENT
        except _PASSING as error:
            on_cut(error)
            # 504 is also said of a resource version that the server has not reached.
            is_lost = is_lost or getattr(error, "code", 0) == 504
        # A server on a restored etcd, where resource versions went backwards, is silent towards a watch from the old
        # place until it gets there. So when twice nothing came, not even a bookmark, a listing tells the truth.
        is_lost = is_lost or failures >= _IN_VAIN
        if failures:
            await pause(failures)


async def _events(
    chunks: AsyncGenerator[bytes, None], target: kube_errors.ApiTarget
) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    splitter = LineSplitter()
    async for chunk in chunks:
        for line in splitter.feed(chunk):
            try:
                event = msgspec.json.decode(line)
                kind, item = event["type"], event["object"]
            except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
                raise transport.AttemptFailed(
                    retry.AttemptEnd.LOST,
                    errors.Unreachable(f"{target}: an event is no JSON", target=target.server),
                ) from None
            if kind == "ERROR":
                error = kube_errors.from_status(target, item, code=int(item.get("code") or 500))
                if isinstance(error, kube_errors.ServerError):
                    raise _Restart(error.message)
                raise error
            yield kind, item


# Lines out of a stream of byte chunks, however long they are.
#
# aiohttp's own line reader fails above 512 KiB, and an event of a watch may be several MB.


class LineSplitter:
    """Collects chunks until a line is complete; each byte is looked at once."""

    def __init__(self, *, keep_empty: bool = False) -> None:
        self._keep_empty = keep_empty
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete with this chunk, without their ends."""
        first, *rest = chunk.split(b"\n")
        self._pending.append(first)
        if not rest:
            return []
        lines = [b"".join(self._pending), *rest[:-1]]
        self._pending = [rest[-1]]
        return lines if self._keep_empty else [line for line in lines if line.strip()]

    def rest(self) -> bytes:
        """What came after the last line end: a line without an end, or a cut event."""
        return b"".join(self._pending)
