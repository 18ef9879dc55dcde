"""Installing what a command needs, and showing how far that is: for ``tools install`` and for every command like it."""

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TextIO

from firstlight.cli import screen
from firstlight.drawing import table
from firstlight.tools import content, find, install, tool_progress, workshop


async def ensure(names: Sequence[str]) -> dict[str, Path]:
    """The tools that another command needs, installed if they must be; only what has to be done is shown."""
    shop = workshop.here()
    await announce(names, shop)
    with InstallProgress(sys.stderr, width=max(map(len, names))) as drawing:

        def show(event: tool_progress.ToolEvent) -> None:
            if not (isinstance(event, tool_progress.ToolReady) and event.seconds == 0):
                drawing.show(event)

        return await acquire(names, show, shop=shop)


async def acquire(
    names: Iterable[str], report: tool_progress.Report, *, shop: workshop.Workshop, again: bool = False
) -> dict[str, Path]:
    """The path of each tool and each content."""
    tools, contents = shop.catalogue.split(names)
    paths = await install.ensure(tools, report, shop=shop, again=again)
    return paths | await content.ensure(contents, report, shop=shop, again=again)


async def announce(names: Sequence[str], shop: workshop.Workshop) -> None:
    """How long it may take, before it begins."""
    tools, contents = shop.catalogue.split(names)
    searches = await find.find_all([shop.catalogue.get(name) for name in tools], shop)
    missing = [search.tool for search in searches if search.found is None]
    if missing:
        seconds = sum(tool.build.seconds for tool in missing if tool.build is not None)
        how = f"downloaded, or built in about {tool_progress.duration_text(seconds)}, once"
        print(f"{len(missing)} of {len(searches)} programs are not there yet: {how}", file=sys.stderr)
    absent = [name for name in contents if content.find(shop.catalogue.get_content(name), shop) is None]
    if absent:
        how = "taken from Go modules, some seconds each, once"
        print(f"{len(absent)} of {len(contents)} charts and manifests are not there yet: {how}", file=sys.stderr)


class InstallProgress:
    """Events as people read them: a live line on a terminal, and plain lines, not too many, elsewhere."""

    PLAIN_EVERY = 10.0
    """Seconds between two lines about the same work where nobody can overwrite a line."""

    LIVE_EVERY = 0.1

    def __init__(self, out: TextIO, *, width: int = 0, live: bool | None = None) -> None:
        self._out = out
        self._width = width
        self._live = screen.is_live(out) if live is None else live
        self._last: tuple[str, str, float] = ("", "", 0.0)
        self._pending = False

    def __enter__(self) -> "InstallProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def show(self, event: tool_progress.ToolEvent) -> None:
        """Draw an event; an ``events.Report``."""
        words = tool_progress.event_text(event)
        line = f"{event.name:{self._width}}  {words}"
        if isinstance(event, tool_progress.ToolReady | tool_progress.CandidateSkipped):
            self._clear()
            print(line, file=self._out, flush=True)
            return
        # Compiling, linking, waiting: another kind of work is news, whenever it comes.
        name, verb, drawn = self._last
        now = time.monotonic()
        same = (name, verb) == (event.name, words.split()[0])
        if same and now - drawn < (self.LIVE_EVERY if self._live else self.PLAIN_EVERY):
            return
        self._last = (event.name, words.split()[0], now)
        if self._live:
            self._out.write(f"\r\x1b[2K{table.cut(line, table.terminal_columns() - 1)}")
            self._out.flush()
            self._pending = True
        else:
            print(line, file=self._out, flush=True)

    def _clear(self) -> None:
        if self._pending:
            self._out.write("\r\x1b[2K")
            self._out.flush()
            self._pending = False
