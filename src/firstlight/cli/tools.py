"""``firstlight tools``: which external programs there are, and how they get here.

The JSON of ``tools list`` is ``{"cache": path, "tools": [...]}``; each tool has ``name``, ``kind``,
``summary``, ``needed`` (a requirement), ``version`` (what would be installed), ``found`` (``{version, path,
where}`` or null), ``passedOver`` (``[{path, where, why}]``), ``problem``, ``usedBy``, ``sets``, ``ways``,
``buildSeconds``, ``byHand`` and ``variable``. Keys are added, never renamed or removed.
"""

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.tools import cache, catalogue, events, find, install, narration, workshop

_KINDS = {
    catalogue.Kind.PROGRAM: "programs",
    catalogue.Kind.COMPONENT: "components of the lab",
    catalogue.Kind.PEER: "peers, for bench",
}
_WIDTH = 100


class _Group(click.Group):
    """``firstlight tools`` alone lists."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise errors.UsageError(error.message, hint="there are: list, install, path, verify") from error


@click.group(cls=_Group, invoke_without_command=True)
@output.option
@click.pass_context
def tools(ctx: click.Context, form: str) -> None:
    """External programs and lab components: found, needed, installed.

    Without a command it lists them. FIRSTLIGHT_<NAME> gives a tool's path, FIRSTLIGHT_CACHE the place of what
    is installed, FIRSTLIGHT_ACQUIRE the ways that may be tried (download,build), FIRSTLIGHT_MIRROR a base URL
    instead of scheme and host of release downloads.
    """
    if ctx.invoked_subcommand is None:
        _list(form)


@tools.command("list")
@output.option
def list_command(form: str) -> None:
    """What is needed, and what is there."""
    _list(form)


@tools.command("install")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--for", "sets", multiple=True, metavar="SET", help="All that a set needs: lab, demo, tests or bench.")
@click.option("--again", is_flag=True, help="Download or build even what is there already.")
@output.option
def install_command(names: tuple[str, ...], sets: tuple[str, ...], again: bool, form: str) -> None:
    """Download or build what is not there yet."""
    shop = workshop.here()
    wanted = [*(name for set_name in sets for name in shop.catalogue.members(set_name)), *names]
    if not wanted:
        raise errors.UsageError(
            "nothing to install was named", hint="name a tool, or a set: firstlight tools install --for demo"
        )
    width = max(len(name) for name in wanted)
    asyncio.run(_announce(wanted, shop))
    with Drawing(sys.stderr, width=width) as drawing:
        paths = asyncio.run(install.ensure(wanted, drawing.show, shop=shop, again=again))
    if form == "json":
        output.write_json({"tools": {name: str(path) for name, path in paths.items()}})


@tools.command("path")
@click.argument("name")
@output.option
def path_command(name: str, form: str) -> None:
    """Where a tool is; nothing is installed."""
    shop = workshop.here()
    tool = shop.catalogue.get(name)
    search = asyncio.run(find.find(tool, shop))
    if search.problem:
        raise errors.ToolError(search.problem, hint=f"set {tool.variable} right, or unset it")
    if search.found is None:
        hint = f"firstlight tools install {name}" if _ways(tool) else tool.by_hand
        raise errors.ToolError(f"{name} {tool.needed} is not there", hint=hint)
    output.answer(form, str(search.found.path), {"name": name, "path": str(search.found.path)})


@tools.command("verify")
@click.option("--repair", is_flag=True, help="Take damaged binaries away, so that they are installed anew.")
@output.option
def verify_command(repair: bool, form: str) -> int:
    """Compare every binary in the cache with the checksum that it had when it was installed."""
    store = workshop.here().cache
    damaged: list[cache.Damaged] = []
    sound = 0
    for name in store.names():
        for entry in store.entries(name):
            ruin = entry if isinstance(entry, cache.Damaged) else cache.verify(entry)
            if ruin is None:
                sound += 1
            else:
                damaged.append(ruin)
                if repair:
                    asyncio.run(_remove(store, name, ruin))
    if form == "json":
        found = [{"path": str(ruin.path), "why": ruin.why, "removed": repair} for ruin in damaged]
        output.write_json({"sound": sound, "damaged": found})
    else:
        for ruin in damaged:
            print(f"{'removed' if repair else 'damaged'}  {_short(ruin.path)}: {ruin.why}")
        print(f"{sound} sound, {len(damaged)} damaged in {_short(store.root)}")
        if damaged and not repair:
            print("firstlight tools verify --repair takes the damaged ones away")
    return 2 if damaged and not repair else 0


async def ensure(names: Sequence[str]) -> dict[str, Path]:
    """The tools that another command needs, installed if they must be; only what has to be done is shown."""
    shop = workshop.here()
    await _announce(names, shop)
    with Drawing(sys.stderr, width=max(map(len, names))) as drawing:

        def show(event: events.Event) -> None:
            if not (isinstance(event, events.Ready) and event.seconds == 0):
                drawing.show(event)

        return await install.ensure(names, show, shop=shop)


async def _announce(names: Sequence[str], shop: workshop.Workshop) -> None:
    """How long it may take, before it begins."""
    searches = await find.find_all([shop.catalogue.get(name) for name in dict.fromkeys(names)], shop)
    missing = [search.tool for search in searches if search.found is None]
    if not missing:
        return
    seconds = sum(tool.build.seconds for tool in missing if tool.build is not None)
    span = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    print(
        f"{len(missing)} of {len(searches)} programs are not there yet: downloaded, or built in about {span}, once",
        file=sys.stderr,
    )


class Drawing:
    """Events as people read them: a live line on a terminal, and plain lines, not too many, elsewhere."""

    PLAIN_EVERY = 10.0
    """Seconds between two lines about the same work where nobody can overwrite a line."""

    LIVE_EVERY = 0.1

    def __init__(self, out: TextIO, *, width: int = 0, live: bool | None = None) -> None:
        self._out = out
        self._width = width
        watched = out.isatty() and os.environ.get("TERM", "dumb") != "dumb" and "CI" not in os.environ
        self._live = watched if live is None else live
        self._last: tuple[str, str, float] = ("", "", 0.0)
        self._pending = False

    def __enter__(self) -> "Drawing":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def show(self, event: events.Event) -> None:
        """Draw an event; an ``events.Report``."""
        words = narration.tell(event)
        line = f"{event.name:{self._width}}  {words}"
        if isinstance(event, events.Ready | events.PassedOver):
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
            columns = os.get_terminal_size(self._out.fileno()).columns if self._out.isatty() else _WIDTH
            self._out.write(f"\r\x1b[2K{line[: columns - 1]}")
            self._out.flush()
            self._pending = True
        else:
            print(line, file=self._out, flush=True)

    def _clear(self) -> None:
        if self._pending:
            self._out.write("\r\x1b[2K")
            self._out.flush()
            self._pending = False


async def _remove(store: cache.Cache, name: str, ruin: cache.Damaged) -> None:
    def tell(holder: str) -> None:
        print(f"{name}  waiting for {holder}", file=sys.stderr)

    async with store.locked(name, on_wait=tell):
        store.remove(ruin)


def _list(form: str) -> None:
    shop = workshop.here()
    searches = asyncio.run(find.find_all(shop.catalogue.tools.values(), shop))
    if form == "json":
        output.write_json(
            {
                "cache": str(shop.cache.root),
                "tools": [_as_json(search, shop) for search in searches],
            }
        )
        return
    for line in _table(searches):
        print(line.rstrip())


def _as_json(search: find.Search, shop: workshop.Workshop) -> dict[str, Any]:
    tool, found = search.tool, search.found
    return {
        "name": tool.name,
        "kind": tool.kind.value,
        "summary": tool.summary,
        "needed": "" if tool.requirement is None else tool.requirement.text,
        "version": tool.version,
        "found": found and {"version": found.version, "path": str(found.path), "where": found.where.value},
        "passedOver": [
            {"path": str(passed.path), "where": passed.where.value, "why": passed.why} for passed in search.passed_over
        ],
        "problem": search.problem,
        "usedBy": list(tool.used_by),
        "sets": [name for name, members in shop.catalogue.sets.items() if tool.name in members],
        "ways": _ways(tool),
        "buildSeconds": tool.build.seconds if tool.build else 0,
        "byHand": tool.by_hand,
        "variable": tool.variable,
    }


def _table(searches: Sequence[find.Search]) -> list[str]:
    rows = [(_KINDS[search.tool.kind], *_cells(search)) for search in searches]
    widths = [max(len(row[column]) for row in rows) for column in range(1, 5)]
    # The heading of each kind stands over the names, so it has a say in the width of their column.
    widths[0] = max(widths[0], *(len(title) - 2 for title in _KINDS.values()))
    room = max(_WIDTH - sum(widths) - 2 - 2 * 4, 10)
    lines: list[str] = []
    for title in _KINDS.values():
        head = ("needed", "found", "where", "used by")
        lines += ["", f"{title:{widths[0] + 2}}  " + _row(head, [*widths[1:], room])]
        lines += [f"  {_row(row[1:], [*widths, room])}" for row in rows if row[0] == title]
    return [*lines[1:], *_notes(searches)]


def _cells(search: find.Search) -> tuple[str, str, str, str, str]:
    tool, found = search.tool, search.found
    version, where = "missing", _how_to_get(tool)
    if search.problem:
        version, where = "unusable", tool.variable
    if found is not None:
        version = found.version or "?"
        where = "cache" if found.where is find.Where.CACHE else _clip(_short(found.path), 28)
    return tool.name, tool.needed, version, where, ", ".join(tool.used_by)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{_clip(cell, width):{width}}" for cell, width in zip(cells, widths, strict=True))


def _notes(searches: Sequence[find.Search]) -> list[str]:
    """What does not do, and how to get what is missing."""
    lines: list[str] = []
    said = [search for search in searches if search.problem or search.passed_over]
    if said:
        lines += ["", "not used"]
        for search in said:
            if search.problem:
                lines += [f"  {search.problem}"]
            else:
                lines += [f"  {_short(passed.path)}: {passed.why}" for passed in search.passed_over]
    missing = [search.tool for search in searches if search.found is None and not search.problem]
    by_hand = [tool for tool in missing if not _ways(tool)]
    if by_hand:
        lines += ["", "by hand"]
        width = max(len(tool.name) for tool in by_hand)
        for tool in by_hand:
            first, *rest = textwrap.wrap(tool.by_hand, _WIDTH - width - 4)
            lines += [f"  {tool.name:{width}}  {first}", *(" " * (width + 4) + line for line in rest)]
    if len(missing) > len(by_hand):
        lines += ["", "firstlight tools install NAME, or --for lab, downloads or builds what is missing"]
    return lines


def _how_to_get(tool: catalogue.Tool) -> str:
    ways = _ways(tool)
    if not ways:
        return "by hand, see below"
    return " or ".join(ways) + (f", {narration.duration(tool.build.seconds)}" if tool.build else "")


def _ways(tool: catalogue.Tool) -> list[str]:
    return [way for way, there in (("download", tool.download), ("build", tool.build)) if there]


def _short(path: Path) -> str:
    home = str(Path.home())
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + "/") else text


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
