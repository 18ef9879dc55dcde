"""Charts and other repositories that a cluster uses, copied to the lab's servers; and the rules that lead there."""

import asyncio
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

from firstlight import errors
from firstlight.commands.rehearse import given_charts
from firstlight.commands.rehearse.given_charts import GivenChart
from firstlight.commands.rehearse.rehearsal import StandIn, Untried
from firstlight.lab.rewrite_rules import DroppedField, SourceRewrite
from firstlight.lab.sources.sources_client import SourcesClient
from firstlight.model.component import Component, Origin, Phase, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, RemoteSource, SeveralSources
from firstlight.render import chart_files
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest
from firstlight.render.chart_store import ChartStore

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
    instead = {each: given_charts.empty(each) for each in failed if each.kind in (FetchKind.OCI, FetchKind.REPOSITORY)}
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
