"""What one user's repos need from elsewhere: fetched once, kept by content, and the same for the whole of a run.

<home>/content/<sum>        archives of charts and commits, and files, named by the SHA-256 of their bytes
<home>/pins/<hash>.json     what a reference was resolved to
<home>/installed/<hash>/    charts as Helm installs them
"""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from firstlight import errors
from firstlight.render import cache_files, chart_fetch, chart_packages
from firstlight.render.chart_fetch import FetchClients
from firstlight.render.chart_packages import FetchedContent, FetchRequest, NotCached

FETCHES = 4
"""Downloads at once; registries slow down those who want more."""


class ChartStore:
    """Where charts, other repositories and files of the web come from."""

    def __init__(self, home: Path, means: FetchClients, *, offline: bool = False, refresh: bool = False) -> None:
        """Open the store.

        Args:
            home: Its directory, which need not exist.
            means: What to fetch with.
            offline: Take what is there, however old it is, and fetch nothing.
            refresh: Resolve everything anew, however fresh it is.
        """
        self._home = home
        self._means = means
        self._offline = offline
        self._refresh = refresh
        self._resolved: Once[FetchRequest, FetchedContent] = Once()
        self._verified: dict[str, bytes] = {}
        self._fetching = asyncio.Semaphore(FETCHES)

    @property
    def home(self) -> Path:
        """Its directory."""
        return self._home

    async def get(self, wanted: FetchRequest) -> FetchedContent:
        """What a reference stands for; whoever asks again in this run gets the same.

        Raises:
            errors.ClientError: It cannot be had.
            errors.Refused: It is not what it was, or has something in it that does not belong there.
            errors.UsageError: It is written in no way that is allowed.
        """
        return await self._resolved.get(wanted, lambda: self._get(wanted))

    async def content(self, stored: FetchedContent) -> bytes:
        """The bytes, every one of which was verified.

        Raises:
            errors.ClientError: They are gone or damaged, and cannot be fetched again.
            errors.Refused: They were fetched again, and are others.
        """
        if stored.sum not in self._verified:
            found = self._read(stored.sum)
            if found is None:
                again = await self._fetch(stored.wanted, expected=stored)
                found = self._read(again.sum)
            if found is None or cache_files.bytes_digest(found) != stored.sum:
                raise errors.Refused(f"{stored.wanted.source} is not what it was a moment ago", hint="try again")
            self._verified[stored.sum] = found
        return self._verified[stored.sum]

    async def files(self, stored: FetchedContent) -> dict[str, bytes]:
        """The files of a chart or a commit by their paths in it."""
        return chart_packages.unpack_chart(await self.content(stored))

    async def close(self) -> None:
        """End what is still under way."""
        await self._resolved.close()

    async def _get(self, wanted: FetchRequest) -> FetchedContent:
        pinned = find_pin(self._home / "pins", wanted)
        is_enough = pinned is not None and (self._offline or (pinned.is_fresh and not self._refresh))
        if pinned is not None and is_enough and self._place(pinned.stored.sum).is_file():
            return pinned.stored
        # The same version must be the same content: a tag that was moved is told, not followed.
        expected = pinned.stored if pinned is not None and wanted.is_exact and not self._refresh else None
        return await self._fetch(wanted, expected=expected)

    async def _fetch(self, wanted: FetchRequest, *, expected: FetchedContent | None) -> FetchedContent:
        if self._offline:
            raise NotCached(
                f"{wanted.source} is not in the cache, and offline nothing is fetched",
                hint="run it once without --offline",
            )
        async with self._fetching:
            stored, content = await chart_fetch.fetch(wanted, self._means)
        if expected is not None and expected.digest != stored.digest:
            raise errors.Refused(
                f"{wanted.source} was {expected.digest} when it was fetched first, and is {stored.digest} now",
                hint="ask its publisher; --refresh takes it as it is now",
            )
        cache_files.write_kept(self._place(stored.sum), content, durable=True)
        keep_pin(self._home / "pins", stored)
        return stored

    def _place(self, made: str) -> Path:
        return self._home / "content" / made

    def _read(self, made: str) -> bytes | None:
        content = cache_files.read_kept(self._place(made))
        if content is not None and cache_files.bytes_digest(content) != made:
            cache_files.remove_kept(self._place(made))
            return None
        return content


# What references were resolved to: one small file each, so that processes do not get into each other's way.


RANGE_AGE = 3600.0
"""Seconds after which a range or a branch is resolved anew: as often as Flux looks for new versions in most repos."""


class _Record(msgspec.Struct, frozen=True):
    source: str
    name: str
    version: str
    digest: str
    sum: str
    when: float


@dataclasses.dataclass(frozen=True)
class PinnedReference:
    """What a reference was resolved to, and whether that still holds."""

    stored: FetchedContent
    is_fresh: bool


def find_pin(directory: Path, wanted: FetchRequest) -> PinnedReference | None:
    """What a reference was resolved to before; None if it never was."""
    content = cache_files.read_kept(_place(directory, wanted))
    if content is None:
        return None
    try:
        record = msgspec.json.decode(content, type=_Record)
    except msgspec.DecodeError:
        return None
    stored = FetchedContent(
        wanted=wanted, name=record.name, version=record.version, digest=record.digest, sum=record.sum
    )
    return PinnedReference(stored, wanted.is_exact or 0 <= time.time() - record.when < RANGE_AGE)


def keep_pin(directory: Path, stored: FetchedContent) -> None:
    """Note what a reference was resolved to."""
    record = _Record(
        source=stored.wanted.source, name=stored.name, version=stored.version, digest=stored.digest, sum=stored.sum,
        when=time.time(),
    )  # fmt: skip
    cache_files.write_kept(_place(directory, stored.wanted), msgspec.json.encode(record), durable=True)


def _place(directory: Path, wanted: FetchRequest) -> Path:
    value = dataclasses.asdict(wanted)
    if not wanted.insecure:  # what came without TLS is nobody else's
        del value["insecure"]
    return directory / f"{cache_files.value_digest(value)}.json"


# Work that many ask for and that is done once.


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Once(Generic[K, V]):
    """Answers by question; the first who asks has the work done, and the others wait for it."""

    def __init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """The answer, or the exception that there was instead of one."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.ensure_future(_awaited(make))
            task.add_done_callback(_seen)
        # Whoever gives up waiting must not take the answer from the others.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """End what nobody waits for any more."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


async def _awaited(make: Callable[[], Awaitable[V]]) -> V:
    return await make()


def _seen(task: "asyncio.Task[V]") -> None:
    """Take note of an exception, which else would be complained about if all who asked have gone."""
    if not task.cancelled():
        task.exception()
