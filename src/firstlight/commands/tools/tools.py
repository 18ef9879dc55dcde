"""External programs and content: what is needed, what is there, and how the rest gets here.

The JSON of ``tools list`` is ``{"cache": path, "tools": [...], "isolation": {"missing": [{what, kind, reason}]}}``;
``isolation`` says what the kernel does not grant to programs. Each tool has ``name``, ``kind``, ``summary``,
``needed`` (a requirement), ``version`` (what would be installed), ``found`` (``{version, path, where}`` or null),
``passedOver`` (``[{path, where, why}]``), ``problem``, ``usedBy``, ``sets``, ``ways``, ``buildSeconds``, ``byHand``
and ``variable``. Content, which has kind ``content``, is in the same list with the same keys, some of them empty.
Keys are added, never renamed or removed.
"""

import asyncio
import functools
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import install_tools, output
from firstlight.clients.sandbox import isolation
from firstlight.commands.tools.output_form import ToolData
from firstlight.drawing import table
from firstlight.tools import (
    binary_cache,
    catalogue,
    content,
    content_cache,
    content_entry,
    find,
    tool_progress,
    workshop,
)

_KINDS = {
    catalogue.ToolKind.PROGRAM: "programs",
    catalogue.ToolKind.COMPONENT: "components of the lab",
    catalogue.ToolKind.PEER: "peers, for bench",
}
_CONTENT = "charts and manifests"
_WIDTH = 100


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in catalogue.load().names if name.startswith(incomplete)]


@click.command("list")
@output.option
def list_command(form: str) -> None:
    """What is needed, and what is there."""
    show(form)


@click.command("install")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_names)
@click.option("--for", "sets", multiple=True, metavar="SET", help="What a set needs: lab, demo, tests, bench or all.")
@click.option("--again", is_flag=True, help="Download or build even what is there already.")
@output.option
def install_command(names: tuple[str, ...], sets: tuple[str, ...], again: bool, form: str) -> None:
    """Download, build or take out of Go modules what is not there yet."""
    shop = workshop.here()
    wanted = [*(name for set_name in sets for name in shop.catalogue.members(set_name)), *names]
    if not wanted:
        raise errors.UsageError(
            "nothing to install was named", hint="name a tool, or a set: firstlight tools install --for demo"
        )
    width = max(len(name) for name in wanted)
    asyncio.run(install_tools.announce(wanted, shop))
    with install_tools.InstallProgress(sys.stderr, width=width) as drawing:
        paths = asyncio.run(install_tools.acquire(wanted, drawing.show, shop=shop, again=again))
    if form == "json":
        output.write_json({"tools": {name: str(path) for name, path in paths.items()}})


@click.command("path")
@click.argument("name", shell_complete=_names)
@output.option
def path_command(name: str, form: str) -> None:
    """Where a tool or content is; nothing is installed."""
    shop = workshop.here()
    if name in shop.catalogue.content:
        entry = content.find(shop.catalogue.get_content(name), shop)
        if entry is None:
            raise errors.ToolError(f"{name} is not there", hint=f"firstlight tools install {name}")
        output.answer(form, str(entry.path), {"name": name, "path": str(entry.path)})
        return
    tool = shop.catalogue.get(name)
    search = asyncio.run(find.find(tool, shop))
    if search.problem:
        raise errors.ToolError(search.problem, hint=f"set {tool.variable} right, or unset it")
    if search.found is None:
        hint = f"firstlight tools install {name}" if _ways(tool) else tool.by_hand
        raise errors.ToolError(f"{name} {tool.needed} is not there", hint=hint)
    output.answer(form, str(search.found.path), {"name": name, "path": str(search.found.path)})


@click.command("verify")
@click.option("--repair", is_flag=True, help="Take damaged things away, so that they are installed anew.")
@output.option
def verify_command(repair: bool, form: str) -> int:
    """Compare everything in the cache with the checksums that it had when it was installed."""
    store = workshop.here().cache
    damaged: list[binary_cache.DamagedEntry] = []
    sound = 0
    for name, ruin in _examine(store):
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


@click.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=_names)
@output.option
def remove_command(names: tuple[str, ...], form: str) -> None:
    """Take tools and content out of the cache, in every version that is there."""
    shop = workshop.here()
    for name in names:
        # Also what an older catalogue had: it is still there.
        if (
            name not in (*shop.cache.names(), *content_cache.of(shop.cache).names())
            and name not in shop.catalogue.names
        ):
            shop.catalogue.get(name)
    removed = [name for name in dict.fromkeys(names) if asyncio.run(_remove_all(shop.cache, name))]
    if form == "json":
        output.write_json({"removed": removed})
        return
    for name in dict.fromkeys(names):
        print(f"{name}  {'removed' if name in removed else 'is not in the cache'}")


def _examine(store: binary_cache.BinaryCache) -> Iterator[tuple[str, binary_cache.DamagedEntry | None]]:
    """Every binary and every content with its name, and its damage if it has any."""
    for name in store.names():
        for entry in store.entries(name):
            yield name, entry if isinstance(entry, binary_cache.DamagedEntry) else binary_cache.verify(entry)
    shelf = content_cache.of(store)
    for name in shelf.names():
        for kept in shelf.entries(name):
            yield name, kept if isinstance(kept, binary_cache.DamagedEntry) else content_cache.verify(kept)


