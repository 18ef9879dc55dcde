"""A Helm release that was left pending: which component it is of, and whether it may be repaired at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change.bootstrap import bootstrap_stages
from firstlight.commands.drift import applied_commit, apply_as_engine, drift, expected_state
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.commands.override import emergency_route
from firstlight.commands.up import up
from firstlight.commands.up.up import PreparedRun
from firstlight.engines import engine_marks
from firstlight.execute.actions import dispatch
from firstlight.execute.apply import object_survey
from firstlight.execute.apply.object_survey import survey
from firstlight.execute.apply.server_side_apply import apply
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Owner, Phase, Side
from firstlight.model.drift import Drifted, DriftKind
from firstlight.model.override import EmergencyPath
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.plan import Step
from firstlight.model.platform import Platform
from firstlight.model.verdict import Verdict
from firstlight.model.work import Apply, Install
from firstlight.observe import live_objects
from firstlight.ownership.drift_judgement import WantedObject
from firstlight.plan import cluster_facts, final_owners

_HELM_RELEASE = (flux_names.HELM_API, flux_names.HELM_RELEASE)


def step_of(release: str, prepared: PreparedRun) -> Step:
    """The step that runs Helm for a release.

    Args:
        release: ``NAMESPACE/NAME``.
        prepared: The whole plan of the cluster.

    Raises:
        errors.UsageError: No step of bootstrap installs it.
    """
    known = {
        f"{one.namespace}/{one.name}": step
        for step in prepared.work.plan.steps
        if isinstance(task := prepared.work.tasks[step.id], Install)
        for one in task.releases
    }
    if release not in known:
        there = f"It installs {', '.join(sorted(known))}." if known else "It installs none."
        raise errors.UsageError(
            f"bootstrap installs no release {release[:120]}", hint=f"{there} Roll others back: helm rollback"
        )
    return known[release]


def is_kept_release(release: str, components: Iterable[Component]) -> bool:
    """Whether the repo says that bootstrap keeps a release, whatever HelmRelease rests beside it.

    Args:
        release: ``NAMESPACE/NAME``.
        components: Those of the cluster.
    """
    kept = [each for each in components if cluster_facts.in_bootstrap(each) and each.owner == Owner.BOOTSTRAP]
    charts = [
        chart for each in kept for side in (Side.BOOTSTRAP, Side.GITOPS) for chart in cluster_facts.charts(each, side)
    ]
    return release in {f"{each.namespace}/{each.release}" for each in charts}


async def refuse_owned_release(release: str, client: kube.Client, *, is_kept: bool = False) -> None:
    """See that no HelmRelease owns it: helm-controller takes up its own.

    Args:
        release: ``NAMESPACE/NAME``.
        client: The API.
        is_kept: Whether the repo says that bootstrap keeps it.

    Raises:
        errors.Refused: One does.
        errors.ClientError: The API does not answer.
    """
    namespace, _, name = release.partition("/")
    try:
        found = (await client.list(*_HELM_RELEASE)).items
    except kube.UnknownKind:
        return
    mark = engine_marks.release_of(found, name=name, namespace=namespace, is_kept=is_kept)
    if mark is not None:
        owner, _, own = mark.owner.partition(" ")[2].rpartition("/")
        raise errors.Refused(
            f"{mark.owner} owns the release {release}: helm-controller takes it up again",
            hint=f"Ask it to: flux reconcile helmrelease {own} -n {owner} --force",
        )


# The network plugin or the engine applied again, while whoever usually does so cannot.
#
# What the engine owns is applied in its place, with its marks and as its manager, and only while it is down and follows
# the commit that was rendered. What Talos has brought is applied as Talos, which never puts back what somebody deleted.
# Then what bootstrap brings, in the way it did: releases of Helm, and what nobody has taken over yet.


_ENGINES = (Party.FLUX, Party.ARGOCD)
ROLES = {"cni": "the network plugin", "engine": "the engine"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RestorePlan:
    """What is to be restored, rendered."""

    cluster: Cluster
    names: tuple[str, ...]
    """Components that are applied again."""
    prepared: PreparedRun
    """Their steps."""
    scene: ExpectedState


async def prepare_restore(platform: Platform, cluster: Cluster, means: Means, *, role: str) -> RestorePlan:
    """Render what is to be restored; nothing is written.

    Args:
        platform: The repo.
        cluster: The cluster.
        means: How the world is reached.
        role: ``cni`` or ``engine``.

    Raises:
        errors.Refused: Bootstrap does not bring it.
    """
    mine = {each: _named(platform, cluster, each) for each in ROLES}
    if not any(
        cluster_facts.in_bootstrap(each) for each in platform.components_of(cluster.name) if each.name in mine[role]
    ):
        raise errors.Refused(
            f"bootstrap does not bring {ROLES[role]} of {cluster.name}",
            hint="What it brings: firstlight inventory; what Talos brings by itself: talosctl upgrade-k8s to the same.",
        )
    # Without a network the engine has lost more than that, as a rule: it comes after it.
    names = (*mine["cni"], *mine["engine"]) if role == "cni" else mine["engine"]
    known = {each.name: each for each in platform.components_of(cluster.name)}
    planned = tuple(each for each in names if cluster_facts.in_bootstrap(known[each]))  # Git may have parts of its own
    wishes = RunRequest(cluster=cluster.name, only=planned, until=Phase.ENGINE)
    prepared = await up.prepare(platform, wishes, means, is_checked=False)
    scene = await expected_state.prepare(platform, cluster.name, means, components=names)
    if means.is_rehearsal:
        # The engine follows the lab's copy of the repo, at an address of its own; its commit is still compared.
        scene = dataclasses.replace(scene, cluster=dataclasses.replace(scene.cluster, url=""))
    return RestorePlan(cluster=cluster, names=names, prepared=prepared, scene=scene)


def restore_stages(ready: RestorePlan) -> tuple[WalkStage, ...]:
    """What others own, what bootstrap brings, and then the gates of all of it."""
    steps = [each for each in ready.prepared.work.plan.steps if each.component in ready.names]
    tasks = ready.prepared.work.tasks
    return (
        _in_the_place(ready),
        *(_as_bootstrap(each, ready) for each in steps if isinstance(tasks[each.id], Apply | Install)),
        *(_gate(each, ready) for each in steps if each.gates),
    )


def _named(platform: Platform, cluster: Cluster, role: str) -> tuple[str, ...]:
    return tuple(each.name for each in platform.components_of(cluster.name) if each.role == role)


def _as_bootstrap(step: Step, ready: RestorePlan) -> WalkStage:
    async def look(world: World) -> PendingChange | None:
        return await dispatch.look(ready.prepared.work.tasks[step.id], world, step.id)

    return WalkStage(id=step.id, name=step.name, what=step.what, phase=step.phase, look=look)


def _gate(step: Step, ready: RestorePlan) -> WalkStage:
    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await bootstrap_stages.wait_gates(step, ready.prepared, world, on_verdict)

    return WalkStage(id=f"{step.id}:gates", name=f"{step.name} runs", phase=step.phase, wait=wait)


def _in_the_place(ready: RestorePlan) -> WalkStage:
    """What the engine or Talos owns, put back as them."""
    id = f"{ready.cluster.name}:in-its-place"

    async def look(world: World) -> PendingChange | None:
        found = await drift.look(ready.scene, world.kube)
        wanted = {each.id: each for each in ready.scene.wanted}
        differ = [each for each in found.drifted if each.id in wanted and _is_restored(each)]
        there = await _there([wanted[each.id].owner for each in differ], world)
        engines = [each for each in differ if wanted[each.id].owner in there]
        others = [wanted[each.id] for each in differ if each not in engines and _is_applied(wanted[each.id])]
        if engines:
            await _refuse_while_it_works(ready, world, wanted[engines[0].id], there)
        managers = {each.id: each.manager for each in others}
        plain = await survey(
            [each.object for each in others], world.kube, manager=final_owners.FIRSTLIGHT, managers=managers
        )
        object_survey.check_refusals(plain)
        if not engines and not plain:
            return None

        async def perform() -> None:
            await apply(plain, world.kube, tell=lambda text: world.tell(id, text))
            chosen = apply_as_engine.applicable(ready.scene, engines, lambda text: world.tell(id, text))
            await apply_as_engine.write_each(
                ready.scene, chosen, world.kube, write=apply_as_engine.written, lease=_Held(),
                tell=lambda text: world.tell(id, text),
            )  # fmt: skip

        writes = [*(each.sentence for each in plain), *(_sentence(each, wanted[each.id]) for each in engines)]
        return PendingChange(writes=tuple(writes), perform=perform)

    return WalkStage(
        id=id, name=f"{', '.join(ready.names)} as its owner", what="what the engine or Talos owns", phase=Phase.CORE,
        look=look,
    )  # fmt: skip


def _is_restored(each: Drifted) -> bool:
    return each.difference in (DriftKind.MISSING, DriftKind.CHANGED)


def _sentence(drifted: Drifted, wanted: WantedObject) -> str:
    verb = "create" if drifted.difference is DriftKind.MISSING else "change"
    return f"{verb} {drifted.id} as {wanted.manager}"


async def _there(owners: Iterable[ObjectOwner], world: World) -> list[ObjectOwner]:
    """Who of the engine owns something, and exists: what others were to own is as it was before a handover."""
    asked = sorted({each for each in owners if each.party in _ENGINES})
    return [each for each in asked if await live_objects.engine_object(each, world.kube) is not None]


def _is_applied(wanted: WantedObject) -> bool:
    """Whether it is applied as plain objects are: what Helm keeps is Helm's, and had its turn before."""
    return wanted.is_applicable and wanted.owner.party is not Party.HELM and not wanted.is_chart


async def _refuse_while_it_works(
    ready: RestorePlan, world: World, wanted: WantedObject, owners: Sequence[ObjectOwner]
) -> None:
    """What an engine owns is its own to put back, as long as it can; and never to another commit than it follows.

    Raises:
        errors.Refused: The engine works, or follows another commit.
    """
    route = await emergency_route.route(ready.cluster, world.kube)
    if route.path is EmergencyPath.EXPEDITED:
        raise errors.Refused(
            f"{wanted.id} is the engine's, which works: it puts it back by itself",
            hint=f"Ask it to: firstlight drift {ready.cluster.name} --correct",
        )
    await applied_commit.check_commit(ready.scene, owners, world.kube)


class _Held:
    """The lease of the walk, which stops what it writes when the lease is lost."""

    async def claim(self) -> bool:
        return False
