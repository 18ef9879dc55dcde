"""Charts and manifests out of Go modules: found in the cache, else fetched, verified, finished and kept.

Called by the lab for what it serves and applies, and by ``firstlight tools install``. Nothing of it is part of this
repository: it is what the projects themselves publish in their modules, each with its licence beside it.
"""

import fnmatch
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.sandbox import program_limits
from firstlight.tools import (
    binary_cache,
    chart_package,
    content_cache,
    content_entry,
    go_module,
    go_sources,
    install,
    tool_progress,
    workshop,
)

_LICENCE = re.compile(r"(licen[cs]es?|notice|copying|patents)([.-].*)?", re.IGNORECASE)


async def ensure(
    names: Iterable[str],
    report: tool_progress.Report = tool_progress.ignore,
    *,
    shop: workshop.Workshop | None = None,
    again: bool = False,
) -> dict[str, Path]:
    """The directory of each content, after whatever it takes to have it.

    A chart is a directory of its name, and beside it the package ``<name>-<version>.tgz``; manifests are YAML files.

    Args:
        names: Names of the catalogue.
        report: Called with each event, ``events.Ready`` as soon as a content can be used.
        shop: Where to look and work; this process's environment if it is not given.
        again: Make even what is there already.

    Raises:
        errors.UsageError: There is no content of such a name.
        errors.ToolError: It cannot be fetched, or is not what was pinned.
    """
    shop = shop or workshop.here()
    paths = {}
    for content in [shop.catalogue.get_content(name) for name in dict.fromkeys(names)]:
        found, damaged = _look_up(content, shop)
        for ruin in damaged:
            report(tool_progress.CandidateSkipped(content.name, str(ruin.path), f"it is damaged: {ruin.why}"))
        if found is None or again:
            try:
                paths[content.name] = await _acquire(content, shop, report, again=again)
            except OSError as error:
                raise errors.ToolError(
                    f"{content.name} could not be installed in {shop.cache.root}: {error}",
                    hint="FIRSTLIGHT_CACHE names another place for what is installed",
                ) from error
        else:
            report(tool_progress.ToolReady(content.name, content.version, found.path, "cache", 0.0))
            paths[content.name] = found.path
    return paths


def find(content: content_entry.CatalogueContent, shop: workshop.Workshop) -> content_cache.CachedContent | None:
    """The content if it is there, by the sizes of its files; ``ensure`` reads them."""
    return content_cache.of(shop.cache).look_up(content.name, shop.content_recipe(content))[0]


def _look_up(
    content: content_entry.CatalogueContent, shop: workshop.Workshop
) -> tuple[content_cache.CachedContent | None, tuple[binary_cache.DamagedEntry, ...]]:
    """The content if it is there and every byte is as it was, and what is damaged."""
    entry, damaged = content_cache.of(shop.cache).look_up(content.name, shop.content_recipe(content))
    if entry is not None and (ruin := content_cache.verify(entry)):
        return None, (*damaged, ruin)
    return entry, damaged


async def _acquire(
    content: content_entry.CatalogueContent, shop: workshop.Workshop, report: tool_progress.Report, *, again: bool
) -> Path:
    def tell(holder: str) -> None:
        report(tool_progress.WaitingForLock(content.name, holder))

    started = time.monotonic()
    programs = await install.ensure(content.programs, _without_ready(report), shop=shop)
    async with shop.cache.locked(content.name, on_wait=tell):
        entry, damaged = _look_up(content, shop)
        for ruin in damaged:
            shop.cache.remove(ruin)
        how = "cache"
        if entry is None or again:
            with shop.cache.stage(content.name) as stage:
                directory = await _make(content, programs, shop, stage, report)
                entry = content_cache.of(shop.cache).publish(
                    directory, content, recipe=shop.content_recipe(content), seconds=time.monotonic() - started,
                    aside=stage / "replaced",
                )  # fmt: skip
            how = "modules"
    report(tool_progress.ToolReady(content.name, content.version, entry.path, how, time.monotonic() - started))
    return entry.path


async def _make(
    content: content_entry.CatalogueContent,
    programs: dict[str, Path],
    shop: workshop.Workshop,
    stage: Path,
    report: tool_progress.Report,
) -> Path:
    """Fetch, take and finish a content in ``stage``; the directory with all that is kept."""
    directory = stage / "content"
    directory.mkdir()
    archives = await go_module.fetch_module(content.module, name=content.name, shop=shop, stage=stage, report=report)
    for module, archive in zip(content.module, archives, strict=True):
        _take(module, archive, to=directory)
    scratch = directory / content_entry.SCRATCH
    go_sources.write_files(shop.content_files(content), scratch)
    for target, kustomization in content.manifests.items():
        await _build_manifests(programs["kustomize"], directory / kustomization, to=directory / target, home=stage)
    if content.crds is not None:
        chart_package.write_crds(content.crds, root=directory)
    if content.chart is not None:
        chart_package.fill_chart(directory / content.chart.directory, content.chart)
        chart_package.pack_chart(directory / content.chart.directory)
    shutil.rmtree(scratch, ignore_errors=True)
    return directory


def _take(module: content_entry.ContentModule, archive: Path, *, to: Path) -> None:
    matched: set[str] = set()

    def choose(name: str) -> Iterator[str]:
        if _LICENCE.fullmatch(name):
            yield f"{content_entry.LICENCES}/{module}/{name}"
        for source, target in module.take.items():
            if name == source:
                matched.add(source)
                yield target
            elif name.startswith(f"{source}/"):
                matched.add(source)
                below = name.removeprefix(f"{source}/")
                if not any(fnmatch.fnmatchcase(below, pattern) for pattern in module.omit):
                    yield f"{target}/{below}"

    go_module.extract_files(archive, root=str(module), choose=choose, to=to)
    if missing := set(module.take) - matched:
        raise errors.ToolError(f"{module} has no {min(missing)}")


async def _build_manifests(kustomize: Path, kustomization: Path, *, to: Path, home: Path) -> None:
    # Recipes put together files of several modules, each verified before, so they may reach beyond their directory.
    # What they name elsewhere is not fetched: nothing would verify it.
    nowhere = {name: "http://127.0.0.1:9" for name in ("HTTP_PROXY", "HTTPS_PROXY")}
    built = await command.run(
        [str(kustomize), "build", "--load-restrictor", "LoadRestrictionsNone", str(kustomization)],
        env={"HOME": str(home), "PATH": "/nonexistent", **nowhere},
        timeout=300,
        check=False,
        within=program_limits.RENDERER,
    )
    if built.code != 0:
        raise errors.ToolError(f"{to.name} could not be built from {kustomization.name}: {built.stderr.strip()[-400:]}")
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(built.stdout)


def _without_ready(report: tool_progress.Report) -> Callable[[tool_progress.ToolEvent], None]:
    """What a program that is only needed on the way has to say, apart from that it is there."""

    def show(event: tool_progress.ToolEvent) -> None:
        if not (isinstance(event, tool_progress.ToolReady) and event.seconds == 0):
            report(event)

    return show
