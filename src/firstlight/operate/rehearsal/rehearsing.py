"""A rehearsal from beginning to end: the lab, the copies, the run, and what is told of it."""

import asyncio
import dataclasses
import functools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients.talosctl import Talosctl
from firstlight.execute.allowed import Allowed
from firstlight.execute.loop import Result
from firstlight.execute.world import Programs
from firstlight.journal import reading as journals
from firstlight.lab import simulations
from firstlight.lab.lab import Lab
from firstlight.lab.rewrites import Rewrite
from firstlight.lab.settings import Settings
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.lab_status import LabStatus
from firstlight.model.machine_draft import MachineDraft
from firstlight.model.plan import Severity
from firstlight.model.platform import Platform
from firstlight.model.reach import Reach
from firstlight.model.rehearsal import Mapped, Rehearsal, Untried
from firstlight.model.secret import Secret
from firstlight.operate import up
from firstlight.operate.means import Means, Wishes
from firstlight.operate.rehearsal import (
    chart_copies,
    copied_tree,
    dummy_secrets,
    executing,
    mapping,
    stand_ins,
    telling,
)
from firstlight.operate.rehearsal.charts_at_hand import AtHand, Hand
from firstlight.operate.rehearsal.copied_tree import Copied
from firstlight.operate.rehearsal.mapping import Stage
from firstlight.render.cache import Cache
from firstlight.render.charts.fetching import Means as Fetching
from firstlight.render.charts.wanted import Wanted
from firstlight.render.machines import drafting
from firstlight.render.rendering import Renderer
from firstlight.render.tools import Programs as Renderers
from firstlight.repo import platform as platforms

