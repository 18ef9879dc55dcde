"""Charts and manifests out of Go modules: found in the cache, else fetched, verified, finished and kept.

Called by the lab for what it serves and applies, and by ``firstlight tools install``. Nothing of it is part of this
repository: it is what the projects themselves publish in their modules, each with its licence beside it.
"""

import fnmatch
import gzip
import io
import re
import shutil
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from firstlight import errors
from firstlight.clients import command
from firstlight.clients.sandbox import program_limits
from firstlight.tools import (
    binary_cache,
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
        write_crds(content.crds, root=directory)
    if content.chart is not None:
        fill_chart(directory / content.chart.directory, content.chart)
        pack_chart(directory / content.chart.directory)
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


# Charts out of source trees: what a release fills in, and the package that it publishes. The package is made here and
# not by helm, so that the same chart is the same bytes wherever it is packed.


_METADATA = "Chart.yaml"


def fill_chart(directory: Path, chart: content_entry.ContentChart) -> None:
    """Set the versions in Chart.yaml, and remove what is to be dropped.

    Raises:
        errors.ToolError: There is no such chart.
    """
    path = directory / _METADATA
    try:
        text = path.read_text()
    except OSError as error:
        raise errors.ToolError(f"{directory.name} is not a chart: {error}") from error
    for key in chart.drop:
        text = _replace(text, key, "")
    if chart.version:
        text = _replace(text, "version", f'version: "{chart.version}"')
    if chart.app_version:
        text = _replace(text, "appVersion", f'appVersion: "{chart.app_version}"')
    path.write_text(text)


def pack_chart(directory: Path) -> Path:
    """Pack a chart beside itself, as ``<name>-<version>.tgz``.

    Raises:
        errors.ToolError: It does not say its name and version.
    """
    metadata = (directory / _METADATA).read_text()
    name, version = (_value(metadata, key) for key in ("name", "version"))
    if not name or not version or name != directory.name:
        raise errors.ToolError(f"{directory.name}/{_METADATA} is of the chart {name!r} in version {version!r}")
    # Chart.yaml first, as helm does it: who only wants to know what a package is need not read on.
    files = [path for path in directory.rglob("*") if path.is_file()]
    files.sort(key=lambda path: (path != directory / _METADATA, path))
    package = directory.with_name(f"{name}-{version}.tgz")
    with (
        package.open("xb") as out,
        gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in files:
            _add(tar, path, name=f"{name}/{path.relative_to(directory).as_posix()}")
    return package


def _add(tar: tarfile.TarFile, path: Path, *, name: str) -> None:
    content = path.read_bytes()
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
    tar.addfile(info, io.BytesIO(content))


def _replace(text: str, key: str, by: str) -> str:
    """Replace a key at the top of a YAML file with all that belongs to it; comments and the rest stay."""
    lines: list[str] = []
    inside = found = False
    for line in text.splitlines():
        if line[:1].isalpha() or line.startswith("#"):
            inside = line.startswith(f"{key}:")
            if inside and by:
                lines.append(by)
            found = found or inside
        if not inside:
            lines.append(line)
    if by and not found:
        lines.append(by)
    return "\n".join(lines) + "\n"


def _value(text: str, key: str) -> str:
    match = re.search(rf"^{key}:\s*[\"']?([0-9A-Za-z.+-]+)[\"']?\s*(?:#.*)?$", text, re.MULTILINE)
    return match[1] if match else ""


# CustomResourceDefinitions as templates of a chart, for charts whose releases make them so.


def write_crds(crds: content_entry.ContentCrds, *, root: Path) -> list[Path]:
    """Write a template for each definition of the bundle; the files that were written.

    Raises:
        errors.ToolError: The bundle has something else in it.
    """
    directory = root / crds.directory
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for document in re.split(r"^---[^\n]*\n", (root / crds.bundle).read_text(), flags=re.MULTILINE):
        if not document.strip():
            continue
        names = re.search(r"^  names:\n((?: {4,}.*\n)+)", document, re.MULTILINE)
        kind, singular = (_find(key, names[1]) if names else "" for key in ("kind", "singular"))
        if not kind or not singular:
            raise errors.ToolError(f"{crds.bundle} has a document that defines no kind")
        path = directory / f"{singular}.yaml"
        path.write_text(_template(document, crds, kind=kind))
        written.append(path)
    return written


def _template(document: str, crds: content_entry.ContentCrds, *, kind: str) -> str:
    # What looks like a template in a description is none.
    text = document.strip("\n").replace("{{", '{{ "{{" }}')
    if crds.annotations:
        more = f"    {{{{- with {crds.annotations} }}}}\n    {{{{- toYaml . | nindent 4 }}}}\n    {{{{- end }}}}"
        text = re.sub(r"^  annotations:$", lambda match: f"{match[0]}\n{more}", text, count=1, flags=re.MULTILINE)
    return f"{{{{- if {crds.guard.replace('{kind}', kind)} }}}}\n{text}\n{{{{- end }}}}\n"


def _find(key: str, names: str) -> str:
    match = re.search(rf"^    {key}: ([0-9A-Za-z]+)$", names, re.MULTILINE)
    return match[1] if match else ""