async def _remove(store: binary_cache.BinaryCache, name: str, ruin: binary_cache.DamagedEntry) -> None:
    async with store.locked(name, on_wait=functools.partial(_tell_waiting, name)):
        store.remove(ruin)


async def _remove_all(store: binary_cache.BinaryCache, name: str) -> bool:
    async with store.locked(name, on_wait=functools.partial(_tell_waiting, name)):
        return store.remove_all(name)


def _tell_waiting(name: str, holder: str) -> None:
    print(f"{name}  waiting for {holder}", file=sys.stderr)


def show(form: str) -> None:
    """List what is needed, and what is there."""
    shop = workshop.here()
    searches, missing = asyncio.run(_looked(shop))
    contents = [(entry, content.find(entry, shop)) for entry in shop.catalogue.content.values()]
    if form == "json":
        listed = [_as_json(search, shop) for search in searches]
        listed += [_content_as_json(entry, found, shop) for entry, found in contents]
        lacking = [{"what": each.what, "kind": each.kind, "reason": each.reason} for each in missing]
        output.write_json({"cache": str(shop.cache.root), "tools": listed, "isolation": {"missing": lacking}})
        return
    for line in (*_table(searches, contents), *_isolation(missing)):
        print(line.rstrip())


async def _looked(shop: workshop.Workshop) -> tuple[list[find.ToolSearch], tuple[isolation.MissingLimit, ...]]:
    return list(await find.find_all(shop.catalogue.tools.values(), shop)), await isolation.try_limits()


def _isolation(missing: tuple[isolation.MissingLimit, ...]) -> Iterator[str]:
    """How far the kernel lets programs be limited."""
    yield ""
    if not missing:
        yield "isolation: complete (memory, processor time, file size, processes; no network while rendering)"
        return
    yield "isolation: this kernel does not grant"
    yield from (f"  {each}" for each in missing)


def _as_json(search: find.ToolSearch, shop: workshop.Workshop) -> ToolData:
    tool, found = search.tool, search.found
    return {
        "name": tool.name,
        "kind": tool.kind.value,
        "summary": tool.summary,
        "needed": "" if tool.requirement is None else tool.requirement.text,
        "version": tool.version,
        "found": {"version": found.version, "path": str(found.path), "where": found.where.value} if found else None,
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


def _content_as_json(
    entry: content_entry.CatalogueContent, found: content_cache.CachedContent | None, shop: workshop.Workshop
) -> ToolData:
    where = find.FoundWhere.CACHE.value
    return {
        "name": entry.name,
        "kind": "content",
        "summary": entry.summary,
        "needed": f"=={entry.version}",
        "version": entry.version,
        "found": {"version": found.provenance.version, "path": str(found.path), "where": where} if found else None,
        "passedOver": [],
        "problem": "",
        "usedBy": list(entry.used_by),
        "sets": [name for name, members in shop.catalogue.sets.items() if entry.name in members],
        "ways": ["modules"],
        "buildSeconds": 0,
        "byHand": "",
        "variable": "",
    }


def _table(
    searches: Sequence[find.ToolSearch],
    contents: Sequence[tuple[content_entry.CatalogueContent, content_cache.CachedContent | None]],
) -> list[str]:
    rows: list[list[str]] = []
    for kind, title in _KINDS.items():
        rows += [[title, "needed", "found", "where", "used by"]]
        rows += [_cells(search) for search in searches if search.tool.kind is kind]
    rows += [[_CONTENT, "needed", "found", "where", "used by"]]
    for entry, found in contents:
        state = [found.provenance.version, "cache"] if found else ["missing", "Go modules"]
        rows += [[f"  {entry.name}", entry.version, *state, ", ".join(entry.used_by)]]
    lines: list[str] = []
    for row, line in zip(rows, table.render(rows, columns=max(table.terminal_columns(), _WIDTH)), strict=True):
        lines += ["", line] if lines and row[0] in (*_KINDS.values(), _CONTENT) else [line]
    return [*lines, *_notes(searches, absent=[entry.name for entry, found in contents if found is None])]


def _cells(search: find.ToolSearch) -> list[str]:
    tool, found = search.tool, search.found
    version, where = "missing", _how_to_get(tool)
    if search.problem:
        version, where = "unusable", tool.variable
    if found is not None:
        version = found.version or "?"
        where = "cache" if found.where is find.FoundWhere.CACHE else table.cut(_short(found.path), 28)
    return [f"  {tool.name}", tool.needed, version, where, ", ".join(tool.used_by)]


def _notes(searches: Sequence[find.ToolSearch], *, absent: Sequence[str]) -> list[str]:
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
    if absent or len(missing) > len(by_hand):
        lines += ["", "firstlight tools install NAME, or --for lab, gets what is missing"]
    return lines


def _how_to_get(tool: catalogue.CatalogueTool) -> str:
    ways = _ways(tool)
    if not ways:
        return "by hand, see below"
    return " or ".join(ways) + (f", {tool_progress.duration_text(tool.build.seconds)}" if tool.build else "")


def _ways(tool: catalogue.CatalogueTool) -> list[str]:
    return [way for way, there in (("download", tool.download), ("build", tool.build)) if there]


def _short(path: Path) -> str:
    home = str(Path.home())
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + "/") else text