OWNER = "rehearsal"
"""Whose the user's repo is on the lab's Git server."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kit:
    """What a rehearsal works with, besides the repo."""

    lab: Lab
    programs: Mapping[str, Path]
    """Of the lab, and talosctl, helm and kustomize."""
    home: Path
    """Where charts are kept."""
    fetching: Fetching
    bring_up: Callable[[Settings], Awaitable[LabStatus]]
    """Starts the lab, and shows it."""
    carry_out: Callable[[up.Prepared, Wishes, Means], Awaitable[Result]]
    """Runs, and shows it."""
    say: Callable[[str], None] = lambda _: None
    given: tuple[AtHand, ...] = ()
    """Charts that need not be fetched."""
    kinds: tuple[Mapping[str, Any], ...] = ()
    """CRDs that Cilium's operator defines when it runs."""
    offline: bool = False
    allowed: Allowed = dataclasses.field(default_factory=Allowed)
    """The commands that the repo may run."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Played:
    """A rehearsal that was carried out, and what it takes to go on in its lab."""

    told: Rehearsal
    means: Means
    prepared: up.Prepared
    result: Result | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Ready:
    """Everything before the run."""

    platform: Platform
    cluster: Cluster
    copied: Copied
    means: Means
    mapped: tuple[Mapped, ...]
    untried: tuple[Untried, ...]


async def rehearse(platform: Platform, cluster: Cluster, wishes: Wishes, kit: Kit) -> Played:
    """Rehearse a cluster; the lab is left as it is then.

    Raises:
        errors.Refused: It cannot be rehearsed; the message says why.
        errors.FirstlightError: The lab, a program or a file failed.
    """
    begun = time.monotonic()
    ready = await _make_ready(platform, cluster, kit, until=wishes.until)
    prepared = await up.prepare(ready.platform, wishes, ready.means)
    result = None if prepared.is_blocked else await _carried_out(prepared, wishes, ready.means, kit)
    status = await kit.lab.status()
    told = Rehearsal(
        cluster=cluster.name,
        lab=kit.lab.home.name,
        revision=ready.copied.revision,
        copy=ready.means.revision,
        changes=ready.copied.changes,
        mapped=ready.mapped,
        simulated=(*simulations.descriptions().items(), *stand_ins.SIMULATED),
        notes=tuple(status.notes),
        untried=ready.untried,
        problems=tuple((each.message, each.way_out) for each in prepared.problems if each.severity == Severity.ERROR),
        steps=telling.steps(prepared, _journal(ready.means)) if result is not None else (),
        seconds=time.monotonic() - begun,
        refused="the run was refused; the steps say why" if result is not None and result.is_refused else "",
    )
    return Played(told=told, means=ready.means, prepared=prepared, result=result)


async def _carried_out(prepared: up.Prepared, wishes: Wishes, means: Means, kit: Kit) -> Result:
    playing = asyncio.create_task(stand_ins.play(kit.lab, kit.kinds))
    try:
        return await kit.carry_out(prepared, wishes, means)
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


def _journal(means: Means) -> Path:
    found = journals.paths(means.state)
    if not found:
        raise errors.FirstlightError("the run left no journal")
    return found[0]


async def _make_ready(platform: Platform, cluster: Cluster, kit: Kit, *, until: Phase | None) -> _Ready:
    stage = mapping.stage(platform, cluster, _drafts(platform, cluster))
    if executing.is_allowed(platform, cluster, kit.allowed):
        stage = dataclasses.replace(stage, settings=msgspec.structs.replace(stage.settings, actors_execute=True))
    store = Hand(kit.home / "charts", kit.fetching, given=kit.given, offline=kit.offline)
    fetched = await chart_copies.fetch(chart_copies.uses(platform, cluster.name, until=until), store)
    base = _empty_directory(kit.lab)
    copied = await copied_tree.copy(platform.root, base / "tree" / platform.root.name, git=kit.fetching.git)
    status = await kit.bring_up(stage.settings)
    sources = kit.lab.sources()
    kit.say("Git and charts are copied to the lab's servers")
    pushed = await chart_copies.push(fetched, store, sources)
    pinned = copied_tree.replace(copied.root, pushed.digests)
    own, commit = await _commit(platform, cluster, copied, kit)
    rules = (*own, *pushed.rules)
    await kit.lab.up(kit.programs, settings=msgspec.structs.replace(stage.settings, rewrites=rules))
    here = platforms.read(copied.root)
    secrets = dummy_secrets.of(here, cluster.name)
    instead = {**fetched.instead, **_repinned(fetched, pushed.digests)}
    hand = functools.partial(
        Hand, kit.home / "charts", kit.fetching, given=kit.given, instead=instead, digests=pushed.manifests,
        offline=kit.offline,
    )  # fmt: skip
    means = _means(kit, stage, status, base, hand=hand, revision=commit, resolve=secrets.resolve)
    # What was allowed is what the user's own files say: the copy has the lab's digests, and dummies.
    means = dataclasses.replace(means, allowed=kit.allowed, origin=platform.root)
    mapped = (
        *stage.mapped,
        *((Mapped("API", cluster.network.endpoint or "not declared", means.reach.kubernetes),)),
        *(Mapped("Git", each.source, each.target) for each in own),
        *pushed.mapped,
        *(Mapped("encrypted", each, "dummies, in plain") for each in copied.decrypted),
        *(Mapped("digest", each, "the digests of the lab's registry") for each in pinned),
        *secrets.mapped,
    )
    return _Ready(
        platform=here, cluster=cluster, copied=copied, means=means, mapped=mapped,
        untried=(*stage.untried, *fetched.untried, *_always(cluster)),
    )  # fmt: skip


def _always(cluster: Cluster) -> Sequence[Untried]:
    found = [
        Untried("what containers do", "no container runs: pods start by themselves, unless their image is broken"),
        Untried("credentials", "foundation secrets are dummies, and the lab's servers ask for none"),
    ]
    if not cluster.url:
        found.append(Untried("the Git repository", "nothing says from where the engine reads this repo"))
    return found


def _drafts(platform: Platform, cluster: Cluster) -> tuple[MachineDraft, ...]:
    if not cluster.machines or all(each.id for each in cluster.machines):
        return ()
    return drafting.drafts(platform, cluster)[0]


def _empty_directory(lab: Lab) -> Path:
    lab.home.make()
    return lab.home.path / "rehearsal"


async def _commit(platform: Platform, cluster: Cluster, copied: Copied, kit: Kit) -> tuple[tuple[Rewrite, ...], str]:
    """The user's repo on the lab's Git server: the rule that leads there, and the commit."""
    sources = kit.lab.sources()
    branch = cluster.branch or "main"
    repository = await sources.create_git(f"{OWNER}/{chart_copies.slug(platform.name)}", branch=branch)
    revision = copied.revision[:12] or "a work tree"
    message = f"Rehearsal of {revision}" + (f", with {copied.changes} changed files" if copied.changes else "")
    moved = await sources.commit_directory(repository.name, copied.root, message=message, branch=branch)
    rules = (Rewrite(cluster.url, repository.url, chart_copies.DROPPED),) if cluster.url else ()
    return rules, moved.after


def _repinned(fetched: chart_copies.Fetched, digests: Mapping[str, str]) -> dict[Wanted, AtHand]:
    """Charts that are asked for by the digests of the lab's registry, once the copy of the repo says those."""
    return {
        dataclasses.replace(wanted, digest=digests[wanted.digest]): chart
        for wanted, chart in {**fetched.contents, **fetched.instead}.items()
        if wanted.digest in digests
    }


def _means(
    kit: Kit, stage: Stage, status: LabStatus, base: Path, *, hand: Callable[[], Hand], revision: str,
    resolve: Callable[[str], Awaitable[Secret]],
) -> Means:  # fmt: skip
    kept: dict[str, Secret] = {}

    async def talos_secrets(cluster: Cluster) -> Secret:
        if cluster.name not in kept:
            kept[cluster.name] = await Talosctl(kit.programs["talosctl"]).gen_secrets()
        return kept[cluster.name]

    async def open_renderer(platform: Platform) -> Renderer:
        # A cache of its own: what is kept for other runs has the digests of other copies in versions and labels.
        programs = Renderers(helm=kit.programs["helm"], kustomize=kit.programs["kustomize"], git=kit.fetching.git)
        return Renderer(platform, programs=programs, store=hand(), cache=Cache(base / "renders"))

    endpoints = {each.name: each.endpoint for each in status.machines}
    return Means(
        programs=Programs(talosctl=kit.programs["talosctl"], helm=kit.programs["helm"]),
        state=base / "state",
        open_renderer=open_renderer,
        resolve=resolve,
        talos_secrets=talos_secrets,
        revision=revision,
        reach=Reach(
            machines={address: endpoints[name] for address, name in stage.names.items()},
            kubernetes=f"https://{status.loopback}:6443",
        ),
        kubeconfig=None if stage.names else Secret(kit.lab.kubeconfig.read_bytes()),
        is_rehearsal=True,
    )
