"""Charts and other repositories that a cluster uses, as the lab's servers have them: given as files, or copied there.

Rules lead there whoever asks for the declared ones. Empty charts stand for those that cannot be had.
"""

import asyncio
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.commands.rehearse.rehearsal import StandIn, Untried
from firstlight.document import yaml_reader
from firstlight.lab.rewrite_rules import DroppedField, SourceRewrite
from firstlight.lab.sources.sources_client import SourcesClient
from firstlight.model import versions
from firstlight.model.component import Component, Origin, Phase, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, RemoteSource, SeveralSources
from firstlight.render import cache_files, chart_files, chart_packages
from firstlight.render.chart_fetch import FetchClients
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest
from firstlight.render.chart_store import ChartStore


@dataclasses.dataclass(frozen=True)
class GivenChart:
    """A chart that need not be fetched."""

    name: str
    version: str
    archive: bytes = dataclasses.field(repr=False)
    is_empty: bool = False
    """It only stands for one that cannot be had."""


class GivenChartStore(ChartStore):
    """The charts at hand first, then what every store has."""

    def __init__(
        self,
        home: Path,
        means: FetchClients,
        *,
        given: Sequence[GivenChart] = (),
        instead: Mapping[FetchRequest, GivenChart] | None = None,
        digests: Mapping[FetchRequest, str] | None = None,
        offline: bool = False,
    ) -> None:
        """Open it.

        Args:
            home: The directory of the store behind it.
            means: What that fetches with.
            given: Charts that the user gives.
            instead: Charts that stand for others.
            digests: Those of the copies that the engine will see: it writes them into versions and labels.
            offline: Fetch nothing.
        """
        super().__init__(home, means, offline=offline)
        self._given = tuple(given)
        self._instead = dict(instead or {})
        self._digests = dict(digests or {})
        self._contents: dict[str, bytes] = {}

    async def get(self, wanted: FetchRequest) -> FetchedContent:
        """What a reference stands for."""
        found = self._instead.get(wanted) or find(self._given, wanted)
        if found is None:
            stored = await super().get(wanted)
        else:
            made = cache_files.bytes_digest(found.archive)
            self._contents[made] = found.archive
            digest = wanted.digest or f"sha256:{made}"
            stored = FetchedContent(wanted=wanted, name=found.name, version=found.version, digest=digest, sum=made)
        return dataclasses.replace(stored, digest=self._digests.get(wanted, stored.digest))

    async def content(self, stored: FetchedContent) -> bytes:
        """The bytes."""
        found = self._contents.get(stored.sum)
        return await super().content(stored) if found is None else found


def find(given: Sequence[GivenChart], wanted: FetchRequest) -> GivenChart | None:
    """The given chart that is meant: by name and version; of several the newest, where no version is asked for."""
    if wanted.kind not in (FetchKind.OCI, FetchKind.REPOSITORY):
        return None
    name = wanted.name or wanted.url.rstrip("/").rpartition("/")[2]
    named = [each for each in given if each.name == name]
    if wanted.version in ("", "*"):
        return max(named, key=lambda each: _sortable(each.version), default=None)
    return next((each for each in named if _bare(each.version) == _bare(wanted.version)), None)


def read(directory: Path) -> tuple[GivenChart, ...]:
    """The charts of a directory: archives, and directories with a Chart.yaml.

    Raises:
        errors.UsageError: There is no such directory, or no chart in it.
        errors.ConfigError: Something in it is no chart.
    """
    hint = "Give a directory with charts in it, as .tgz or unpacked."
    if not directory.is_dir():
        raise errors.UsageError(f"{directory} is no directory", hint=hint)
    found = tuple(_read(directory))
    if not found:
        raise errors.UsageError(f"there is no chart in {directory}", hint=hint)
    return found


def _read(directory: Path) -> Iterator[GivenChart]:
    for path in sorted(directory.iterdir()):
        if path.suffix == ".tgz" and path.is_file():
            try:
                files = chart_packages.unpack_chart(path.read_bytes())
            except errors.Refused as error:
                raise errors.ConfigError(error.message, path=str(path)) from error
            yield of_files(files, str(path))
        elif (path / "Chart.yaml").is_file():
            yield of_files(chart_packages.read_files(path), str(path))


