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
from firstlight.clients import kube
from firstlight.clients.talosctl import Talosctl
from firstlight.commands.rehearse import chart_copies, lab_mapping, stand_ins, work_tree_copy
from firstlight.commands.rehearse.chart_copies import GivenChart, GivenChartStore
from firstlight.commands.rehearse.lab_mapping import RehearsalStage
from firstlight.commands.rehearse.rehearsal import Rehearsal, RehearsedStep, StandIn, Untried
from firstlight.commands.rehearse.work_tree_copy import WorkTreeCopy
from firstlight.commands.up import up
from firstlight.commands.up.up import PreparedRun
from firstlight.commands.verify import idempotency, verify
from firstlight.execute import command_digest
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.repo_commands import AllowedCommands
from firstlight.execute.world import RunPrograms
from firstlight.journal import journal_reader
from firstlight.lab import simulator
from firstlight.lab.lab_settings import LabSettings
from firstlight.lab.lab_status import LabStatus
from firstlight.lab.rewrite_rules import SourceRewrite
from firstlight.lab.running_lab import Lab
from firstlight.model import repo_command
from firstlight.model.cluster import AddressBook, Cluster
from firstlight.model.component import Phase
from firstlight.model.diagnostic import Severity
from firstlight.model.machine_config import MachineDraft
from firstlight.model.platform import Platform
from firstlight.model.repo_command import RepoCommand
from firstlight.model.secret import Secret
from firstlight.model.verdict import Verification
from firstlight.observe.gate_watch import Watching
from firstlight.render.chart_fetch import FetchClients
from firstlight.render.chart_packages import FetchRequest
from firstlight.render.component_renderer import Renderer
from firstlight.render.machines import machine_drafts
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.repo import platform_reader
from firstlight.repo.argocd import argocd_settings
from firstlight.repo.work_tree import WorkTree

