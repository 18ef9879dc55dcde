"""Acquiring tools: found as they are, else downloaded, else built; each is checked before it is kept.

Called by the lab, by every command that needs an external program, and by ``firstlight tools install``.
"""

import time
from collections.abc import Iterable
from pathlib import Path

from firstlight import errors
from firstlight.tools import binary_cache, catalogue, download, find, go_build, go_toolchain, tool_progress, workshop

_downloads = download.Downloads()


async def ensure(
    names: Iterable[str],
    report: tool_progress.Report = tool_progress.ignore,
    *,
    shop: workshop.Workshop | None = None,
    again: bool = False,
) -> dict[str, Path]:
    """The path of each tool, after whatever it takes to have it, one after the other in the order given.

    Args:
        names: Names of the catalogue; ``catalogue.load().members("lab")`` gives those of a set.
        report: Called with each event, ``events.Ready`` as soon as a tool can be used.
        shop: Where to look and work; this process's environment if it is not given.
        again: Download or build even what is there already, unless the user gave a path.

    Raises:
        errors.UsageError: There is no tool of such a name.
        errors.ToolError: A tool cannot be had, or the user's own path to it is wrong.
    """
    shop = shop or workshop.here()
    tools = [shop.catalogue.get(name) for name in dict.fromkeys(names)]
    searches = await find.find_all(tools, shop)
    for search in searches:
        if search.problem:
            raise errors.ToolError(search.problem, hint=f"set {search.tool.variable} right, or unset it")
    paths = {}
    for search in searches:
        tool, found = search.tool, search.found
        for passed in search.passed_over:
            report(tool_progress.CandidateSkipped(tool.name, str(passed.path), passed.why))
        if found is None or (again and found.where is not find.FoundWhere.GIVEN):
            try:
                paths[tool.name] = await _acquire(tool, shop, report, again=again)
            except OSError as error:
                # A full disk, a home that cannot be written: nothing that another way would cure.
                raise errors.ToolError(
                    f"{tool.name} could not be installed in {shop.cache.root}: {error}",
                    hint="FIRSTLIGHT_CACHE names another place for what is installed",
                ) from error
        else:
            report(tool_progress.ToolReady(tool.name, found.version, found.path, found.where.value, 0.0))
            paths[tool.name] = found.path
    return paths


async def _acquire(
    tool: catalogue.CatalogueTool, shop: workshop.Workshop, report: tool_progress.Report, *, again: bool
) -> Path:
    def tell(holder: str) -> None:
        report(tool_progress.WaitingForLock(tool.name, holder))

    started = time.monotonic()
    async with shop.cache.locked(tool.name, on_wait=tell):
        entry, damaged = shop.cache.look_up(tool.name, shop.recipes(tool))
        for ruin in damaged:
            shop.cache.remove(ruin)
        how = "cache"
        if entry is None or again:
            entry = await _make(tool, shop, report)
            how = entry.provenance.how
    report(tool_progress.ToolReady(tool.name, entry.provenance.version, entry.path, how, time.monotonic() - started))
    return entry.path


async def _make(
    tool: catalogue.CatalogueTool, shop: workshop.Workshop, report: tool_progress.Report
) -> binary_cache.CachedBinary:
    reasons = []
    for way in shop.ways:
        with shop.cache.stage(tool.name) as stage:
            made = await (_download if way == "download" else _build)(tool, shop, stage, report)
        if isinstance(made, binary_cache.CachedBinary):
            return made
        reasons.append(f"{way}: {made.why}")
        if not made.known:
            report(
                tool_progress.CandidateSkipped(tool.name, {"download": "downloaded", "build": "built"}[way], made.why)
            )
    reasons += [f"{way}: FIRSTLIGHT_ACQUIRE does not allow it" for way in workshop.WAYS if way not in shop.ways]
    raise errors.ToolError(
        f"{tool.name} {tool.needed} cannot be had:\n" + "\n".join(f"    {reason}" for reason in reasons),
        hint=f"{tool.by_hand} Or set {tool.variable} to its path.".lstrip(),
    )


async def _download(
    tool: catalogue.CatalogueTool, shop: workshop.Workshop, stage: Path, report: tool_progress.Report
) -> binary_cache.CachedBinary | download.ReleaseUnavailable:
    started = time.monotonic()
    fetched = await _downloads.fetch(tool, shop, stage=stage, report=report)
    if isinstance(fetched, download.ReleaseUnavailable):
        return fetched
    await _check(fetched.binary, tool, shop)
    recipe = workshop.download_recipe(tool, machine=shop.target)
    return shop.cache.publish(
        fetched.binary,
        binary_cache.describe(
            fetched.binary, name=tool.name, version=tool.version, recipe=recipe,
            key=workshop.key_of(recipe, fetched.sha256), how="download", origin=fetched.url, go="",
            system=shop.target.system, machine=shop.target.machine, seconds=time.monotonic() - started,
        ),
    )  # fmt: skip


async def _build(
    tool: catalogue.CatalogueTool, shop: workshop.Workshop, stage: Path, report: tool_progress.Report
) -> binary_cache.CachedBinary | download.ReleaseUnavailable:
    if tool.build is None:
        return download.ReleaseUnavailable(tool.by_hand or "its sources cannot be built here")

    def tell(holder: str) -> None:
        report(tool_progress.WaitingForLock(tool.name, holder))

    module = shop.module(tool.build)
    go = await go_toolchain.obtain(module.go, shop, name=tool.name, report=report)
    async with shop.cache.building(tool.name, on_wait=tell):
        started = time.monotonic()
        binary = await go_build.build(tool, module, go, shop=shop, stage=stage, report=report)
        seconds = time.monotonic() - started
    await _check(binary, tool, shop)
    recipe = shop.build_recipe(tool, module)
    return shop.cache.publish(
        binary,
        binary_cache.describe(
            binary, name=tool.name, version=tool.version, recipe=recipe, key=workshop.key_of(recipe, go.version),
            how="build", origin=f"lab/{tool.build.directory} {tool.build.package}", go=go.version,
            system=shop.target.system, machine=shop.target.machine, seconds=seconds,
        ),
    )  # fmt: skip


async def _check(binary: Path, tool: catalogue.CatalogueTool, shop: workshop.Workshop) -> None:
    """Start it once: what does not run here, or is something else, must not get into the cache."""
    if not tool.ask:
        return
    answer = await find.ask_version_now(binary, tool, shop)
    if answer.version != tool.version:
        said = answer.problem or f"it says that it is {answer.version}"
        raise errors.ToolError(f"{tool.name} {tool.version} was made, but {said}")