def of_files(files: Mapping[str, bytes], where: str) -> GivenChart:
    """A chart by its files.

    Raises:
        errors.ConfigError: It has no Chart.yaml that says what it is.
    """
    try:
        documents = yaml_reader.load_all(files.get("Chart.yaml", b""))
    except ValueError as error:
        raise errors.ConfigError(f"Chart.yaml cannot be read: {error}", path=where) from error
    about: Any = documents[0] if documents else None
    if not isinstance(about, dict) or not about.get("name") or not about.get("version"):
        raise errors.ConfigError("there is no Chart.yaml with a name and a version", path=where)
    name = str(about["name"])
    return GivenChart(name, str(about["version"]), chart_packages.pack_chart(files, name))


def empty(wanted: FetchRequest) -> GivenChart:
    """A chart without objects, under the name and a version that are asked for."""
    name = wanted.name or wanted.url.rstrip("/").rpartition("/")[2]
    version = version_within(wanted.version)
    text = f"apiVersion: v2\nname: {name}\nversion: {version}\ndescription: Stands for one that could not be had\n"
    return GivenChart(
        name, version, chart_packages.pack_chart({"Chart.yaml": text.encode(), "values.yaml": b""}, name), is_empty=True
    )


def version_within(text: str) -> str:
    """A version that a range most likely includes: the first one that it names, filled up with zeros."""
    return versions.first_within(text) or "1.0.0"


def _bare(version: str) -> str:
    return version.removeprefix("v").partition("+")[0]


def _sortable(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"[0-9]+", version)[:3])


DROPPED: tuple[DroppedField, ...] = ("secretRef", "verify", "proxySecretRef", "certSecretRef")
"""What sources lose on their way to the lab: its copies are public and unsigned."""
VITAL = ("cni", "engine")
"""Roles of what everything else in bootstrap stands on."""
_UNFIT = re.compile(r"[^a-z0-9]+")


@dataclasses.dataclass(frozen=True)
class ChartUse:
    """Something from elsewhere that a component is made from."""

    wanted: FetchRequest
    component: str
    is_vital: bool = False
    """Without it a rehearsal would only wait."""
    before: Phase | None = None
    """The last phase that does without it, for what is vital."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FetchedCharts:
    """What could be had, and what stands for the rest."""

    stored: Mapping[FetchRequest, FetchedContent]
    instead: Mapping[FetchRequest, GivenChart]
    contents: Mapping[FetchRequest, GivenChart]
    """The charts among them that the repo pins by a digest."""
    untried: tuple[Untried, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class PushedCharts:
    """Where the copies are."""

    rules: tuple[SourceRewrite, ...] = ()
    mapped: tuple[StandIn, ...] = ()
    digests: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What a digest that the repo pins is at the lab's registry."""
    manifests: Mapping[FetchRequest, str] = dataclasses.field(default_factory=dict)
    """The digests of all copies there."""


def uses(platform: Platform, cluster: str, *, until: Phase | None = None) -> tuple[ChartUse, ...]:
    """Everything from elsewhere that the components of a cluster are made from, each once.

    Args:
        platform: The repo.
        cluster: Which cluster.
        until: The last phase that is rehearsed; what comes later is not vital.
    """
    found = {use: None for each in platform.components_of(cluster) for use in _of_component(each, until)}
    return tuple(found)


def _of_component(component: Component, until: Phase | None) -> Iterator[ChartUse]:
    order = list(Phase)
    last = order.index(until or Phase.HANDOVER)
    is_vital = component.role in VITAL and order.index(component.phase) <= min(last, order.index(Phase.HANDOVER))
    before = Phase.CORE if order.index(component.phase) > order.index(Phase.CORE) else None
    for origin in component.origins:
        for wanted in _of_origin(origin):
            yield ChartUse(wanted, component.name, is_vital, before if is_vital else None)


def _of_origin(origin: Origin) -> Iterator[FetchRequest]:
    each = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    for one in each:
        if isinstance(one, ChartSource) and one.repository:
            yield chart_files.wanted(one)
        elif isinstance(one, RemoteSource) and origin.form in (SourceForm.KUSTOMIZATION, SourceForm.APPLICATION):
            yield FetchRequest(kind=FetchKind.GIT, url=one.url, version="" if one.revision == "HEAD" else one.revision)