OWNER = "rehearsal"
"""Whose the user's repo is on the lab's Git server."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RehearsalKit:
    """What a rehearsal works with, besides the repo."""

    lab: Lab
    programs: Mapping[str, Path]
    """Of the lab, and talosctl, helm and kustomize."""
    home: Path
    """Where charts are kept."""
    fetching: FetchClients
    bring_up: Callable[[LabSettings], Awaitable[LabStatus]]
    """Starts the lab, and shows it."""
    carry_out: Callable[[up.PreparedRun, RunRequest, Means], Awaitable[RunResult]]
    """Runs, and shows it."""
    say: Callable[[str], None] = lambda _: None
    given: tuple[GivenChart, ...] = ()
    """Charts that need not be fetched."""
    kinds: tuple[Mapping[str, Any], ...] = ()
    """CRDs that Cilium's operator defines when it runs."""
    offline: bool = False
    allowed: AllowedCommands = dataclasses.field(default_factory=AllowedCommands)
    """The commands that the repo may run."""
    journals: Path | None = None
    """The state directory of the repo, so that its runs list the rehearsal, too; the lab's own without one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlayedRehearsal:
    """A rehearsal that was carried out, and what it takes to go on in its lab."""

    told: Rehearsal
    means: Means
    prepared: up.PreparedRun
    result: RunResult | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Ready:
    """Everything before the run."""

    platform: Platform
    cluster: Cluster
    copied: WorkTreeCopy
    means: Means
    mapped: tuple[StandIn, ...]
    untried: tuple[Untried, ...]


async def rehearse(platform: Platform, cluster: Cluster, wishes: RunRequest, kit: RehearsalKit) -> PlayedRehearsal:
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
        simulated=(*simulator.simulation_descriptions().items(), *stand_ins.SIMULATED),
        notes=tuple(status.notes),
        untried=ready.untried,
        problems=tuple(each for each in prepared.problems if each.severity.rank >= Severity.ERROR.rank),
        steps=rehearsed_steps(prepared, _journal(ready.means)) if result is not None else (),
        seconds=time.monotonic() - begun,
        refused="the run was refused; the steps say why" if result is not None and result.is_refused else "",
    )
    return PlayedRehearsal(told=told, means=ready.means, prepared=prepared, result=result)


async def _carried_out(prepared: up.PreparedRun, wishes: RunRequest, means: Means, kit: RehearsalKit) -> RunResult:
    playing = asyncio.create_task(stand_ins.play(kit.lab, kit.kinds))
    try:
        return await kit.carry_out(prepared, wishes, means)
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


def _journal(means: Means) -> Path:
    found = journal_reader.paths(means.journals or means.state)
    if not found:
        raise errors.FirstlightError("the run left no journal")
    return found[0]


async def _make_ready(platform: Platform, cluster: Cluster, kit: RehearsalKit, *, until: Phase | None) -> _Ready:
    stage = lab_mapping.stage(platform, cluster, _drafts(platform, cluster))
    if is_execution_allowed(platform, cluster, kit.allowed):
        stage = dataclasses.replace(stage, settings=msgspec.structs.replace(stage.settings, actors_execute=True))
    store = GivenChartStore(kit.home / "charts", kit.fetching, given=kit.given, offline=kit.offline)
    fetched = await chart_copies.fetch(chart_copies.uses(platform, cluster.name, until=until), store)
    base = _empty_directory(kit.lab)
    copied = await work_tree_copy.copy(platform.root, base / "tree" / platform.root.name, git=kit.fetching.git)
    status = await kit.bring_up(stage.settings)
    sources = kit.lab.sources()
    kit.say("Git and charts are copied to the lab's servers")
    pushed = await chart_copies.push(fetched, store, sources)
    pinned = work_tree_copy.replace(copied.root, pushed.digests)
    own, commit = await _commit(platform, cluster, copied, kit)
    rules = (*own, *pushed.rules)
    await kit.lab.up(kit.programs, settings=msgspec.structs.replace(stage.settings, rewrites=rules))
    here = platform_reader.read(copied.root)
    secrets = work_tree_copy.dummy_secrets_of(here, cluster.name)
    instead = {**fetched.instead, **_repinned(fetched, pushed.digests)}
    hand = functools.partial(
        GivenChartStore, kit.home / "charts", kit.fetching, given=kit.given, instead=instead, digests=pushed.manifests,
        offline=kit.offline,
    )  # fmt: skip
    means = _means(kit, stage, status, base, hand=hand, revision=commit, resolve=secrets.resolve)
    # What was allowed is what the user's own files say: the copy has the lab's digests, and dummies.
    means = dataclasses.replace(means, allowed=kit.allowed, origin=platform.root)
    mapped = (
        *stage.mapped,
        *((StandIn("API", cluster.network.endpoint or "not declared", means.reach.kubernetes),)),
        *(StandIn("Git", each.source, each.target) for each in own),
        *pushed.mapped,
        *(StandIn("encrypted", each, "dummies, in plain") for each in copied.decrypted),
        *(StandIn("digest", each, "the digests of the lab's registry") for each in pinned),
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
    return machine_drafts.machine_drafts(platform, cluster)[0]


def _empty_directory(lab: Lab) -> Path:
    lab.home.make()
    return lab.home.path / "rehearsal"


async def _commit(
    platform: Platform, cluster: Cluster, copied: WorkTreeCopy, kit: RehearsalKit
) -> tuple[tuple[SourceRewrite, ...], str]:
    """The user's repo on the lab's Git server: the rule that leads there, and the commit."""
    sources = kit.lab.sources()
    branch = cluster.branch or "main"
    repository = await sources.create_git(f"{OWNER}/{chart_copies.slug(platform.name)}", branch=branch)
    revision = copied.revision[:12] or "a work tree"
    message = f"Rehearsal of {revision}" + (f", with {copied.changes} changed files" if copied.changes else "")
    moved = await sources.commit_directory(repository.name, copied.root, message=message, branch=branch)
    rules = (SourceRewrite(cluster.url, repository.url, chart_copies.DROPPED),) if cluster.url else ()
    return rules, moved.after


def _repinned(fetched: chart_copies.FetchedCharts, digests: Mapping[str, str]) -> dict[FetchRequest, GivenChart]:
    """Charts that are asked for by the digests of the lab's registry, once the copy of the repo says those."""
    return {
        dataclasses.replace(wanted, digest=digests[wanted.digest]): chart
        for wanted, chart in {**fetched.contents, **fetched.instead}.items()
        if wanted.digest in digests
    }


