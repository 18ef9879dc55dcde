"""The network plugin or the engine applied again, while whoever usually does so cannot.

What the engine owns is applied in its place, with its marks and as its manager, and only while it is down and follows
the commit that was rendered. What Talos has brought is applied as Talos, which never puts back what somebody deleted.
Then what bootstrap brings, in the way it did: releases of Helm, and what nobody has taken over yet.
"""

import dataclasses
from collections.abc import Iterable, Sequence

from firstlight import errors
from firstlight.execute.actions import looking
from firstlight.execute.applying import refusals
from firstlight.execute.applying.survey import survey
from firstlight.execute.applying.writing import apply
from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.drift import Difference, Drifted
from firstlight.model.override import Path
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.plan import Step
from firstlight.model.platform import Platform
from firstlight.model.verdict import Verdict
from firstlight.model.work import Apply, Install
from firstlight.operate import drift, drift_permission, drift_scene, drift_standing_in, engine_objects, up
from firstlight.operate.changing import bootstrap_components
from firstlight.operate.drift_scene import Scene
from firstlight.operate.means import Means, Wishes
from firstlight.operate.override import routing
from firstlight.operate.up import Prepared
from firstlight.ownership.drifting import Wanted
from firstlight.plan import facts, owning

_ENGINES = (Party.FLUX, Party.ARGOCD)
ROLES = {"cni": "the network plugin", "engine": "the engine"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ready:
    """What is to be restored, rendered."""

    cluster: Cluster
    names: tuple[str, ...]
    """Components that are applied again."""
    prepared: Prepared
    """Their steps."""
    scene: Scene


async def prepare(platform: Platform, cluster: Cluster, means: Means, *, role: str) -> Ready:
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
    if not any(facts.in_bootstrap(each) for each in platform.components_of(cluster.name) if each.name in mine[role]):
        raise errors.Refused(
            f"bootstrap does not bring {ROLES[role]} of {cluster.name}",
            hint="What it brings: firstlight inventory; what Talos brings by itself: talosctl upgrade-k8s to the same.",
        )
    # Without a network the engine has lost more than that, as a rule: it comes after it.
    names = (*mine["cni"], *mine["engine"]) if role == "cni" else mine["engine"]
    known = {each.name: each for each in platform.components_of(cluster.name)}
    planned = tuple(each for each in names if facts.in_bootstrap(known[each]))  # Git may have parts of its own
    wishes = Wishes(cluster=cluster.name, only=planned, until=Phase.ENGINE)
    prepared = await up.prepare(platform, wishes, means, is_checked=False)
    scene = await drift_scene.prepare(platform, cluster.name, means, components=names)
    if means.is_rehearsal:
        # The engine follows the lab's copy of the repo, at an address of its own; its commit is still compared.
        scene = dataclasses.replace(scene, cluster=dataclasses.replace(scene.cluster, url=""))
    return Ready(cluster=cluster, names=names, prepared=prepared, scene=scene)


def stages(ready: Ready) -> tuple[Stage, ...]:
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


def _as_bootstrap(step: Step, ready: Ready) -> Stage:
    async def look(world: World) -> Change | None:
        return await looking.look(ready.prepared.work.tasks[step.id], world, step.id)

    return Stage(id=step.id, name=step.name, what=step.what, phase=step.phase, look=look)


def _gate(step: Step, ready: Ready) -> Stage:
    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await bootstrap_components.gated(step, ready.prepared, world, on_verdict)

    return Stage(id=f"{step.id}:gates", name=f"{step.name} runs", phase=step.phase, wait=wait)


def _in_the_place(ready: Ready) -> Stage:
    """What the engine or Talos owns, put back as them."""
    id = f"{ready.cluster.name}:in-its-place"

    async def look(world: World) -> Change | None:
        found = await drift.look(ready.scene, world.kube)
        wanted = {each.id: each for each in ready.scene.wanted}
        differ = [each for each in found.drifted if each.id in wanted and _is_restored(each)]
        there = await _there([wanted[each.id].owner for each in differ], world)
        engines = [each for each in differ if wanted[each.id].owner in there]
        others = [wanted[each.id] for each in differ if each not in engines and _is_applied(wanted[each.id])]
        if engines:
            await _refuse_while_it_works(ready, world, wanted[engines[0].id], there)
        managers = {each.id: each.manager for each in others}
        plain = await survey([each.object for each in others], world.kube, manager=owning.FIRSTLIGHT, managers=managers)
        refusals.check(plain)
        if not engines and not plain:
            return None

        async def perform() -> None:
            await apply(plain, world.kube, tell=lambda text: world.tell(id, text))
            chosen = drift_standing_in.applicable(ready.scene, engines, lambda text: world.tell(id, text))
            await drift_standing_in.write_each(
                ready.scene, chosen, world.kube, write=drift_standing_in.written, lease=_Held(),
                tell=lambda text: world.tell(id, text),
            )  # fmt: skip

        writes = [*(each.sentence for each in plain), *(_sentence(each, wanted[each.id]) for each in engines)]
        return Change(writes=tuple(writes), perform=perform)

    return Stage(
        id=id, name=f"{', '.join(ready.names)} as its owner", what="what the engine or Talos owns", phase=Phase.CORE,
        look=look,
    )  # fmt: skip


def _is_restored(each: Drifted) -> bool:
    return each.difference in (Difference.MISSING, Difference.CHANGED)


def _sentence(drifted: Drifted, wanted: Wanted) -> str:
    verb = "create" if drifted.difference is Difference.MISSING else "change"
    return f"{verb} {drifted.id} as {wanted.manager}"


async def _there(owners: Iterable[ObjectOwner], world: World) -> list[ObjectOwner]:
    """Who of the engine owns something, and exists: what others were to own is as it was before a handover."""
    asked = sorted({each for each in owners if each.party in _ENGINES})
    return [each for each in asked if await engine_objects.of(each, world.kube) is not None]


def _is_applied(wanted: Wanted) -> bool:
    """Whether it is applied as plain objects are: what Helm keeps is Helm's, and had its turn before."""
    return wanted.is_applicable and wanted.owner.party is not Party.HELM and not wanted.is_chart


async def _refuse_while_it_works(ready: Ready, world: World, wanted: Wanted, owners: Sequence[ObjectOwner]) -> None:
    """What an engine owns is its own to put back, as long as it can; and never to another commit than it follows.

    Raises:
        errors.Refused: The engine works, or follows another commit.
    """
    route = await routing.route(ready.cluster, world.kube)
    if route.path is Path.EXPEDITED:
        raise errors.Refused(
            f"{wanted.id} is the engine's, which works: it puts it back by itself",
            hint=f"Ask it to: firstlight drift {ready.cluster.name} --correct",
        )
    await drift_permission.check_commit(ready.scene, owners, world.kube)


class _Held:
    """The lease of the walk, which stops what it writes when the lease is lost."""

    async def claim(self) -> bool:
        return False