async def fetch(wishes: Sequence[ChartUse], store: ChartStore) -> FetchedCharts:
    """Have everything, as far as it can be had.

    Raises:
        errors.Refused: What everything else stands on cannot be had.
    """
    wanted = list(dict.fromkeys(each.wanted for each in wishes))
    answers = await asyncio.gather(*(_get(each, store) for each in wanted))
    stored = {each: answer for each, answer in zip(wanted, answers, strict=True) if isinstance(answer, FetchedContent)}
    failed = {each: answer for each, answer in zip(wanted, answers, strict=True) if isinstance(answer, str)}
    vital = next((each for each in wishes if each.wanted in failed and each.is_vital), None)
    if vital is not None:
        raise errors.Refused(
            f"{vital.component} cannot be rehearsed, and nothing runs without it: {failed[vital.wanted]}",
            hint="Give its chart as a file: --charts DIRECTORY"
            + (f"; or rehearse what comes before it: --until {vital.before}" if vital.before else ""),
        )
    instead = {each: empty(each) for each in failed if each.kind in (FetchKind.OCI, FetchKind.REPOSITORY)}
    untried = [
        Untried(
            each.wanted.source,
            f"{failed[each.wanted]}; "
            + ("an empty chart stands for it" if each.wanted in instead else "nothing stands for it"),
            each.component,
            "--charts DIRECTORY takes charts as files" if each.wanted in instead else "",
        )
        for each in wishes
        if each.wanted in failed
    ]
    pinned = {
        wanted: GivenChart(each.name, each.version, await store.content(each))
        for wanted, each in stored.items()
        if wanted.digest
    }
    return FetchedCharts(stored=stored, instead=instead, contents=pinned, untried=tuple(dict.fromkeys(untried)))


async def _get(wanted: FetchRequest, store: ChartStore) -> FetchedContent | str:
    try:
        return await store.get(wanted)
    except errors.FirstlightError as error:
        return error.message.splitlines()[0][:200] if error.message else "it cannot be had"


async def push(fetched: FetchedCharts, store: ChartStore, sources: SourcesClient) -> PushedCharts:
    """Put everything onto the lab's servers."""
    status = await sources.status()
    rules: dict[str, str] = {}
    mapped: list[StandIn] = []
    digests: dict[str, str] = {}
    manifests: dict[FetchRequest, str] = {}
    everything: list[tuple[FetchRequest, bytes, FetchedContent | None]] = [
        (wanted, await store.content(stored), stored) for wanted, stored in fetched.stored.items()
    ]
    everything += [(wanted, chart.archive, None) for wanted, chart in fetched.instead.items()]
    for wanted, content, stored in everything:
        kind = "charts" if stored is not None else "empty chart"
        if wanted.kind == FetchKind.OCI:
            base, _, _ = wanted.url.rstrip("/").rpartition("/")
            prefix = registry_name(base)
            pushed = await sources.push_oci_chart(prefix, content, force=True)
            rules[base] = f"oci://{status.registry}/{prefix}"
            manifests[wanted] = pushed.digest
            if wanted.digest:
                digests[wanted.digest] = pushed.digest
            mapped.append(StandIn(kind, wanted.source, pushed.url))
        elif wanted.kind == FetchKind.REPOSITORY:
            made = await sources.create_charts(slug(wanted.url))
            pushed = await sources.push_chart(made.name, content, force=True)
            rules[wanted.url] = made.url
            mapped.append(StandIn(kind, wanted.source, pushed.url))
        elif wanted.kind == FetchKind.GIT and stored is not None:
            repository = await sources.create_git(f"copies/{slug(wanted.url)}")
            branch = wanted.version or "main"
            files = await store.files(stored)
            await sources.commit(repository.name, dict(files), message=f"Copy of {stored.version}", branch=branch)
            rules[wanted.url] = repository.url
            mapped.append(StandIn("Git", wanted.source, repository.url))
    return PushedCharts(
        rules=tuple(SourceRewrite(source, target, DROPPED) for source, target in rules.items()),
        mapped=tuple(mapped),
        digests=digests,
        manifests=manifests,
    )


def registry_name(url: str) -> str:
    """The name at the lab's registry for what begins so elsewhere."""
    words = url.removeprefix("oci://").lower().split("/")
    return "/".join(made for each in words if (made := _UNFIT.sub("-", each).strip("-")))


def slug(url: str) -> str:
    """A name of one word for an address."""
    return _UNFIT.sub("-", url.partition("://")[2].lower() or url.lower()).strip("-")[:90] or "repository"
