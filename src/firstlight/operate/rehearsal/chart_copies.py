"""Charts and other repositories that a cluster uses, copied to the lab's servers; and the rules that lead there."""

import asyncio
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence

from firstlight import errors
from firstlight.lab.rewrites import Part, Rewrite
from firstlight.lab.sources.client import Sources
from firstlight.model.component import Component, Form, Origin, Phase
from firstlight.model.platform import Platform
from firstlight.model.rehearsal import Mapped, Untried
from firstlight.model.source import Chart, Remote
from firstlight.model.source import Sources as SeveralSources
from firstlight.operate.rehearsal import charts_at_hand
from firstlight.operate.rehearsal.charts_at_hand import AtHand
from firstlight.render import chart_files
from firstlight.render.charts.store import ChartStore
from firstlight.render.charts.wanted import Kind, Stored, Wanted

DROPPED: tuple[Part, ...] = ("secretRef", "verify", "proxySecretRef", "certSecretRef")
"""What sources lose on their way to the lab: its copies are public and unsigned."""
VITAL = ("cni", "engine")
"""Roles of what everything else in bootstrap stands on."""
_UNFIT = re.compile(r"[^a-z0-9]+")


@dataclasses.dataclass(frozen=True)
class Use:
    """Something from elsewhere that a component is made from."""

    wanted: Wanted
    component: str
    is_vital: bool = False
    """Without it a rehearsal would only wait."""
    before: Phase | None = None
    """The last phase that does without it, for what is vital."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fetched:
    """What could be had, and what stands for the rest."""

    stored: Mapping[Wanted, Stored]
    instead: Mapping[Wanted, AtHand]
    contents: Mapping[Wanted, AtHand]
    """The charts among them that the repo pins by a digest."""
    untried: tuple[Untried, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pushed:
    """Where the copies are."""

    rules: tuple[Rewrite, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    digests: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What a digest that the repo pins is at the lab's registry."""
    manifests: Mapping[Wanted, str] = dataclasses.field(default_factory=dict)
    """The digests of all copies there."""


def uses(platform: Platform, cluster: str, *, until: Phase | None = None) -> tuple[Use, ...]:
    """Everything from elsewhere that the components of a cluster are made from, each once.

    Args:
        platform: The repo.
        cluster: Which cluster.
        until: The last phase that is rehearsed; what comes later is not vital.
    """
    found = {use: None for each in platform.components_of(cluster) for use in _of_component(each, until)}
    return tuple(found)


def _of_component(component: Component, until: Phase | None) -> Iterator[Use]:
    order = list(Phase)
    last = order.index(until or Phase.HANDOVER)
    is_vital = component.role in VITAL and order.index(component.phase) <= min(last, order.index(Phase.HANDOVER))
    before = Phase.CORE if order.index(component.phase) > order.index(Phase.CORE) else None
    for origin in component.origins:
        for wanted in _of_origin(origin):
            yield Use(wanted, component.name, is_vital, before if is_vital else None)


def _of_origin(origin: Origin) -> Iterator[Wanted]:
    each = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    for one in each:
        if isinstance(one, Chart) and one.repository:
            yield chart_files.wanted(one)
        elif isinstance(one, Remote) and origin.form in (Form.KUSTOMIZATION, Form.APPLICATION):
            yield Wanted(kind=Kind.GIT, url=one.url, version="" if one.revision == "HEAD" else one.revision)


async def fetch(wishes: Sequence[Use], store: ChartStore) -> Fetched:
    """Have everything, as far as it can be had.

    Raises:
        errors.Refused: What everything else stands on cannot be had.
    """
    wanted = list(dict.fromkeys(each.wanted for each in wishes))
    answers = await asyncio.gather(*(_get(each, store) for each in wanted))
    stored = {each: answer for each, answer in zip(wanted, answers, strict=True) if isinstance(answer, Stored)}
    failed = {each: answer for each, answer in zip(wanted, answers, strict=True) if isinstance(answer, str)}
    vital = next((each for each in wishes if each.wanted in failed and each.is_vital), None)
    if vital is not None:
        raise errors.Refused(
            f"{vital.component} cannot be rehearsed, and nothing runs without it: {failed[vital.wanted]}",
            hint="Give its chart as a file: --charts DIRECTORY"
            + (f"; or rehearse what comes before it: --until {vital.before}" if vital.before else ""),
        )
    instead = {each: charts_at_hand.empty(each) for each in failed if each.kind in (Kind.OCI, Kind.REPOSITORY)}
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
        wanted: AtHand(each.name, each.version, await store.content(each))
        for wanted, each in stored.items()
        if wanted.digest
    }
    return Fetched(stored=stored, instead=instead, contents=pinned, untried=tuple(dict.fromkeys(untried)))


async def _get(wanted: Wanted, store: ChartStore) -> Stored | str:
    try:
        return await store.get(wanted)
    except errors.FirstlightError as error:
        return error.message.splitlines()[0][:200] if error.message else "it cannot be had"


async def push(fetched: Fetched, store: ChartStore, sources: Sources) -> Pushed:
    """Put everything onto the lab's servers."""
    status = await sources.status()
    rules: dict[str, str] = {}
    mapped: list[Mapped] = []
    digests: dict[str, str] = {}
    manifests: dict[Wanted, str] = {}
    everything: list[tuple[Wanted, bytes, Stored | None]] = [
        (wanted, await store.content(stored), stored) for wanted, stored in fetched.stored.items()
    ]
    everything += [(wanted, chart.archive, None) for wanted, chart in fetched.instead.items()]
    for wanted, content, stored in everything:
        kind = "charts" if stored is not None else "empty chart"
        if wanted.kind == Kind.OCI:
            base, _, _ = wanted.url.rstrip("/").rpartition("/")
            prefix = registry_name(base)
            pushed = await sources.push_oci_chart(prefix, content, force=True)
            rules[base] = f"oci://{status.registry}/{prefix}"
            manifests[wanted] = pushed.digest
            if wanted.digest:
                digests[wanted.digest] = pushed.digest
            mapped.append(Mapped(kind, wanted.source, pushed.url))
        elif wanted.kind == Kind.REPOSITORY:
            made = await sources.create_charts(slug(wanted.url))
            pushed = await sources.push_chart(made.name, content, force=True)
            rules[wanted.url] = made.url
            mapped.append(Mapped(kind, wanted.source, pushed.url))
        elif wanted.kind == Kind.GIT and stored is not None:
            repository = await sources.create_git(f"copies/{slug(wanted.url)}")
            branch = wanted.version or "main"
            files = await store.files(stored)
            await sources.commit(repository.name, dict(files), message=f"Copy of {stored.version}", branch=branch)
            rules[wanted.url] = repository.url
            mapped.append(Mapped("Git", wanted.source, repository.url))
    return Pushed(
        rules=tuple(Rewrite(source, target, DROPPED) for source, target in rules.items()),
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
