"""One watch that all who look at the same share: what is there now, and who is told of changes.

Whoever joins is answered with what was listed after joining, never with what was seen before: a gate that asks about an
object that was just written must not be shown the one before it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.model.observation import WatchTarget

SILENCE = 90.0
"""Seconds of silence after which a connection counts as dead; bookmarks come about each minute."""

_MEANS_NEW_KINDS = frozenset({"CustomResourceDefinition", "APIService"})

Objects = tuple[Mapping[str, Any], ...]


class SharedWatch:
    """What one look sees, kept up to date as long as somebody looks."""

    def __init__(
        self, client: kube.Client, look: WatchTarget, *, on_kinds: Callable[[], None], clock: Callable[[], float]
    ) -> None:
        """Prepare; the first who joins starts it.

        Args:
            client: The API.
            look: What to watch.
            on_kinds: Called when the server may serve other kinds than before.
            clock: Seconds, for how long nothing was heard.
        """
        self.look = look
        self.is_unserved = False
        self.trouble = ""
        """Why nothing can be seen now; empty if something can."""
        self.heard_at = clock()
        self.error: BaseException | None = None
        self._client = client
        self._on_kinds = on_kinds
        self._clock = clock
        self._found: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._objects: Objects | None = None
        self._listeners: list[asyncio.Event] = []
        self._wanted = 0
        self._listed = 0
        self._is_settled = False
        self._is_served = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ended: set[asyncio.Task[None]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether nobody looks any more."""
        return not self._listeners

    @property
    def objects(self) -> Objects:
        """What is there, by namespace and name."""
        if self._objects is None:
            self._objects = tuple(self._found[key] for key in sorted(self._found))
        return self._objects

    def join(self, listener: asyncio.Event) -> int:
        """Look here too; the ticket with which ``is_fresh`` is asked. The event is set at every change."""
        self._listeners.append(listener)
        return self.renew()

    def leave(self, listener: asyncio.Event) -> None:
        """Look no more."""
        self._listeners.remove(listener)

    def renew(self) -> int:
        """List again; a new ticket. A listing that has not begun yet serves all who wait for it."""
        self._wanted += 1
        if self._task is None or self._is_settled:
            self._stop()
            self._is_settled = False
            self._task = asyncio.create_task(self._run(), name=f"watch {self.look.kind}")
            self._task.add_done_callback(self._fell)
        return self._wanted

    def is_fresh(self, ticket: int) -> bool:
        """Whether what is known was listed after the ticket was given."""
        return self._listed >= ticket

    def served_now(self) -> None:
        """The server may serve the kind by now: try again, if it was not."""
        self._is_served.set()

    async def close(self) -> None:
        """End the connection."""
        self._stop()
        await asyncio.gather(*self._ended, return_exceptions=True)

    def _stop(self) -> None:
        if self._task is not None:
            self._ended.add(self._task)
            self._task.add_done_callback(self._ended.discard)
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        pace = Pace()
        while True:
            begun = self._wanted
            try:
                await self._follow(begun)
            except kube.UnknownKind:
                self._is_served.clear()
                self._take_all({}, begun, unserved=True)
                if self._is_settled:
                    await self._is_served.wait()
                self._is_settled = False
            except errors.FirstlightError as error:
                self._is_settled = False
                self.trouble = error.message
                self._tell()
                await asyncio.sleep(pace.next())

    async def _follow(self, begun: int) -> None:
        """One list and its watch, until something ends it."""
        look = self.look
        events = self._client.watch(
            look.api_version,
            look.kind,
            namespace=look.namespace or None,
            labels=look.labels,
            fields=f"metadata.name={look.name}" if look.name else "",
            metadata_only=not look.with_content,
            idle_timeout=SILENCE,
        )
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        async with contextlib.aclosing(events):
            async for event in events:
                self.heard_at = self._clock()
                match event:
                    case kube.Synced():
                        self._take_all(found, begun)
                        if not self._is_settled:
                            return
                    case kube.Deleted(object=gone):
                        found.pop(_key(gone), None)
                        self._changed()
                    case kube.Added(object=item) | kube.Modified(object=item):
                        found[_key(item)] = item
                        self._changed()

    def _changed(self) -> None:
        if self._is_settled:
            self._objects = None
            self._tell()
            self._notice_kinds()

    def _take_all(self, found: dict[tuple[str, str], Mapping[str, Any]], begun: int, *, unserved: bool = False) -> None:
        self._found = found
        self._objects = None
        self._listed = begun
        self.is_unserved = unserved
        self.trouble = ""
        # Whoever came after this listing had begun needs another one.
        self._is_settled = self._wanted == begun
        self._tell()
        self._notice_kinds()

    def _fell(self, task: asyncio.Task[None]) -> None:
        """Nothing but a mistake in here ends a watch by itself; those who look must hear of it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.error = error
            self._tell()

    def _notice_kinds(self) -> None:
        if self.look.kind in _MEANS_NEW_KINDS:
            self._on_kinds()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener.set()


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    metadata = item.get("metadata") or {}
    return metadata.get("namespace") or "", metadata.get("name") or ""


# How long to wait before looking again: short at first, because most things come soon, then longer.


FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0


class Pace:
    """Pauses that double from the first to the longest."""

    def __init__(self, *, first: float = FIRST_PAUSE, longest: float = LONGEST_PAUSE) -> None:
        self._first = min(first, longest)
        self._longest = longest
        self._next = self._first

    def next(self) -> float:
        """Seconds to wait now."""
        pause = self._next
        self._next = min(self._longest, pause * 2)
        return pause

    def reset(self) -> None:
        """Something happened: what is waited for may come soon."""
        self._next = self._first