def _means(
    kit: RehearsalKit,
    stage: RehearsalStage,
    status: LabStatus,
    base: Path,
    *,
    hand: Callable[[], GivenChartStore],
    revision: str,
    resolve: Callable[[str], Awaitable[Secret]],
) -> Means:
    kept: dict[str, Secret] = {}

    async def talos_secrets(cluster: Cluster) -> Secret:
        if cluster.name not in kept:
            kept[cluster.name] = await Talosctl(kit.programs["talosctl"]).gen_secrets()
        return kept[cluster.name]

    async def open_renderer(platform: Platform) -> Renderer:
        # A cache of its own: what is kept for other runs has the digests of other copies in versions and labels.
        programs = RendererPrograms(
            helm=kit.programs["helm"], kustomize=kit.programs["kustomize"], git=kit.fetching.git
        )
        return Renderer(platform, programs=programs, store=hand(), cache=RenderCache(base / "renders"))

    endpoints = {each.name: each.endpoint for each in status.machines}
    return Means(
        programs=RunPrograms(talosctl=kit.programs["talosctl"], helm=kit.programs["helm"]),
        state=base / "state",
        open_renderer=open_renderer,
        resolve=resolve,
        talos_secrets=talos_secrets,
        revision=revision,
        reach=AddressBook(
            machines={address: endpoints[name] for address, name in stage.names.items()},
            kubernetes=f"https://{status.loopback}:6443",
        ),
        kubeconfig=None if stage.names else Secret(kit.lab.kubeconfig.read_bytes()),
        is_rehearsal=True,
        journals=kit.journals,
    )


# How the steps of a rehearsal went, from the journal of its run.


def rehearsed_steps(prepared: PreparedRun, journal: Path) -> tuple[RehearsedStep, ...]:
    """Every step of the run, in the order in which they ended; those that never began come last."""
    state = journal_reader.state(journal)
    components = {each.id: each.component for each in prepared.work.plan.steps}
    told = [
        RehearsedStep(
            id=each.id,
            phase=each.brief.phase,
            name=each.brief.name,
            verdict="waiting" if each.is_given_up else each.state.value,
            seconds=each.seconds(state.until(0.0)),
            writes=each.written,
            reason=each.reason or (f"blocked by {', '.join(each.causes)}" if each.causes else ""),
            hint=each.hint,
            component=components.get(each.id, ""),
            needs=each.brief.needs,
        )
        for each in sorted(state.steps, key=lambda each: each.ended if each.ended is not None else float("inf"))
    ]
    return tuple(told)


# What a rehearsed Argo CD would execute on this computer: nothing, unless the user has allowed it by content.
#
# A cluster has a pod around such things; the lab has the user's own account. So what executes is asked for like a hook,
# and the actors of the lab are confined unless all of it was allowed.


def executed_commands(platform: Platform, cluster: Cluster) -> tuple[RepoCommand, ...]:
    """The settings of Argo CD that need the user's word; Flux executes nothing of a repo."""
    return (
        argocd_settings.executed_commands(WorkTree(platform.root))
        if "argocd" in lab_mapping.actors(platform, cluster)
        else ()
    )


def is_execution_allowed(platform: Platform, cluster: Cluster, allowed: AllowedCommands) -> bool:
    """Whether there is something to execute, and it may be executed.

    Raises:
        errors.Refused: There is, and it may not.
    """
    found = executed_commands(platform, cluster)
    for each in found:
        digest = command_digest.command_digest(each.words, platform.root)
        if not allowed.has(digest, platform.root):
            raise errors.Refused(
                f"{each.place}: {repo_command.shown(each.words[1:])} lets Argo CD execute programs on this computer, "
                f"and that was not allowed ({digest.value})",
                hint="Look at what the repo would execute, then allow it: --allow-commands. Or rehearse without it.",
            )
    return bool(found)


# The proof after a rehearsal: everything asked once more, and a second run in which nothing is written.


VERIFY_WAIT = 60.0
"""Seconds for what is not there yet."""


async def verify_rehearsal(lab: Lab, played: PlayedRehearsal) -> Verification:
    """Verify what was brought up in a lab; writes are counted in its audit log.

    Raises:
        errors.ClientError: The API does not answer.
    """
    prepared, means = played.prepared, played.means
    loopback = (await lab.status()).loopback
    async with kube.Client(kube.load(lab.kubeconfig), agent="verify") as client, Watching(client) as watching:
        return await verify.verify(
            verify.VerifyContext(
                cluster=prepared.cluster,
                client=client,
                watching=watching,
                since=time.time() - played.told.seconds,
                work=prepared.work,
                ground=prepared.ground,
                wait=VERIFY_WAIT,
                rerun=idempotency.run_again(prepared.platform, prepared.cluster, means),
                machines=idempotency.machines_now(prepared.cluster, means),
                audit_log=lab.home.audit_log,
                apis={each.address: loopback for each in prepared.cluster.machines},
            )
        )
