"""What one user's repos need from elsewhere: fetched once, kept by content, and the same for the whole of a run.

<home>/content/<sum>        archives of charts and commits, and files, named by the SHA-256 of their bytes
<home>/pins/<hash>.json     what a reference was resolved to
<home>/installed/<hash>/    charts as Helm installs them
"""

import asyncio
from pathlib import Path

from firstlight import errors
from firstlight.render import digests, kept
from firstlight.render.charts import fetching, packing, pins
from firstlight.render.charts.fetching import Means
from firstlight.render.charts.wanted import Stored, Wanted
from firstlight.render.once import Once

FETCHES = 4
"""Downloads at once; registries slow down those who want more."""


class ChartStore:
    """Where charts, other repositories and files of the web come from."""

    def __init__(self, home: Path, means: Means, *, offline: bool = False, refresh: bool = False) -> None:
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
        self._resolved: Once[Wanted, Stored] = Once()
        self._verified: dict[str, bytes] = {}
        self._fetching = asyncio.Semaphore(FETCHES)

    @property
    def home(self) -> Path:
        """Its directory."""
        return self._home

    async def get(self, wanted: Wanted) -> Stored:
        """What a reference stands for; whoever asks again in this run gets the same.

        Raises:
            errors.ClientError: It cannot be had.
            errors.Refused: It is not what it was, or has something in it that does not belong there.
            errors.UsageError: It is written in no way that is allowed.
        """
        return await self._resolved.get(wanted, lambda: self._get(wanted))

    async def content(self, stored: Stored) -> bytes:
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
            if found is None or digests.of_bytes(found) != stored.sum:
                raise errors.Refused(f"{stored.wanted.source} is not what it was a moment ago", hint="try again")
            self._verified[stored.sum] = found
        return self._verified[stored.sum]

    async def files(self, stored: Stored) -> dict[str, bytes]:
        """The files of a chart or a commit by their paths in it."""
        return packing.unpack(await self.content(stored))

    async def close(self) -> None:
        """End what is still under way."""
        await self._resolved.close()

    async def _get(self, wanted: Wanted) -> Stored:
        pinned = pins.find(self._home / "pins", wanted)
        is_enough = pinned is not None and (self._offline or (pinned.is_fresh and not self._refresh))
        if pinned is not None and is_enough and self._place(pinned.stored.sum).is_file():
            return pinned.stored
        # The same version must be the same content: a tag that was moved is told, not followed.
        expected = pinned.stored if pinned is not None and wanted.is_exact and not self._refresh else None
        return await self._fetch(wanted, expected=expected)

    async def _fetch(self, wanted: Wanted, *, expected: Stored | None) -> Stored:
        if self._offline:
            raise errors.ClientError(
                f"{wanted.source} is not in the cache, and offline nothing is fetched",
                hint="run it once without --offline",
            )
        async with self._fetching:
            stored, content = await fetching.fetch(wanted, self._means)
        if expected is not None and expected.digest != stored.digest:
            raise errors.Refused(
                f"{wanted.source} was {expected.digest} when it was fetched first, and is {stored.digest} now",
                hint="ask its publisher; --refresh takes it as it is now",
            )
        kept.write(self._place(stored.sum), content, durable=True)
        pins.keep(self._home / "pins", stored)
        return stored

    def _place(self, made: str) -> Path:
        return self._home / "content" / made

    def _read(self, made: str) -> bytes | None:
        content = kept.read(self._place(made))
        if content is not None and digests.of_bytes(content) != made:
            kept.remove(self._place(made))
            return None
        return content
