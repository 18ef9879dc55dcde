"""``up`` from beginning to end: a platform made work, checked and carried out, for the command and rehearsals."""

import asyncio
import contextlib
import dataclasses
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

import firstlight
from firstlight import errors
from firstlight.cli.which_cluster import cluster_of
from firstlight.commands.up import inline_manifests, preflight
from firstlight.commands.up import tasks as up_tasks
from firstlight.engines import engine_roots
from firstlight.execute import access_files, talos_secrets
from firstlight.execute import lease as execute_lease
from firstlight.execute.actions import kubeconfig
from firstlight.execute.loop import Loop, RunOptions, RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.repo_commands import RepoCommands
from firstlight.execute.world import World
from firstlight.gates.gate_parts import GateContext
from firstlight.journal import run_identity
from firstlight.model import event
from firstlight.model import work as model_work
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, ObjectId, Side
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.event import Event
from firstlight.model.plan import Plan
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.secret import Secret
from firstlight.model.work import Installation, Work
from firstlight.plan import build, cluster_facts, plan_context, selection
from firstlight.render import helm_installations
from firstlight.render.component_renderer import Renderer
from firstlight.render.machines import machine_drafts

Charts = Mapping[str, tuple[tuple[Installation, ...], tuple[Object, ...]]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A run that could begin."""

    platform: Platform
    cluster: Cluster
    work: Work
    ground: GateContext
    renditions: tuple[Rendition, ...] = ()
    """What its components deploy."""
    problems: tuple[Diagnostic, ...]
    """All that stands in its way, found before the first write."""

    @property
    def is_blocked(self) -> bool:
        """Whether it must not begin."""
        return any(each.severity.rank >= Severity.ERROR.rank for each in self.problems)


async def prepare(
    platform: Platform,
    wishes: RunRequest,
    means: Means,
    *,
    is_checked: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> PreparedRun:
    """Render, plan and check; nothing is written.

    Args:
        platform: The repo.
        wishes: What is asked for.
        means: How the world is reached.
        is_checked: Whether the world is asked what stands in the way; not where nothing is going to be written.
        say: Told what is being done, since it takes seconds.

    Raises:
        errors.UsageError: There is no such cluster, or several and none is named.
        errors.FirstlightError: It cannot be rendered at all.
    """
    cluster = cluster_of(platform, wishes.cluster)
    wanted = len(platform.components_of(cluster.name))
    say(f"rendering {wanted} component{'' if wanted == 1 else 's'} of {cluster.name}")
    async with await means.open_renderer(platform) as renderer:
        done = await renderer.render_all(platform.components_of(cluster.name))
        renditions = tuple(each.rendition for each in done)
        charts, chart_diagnostics = await _charts(renderer, platform, cluster)
    whole = build.build(platform, cluster, renditions=renditions)
    plan = _selected(whole, wishes)
    at = datetime.datetime.fromtimestamp(means.now(), datetime.UTC)
    inline = inline_manifests.inline_manifests(platform, cluster.name, renditions, now=at)
    drafts, draft_diagnostics = machine_drafts.machine_drafts(platform, cluster, inline=inline.contents)
    revision, said = await preflight.rendered_commit(platform, cluster, means)
    work = up_tasks.work(
        platform, cluster, selection.within(whole, plan), renditions=renditions, installations=charts, drafts=drafts,
        revision=revision, is_rehearsal=means.is_rehearsal,
    )  # fmt: skip
    work = dataclasses.replace(work, plan=plan, tasks={each.id: work.tasks[each.id] for each in plan.steps})
    diagnostics = (
        *preflight.declaration_diagnostics(platform),
        *inline.diagnostics,
        *draft_diagnostics,
        *chart_diagnostics,
    )
    problems = [
        *plan.problems,
        *said,
        *preflight.run_diagnostics(diagnostics),
    ]
    problems += preflight.handover_problems(platform, cluster, work, renditions, is_strict=wishes.is_handover)
    if is_checked:
        say("asking machines and providers of secrets what stands in the way")
        problems += [
            *preflight.command_problems(platform, plan, wishes, means),
            *await preflight.world_problems(work, means),
        ]
    return PreparedRun(
        platform=platform,
        cluster=cluster,
        work=work,
        ground=GateContext(
            cluster=cluster,
            revision=revision,
            objects=_objects(renditions),
            own={each.name: each.gates for each in platform.components_of(cluster.name)},
            roots=() if plan_context.ROOT in plan.by_id else _roots(platform, cluster, renditions),
            bringers=plan_context.bringers(platform.components_of(cluster.name)),
        ),
        renditions=renditions,
        problems=tuple(dict.fromkeys(problems)),
    )


def _roots(platform: Platform, cluster: Cluster, renditions: Sequence[Rendition]) -> tuple[ObjectId, ...]:
    """What makes the engine follow the repo once the handover has begun."""
    found = engine_roots.of(platform, cluster, renditions)
    return found.made or tuple(each.id for each in found.roots)


def _selected(plan: Plan, wishes: RunRequest) -> Plan:
    if wishes.is_handover:
        return selection.handover(plan, wishes.only)
    return selection.only(selection.until(plan, wishes.until), wishes.only)


def started(prepared: PreparedRun, wishes: RunRequest, means: Means) -> event.RunStarted:
    """The first event of a run: the journal begins with it."""
    run = run_identity.make_run_id(prepared.cluster.name, now=means.now())
    steps = tuple(
        event.StepBrief(
            id=each.id, phase=each.phase, name=each.name, what=each.what, needs=tuple(one.step for one in each.needs)
        )
        for each in prepared.work.plan.steps
    )
    return event.RunStarted(
        at=means.now(), run=run, cluster=prepared.cluster.name, steps=steps, revision=prepared.work.revision,
        version=firstlight.__version__, who=execute_lease.holder_name(run), is_rehearsal=means.is_rehearsal,
        is_dry_run=wishes.is_dry_run, command="handover" if wishes.is_handover else "up",
    )  # fmt: skip


async def run(
    prepared: PreparedRun,
    wishes: RunRequest,
    means: Means,
    *,
    begun: event.RunStarted,
    tell: Callable[[Event], None],
    confirm: Callable[[str], bool],
) -> RunResult:
    """Carry a prepared run out.

    Args:
        prepared: What ``prepare`` made.
        wishes: What was asked for.
        means: How the world is reached.
        begun: What ``started`` made, told already.
        tell: Told of everything else that happens.
        confirm: Asked before anything that cannot be undone.

    Raises:
        errors.FirstlightError: The journal cannot be written, or something else that no step can be blamed for.
    """

    def say(step: str, text: str) -> None:
        tell(event.Told(at=means.now(), step=step, text=text))

    async def remind() -> None:
        """Keys that only this work tree has are spoken of until Git has them."""
        if not means.is_rehearsal and (
            text := await talos_secrets.untracked_keys_note(prepared.cluster, root, git=means.git)
        ):
            say("", text)

    root = prepared.platform.root
    world = world_of(prepared, means, run=begun.run, parallel=wishes.parallel, tell=say, on_keys=remind)
    if not wishes.is_dry_run:
        world.on_reached = access_files.keeping(world, means, tell=lambda text: say("", text))
    options = RunOptions(holder=begun.who, is_dry_run=wishes.is_dry_run)
    loop = Loop(
        prepared.work, world, ground=prepared.ground, options=options, tell=tell, confirm=confirm, now=means.now
    )
    try:
        try:
            result = await loop.run()
        finally:
            try:
                await remind()
            finally:
                await world.close()
    except (asyncio.CancelledError, KeyboardInterrupt):
        again = "a rehearsal begins anew" if means.is_rehearsal else "run again to go on"
        tell(event.RunEnded(at=means.now(), verdict="waiting", reason=f"interrupted; {again}"))
        raise
    except Exception as error:
        reason = error.message if isinstance(error, errors.FirstlightError) else "a mistake in firstlight"
        tell(event.RunEnded(at=means.now(), verdict="failed", reason=reason))
        raise
    verdict = "passed" if result.is_complete else "failed"
    tell(event.RunEnded(at=means.now(), verdict=verdict, writes=result.writes))
    return result


def world_of(
    prepared: PreparedRun,
    means: Means,
    *,
    run: str,
    parallel: int = 8,
    tell: Callable[[str, str], None] = lambda step, text: None,
    on_keys: Callable[[], Awaitable[None]] | None = None,
) -> World:
    """What the actions of a run share; nothing is reached yet.

    Args:
        prepared: What ``prepare`` made.
        means: How the world is reached.
        run: What the API server hears as the user agent.
        parallel: How many steps run at once.
        tell: Told how far a step is.
        on_keys: Called once the cluster's keys are there, read or made.
    """
    cluster = prepared.cluster

    async def keys() -> Secret:
        found = await means.talos_secrets(cluster)
        if on_keys is not None:
            await on_keys()
        return found

    return World(
        cluster=cluster, programs=means.programs, resolve=means.masks.remembering(means.resolve), state=means.state,
        reach=means.reach, run=run, commands=_commands(prepared, means), tell=tell, fingerprints=means.fingerprints,
        kubeconfig=means.kubeconfig, parallel=parallel, talos_secrets=_once(keys),
    )  # fmt: skip


def _commands(prepared: PreparedRun, means: Means) -> RepoCommands:
    """Runs what the repo may run; a rehearsal's have no way to the user's own clusters."""
    return RepoCommands(
        prepared.platform.root, cluster=prepared.cluster.name, allowed=means.allowed, masks=means.masks,
        origin=means.origin, home=means.state / "home" if means.is_rehearsal else None,
    )  # fmt: skip


def _once(make: Callable[[], Awaitable[Secret]]) -> Callable[[], Awaitable[Secret]]:
    """The same secrets for all machines, however many ask at once; a failure is asked again."""
    lock = asyncio.Lock()
    known: list[Secret] = []

    async def get() -> Secret:
        async with lock:
            if not known:
                known.append(await make())
            return known[0]

    return get


async def _charts(renderer: Renderer, platform: Platform, cluster: Cluster) -> tuple[Charts, list[Diagnostic]]:
    """The charts of what bootstrap installs, ready for Helm."""
    wanted: list[Component] = [
        each
        for each in platform.components_of(cluster.name)
        if cluster_facts.in_bootstrap(each) and cluster_facts.charts(each, Side.BOOTSTRAP)
    ]
    found = await asyncio.gather(*(helm_installations.installations(renderer, each, Side.BOOTSTRAP) for each in wanted))
    return (
        {each.name: (releases, beside) for each, (releases, beside, _) in zip(wanted, found, strict=True)},
        [diagnostic for _, _, diagnostics in found for diagnostic in diagnostics],
    )


def _objects(renditions: Sequence[Rendition]) -> dict[str, tuple[Object, ...]]:
    """What each component deploys in bootstrap, or, where that is nothing, in GitOps."""
    found: dict[str, tuple[Object, ...]] = {}
    for side in (Side.GITOPS, Side.BOOTSTRAP):
        found |= {each.component: each.objects for each in renditions if each.side == side and each.objects}
    return found


@contextlib.asynccontextmanager
async def reached(prepared: PreparedRun, means: Means) -> AsyncIterator[World]:
    """The cluster, to look at it before or after a run; nothing is written.

    Raises:
        errors.Refused: It is another cluster than it was.
        errors.Unreachable: The API does not answer.
    """
    world = world_of(prepared, means, run=run_identity.make_run_id(prepared.cluster.name, now=means.now()))
    try:
        for task in prepared.work.tasks.values():
            if isinstance(task, model_work.FetchKubeconfig):
                await kubeconfig.look(task, world, "")
        yield world
    finally:
        await world.close()
