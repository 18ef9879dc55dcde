"""The handover alone, on a cluster that is there: the steps of ``up`` from the baseline to the certificate."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute import holders
from firstlight.execute.actions import kubeconfig
from firstlight.execute.handing import (
    certifying,
    keeping_certificate,
    leftovers,
    predicting,
    releasing,
    signing,
    upgrade_preview,
)
from firstlight.execute.handing.keeping_certificate import Kept
from firstlight.execute.handing.leftovers import Leftover
from firstlight.execute.handing.releasing import TalosState
from firstlight.execute.handing.upgrade_preview import Preview
from firstlight.execute.lease import Lease
from firstlight.execute.loop import Result
from firstlight.execute.overriding import finishing
from firstlight.execute.world import World
from firstlight.gates import ground as gate_ground
from firstlight.journal import directory as state_directory
from firstlight.journal import run_id
from firstlight.model import work as works
from firstlight.model.certificate import Certificate, Stage, Verified
from firstlight.model.cluster import MachineRole
from firstlight.model.component import ObjectId, Owner
from firstlight.model.handover import Offer, Passing, Prediction
from firstlight.model.plan import Action
from firstlight.model.platform import Platform
from firstlight.model.verdict import Failed, Passed
from firstlight.operate import up
from firstlight.operate.handover import argocd_checks, canary, offering, verifying
from firstlight.operate.means import Means, Wishes
from firstlight.operate.up import Prepared
from firstlight.ownership import covering
from firstlight.plan import facts, roots

Losses = Mapping[ObjectId, frozenset[str]]
"""Paths of fields, by object."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user asked for."""

    cluster: str
    components: tuple[str, ...] = ()
    """Those that are meant; all if it is empty."""
    is_dry_run: bool = False
    is_loss_allowed: bool = False
    is_restart_accepted: bool = False
    """Whether a certificate is kept although pods are others than before, with that said."""
    key: Path | None = None
    """The user's SSH key that signs the certificate."""

    @property
    def wishes(self) -> Wishes:
        """The same for ``up``."""
        return Wishes(
            cluster=self.cluster, only=self.components, is_dry_run=self.is_dry_run, is_handover=True
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Foreseen:
    """What would come of a handover."""

    predictions: tuple[Prediction, ...]
    talos: TalosState | None = None
    """What Talos has of the manifests that it would release; None where it would release none."""
    upgrade: Preview | None = None
    """What the next ``talosctl upgrade-k8s`` would do to their objects, as things are now."""


async def prepare(platform: Platform, asked: Asked, means: Means, *, is_checked: bool = True) -> Prepared:
    """Render, plan and check the handover; nothing is written.

    Args:
        platform: The repo.
        asked: What is asked for.
        means: How the world is reached.
        is_checked: Whether the world is asked what stands in the way; not where nothing is going to be written.

    Raises:
        errors.UsageError: There is no such cluster, or the engine takes over no such component.
        errors.Refused: A component is named that bootstrap keeps, or nobody takes anything over.
    """
    cluster = up.cluster_of(platform, asked.cluster)
    for name in kept(platform, cluster.name):
        if name in asked.components:
            raise errors.Refused(
                f"{name} stays with bootstrap: firstlight.yaml says owner: bootstrap",
                hint=f"It is left alone; to hand it over, write components, {name}, owner: gitops.",
            )
    return narrowed(await up.prepare(platform, asked.wishes, means, is_checked=is_checked), asked)


def narrowed(prepared: Prepared, asked: Asked) -> Prepared:
    """The same with tasks about what was asked for alone, in the way that was asked for."""
    released = tuple(name for each in _releases(prepared) for name in each.manifests)
    tasks = {name: _narrowed(task, asked, released=released) for name, task in prepared.work.tasks.items()}
    return dataclasses.replace(prepared, work=dataclasses.replace(prepared.work, tasks=tasks))


def kept(platform: Platform, cluster: str) -> tuple[str, ...]:
    """The components that bootstrap keeps, since the repo says so."""
    return tuple(
        each.name
        for each in platform.components_of(cluster)
        if facts.in_bootstrap(each) and each.owner == Owner.BOOTSTRAP
    )


def passing(prepared: Prepared) -> tuple[Passing, ...]:
    """Everything that passes in this handover."""
    tasks = [each for each in prepared.work.tasks.values() if isinstance(each, works.MigrateOwners)]
    return tuple(one for each in tasks for one in each.passing)


def offers(prepared: Prepared) -> tuple[Offer, ...]:
    """Changes of the repo without which an Application cannot take over what passes to it; nothing is written."""
    known = facts.of(prepared.platform, prepared.cluster, prepared.renditions)
    return offering.offers(known, passing(prepared), prepared.platform.root)


@contextlib.asynccontextmanager
async def reached(prepared: Prepared, means: Means) -> AsyncIterator[World]:
    """The cluster, to look at it before or after a run; nothing is written.

    Raises:
        errors.Refused: It is another cluster than it was.
        errors.Unreachable: The API does not answer.
    """
    world = up.world_of(prepared, means, run=run_id.make(prepared.cluster.name, now=means.now()))
    try:
        for task in prepared.work.tasks.values():
            if isinstance(task, works.FetchKubeconfig):
                await kubeconfig.look(task, world, "")
        yield world
    finally:
        await world.close()


async def foresee(prepared: Prepared, world: World) -> Foreseen:
    """What the engine would change and take away, and what Talos has and would do; nothing is written.

    Raises:
        errors.ClientError: The API does not answer.
    """
    predictions = await predicting.predict(passing(prepared), world.kube)
    releases = _releases(prepared)
    if not releases:
        return Foreseen(predictions=predictions)
    task = releases[0]
    ids = [each.id for each in task.passing]
    state = await releasing.talos_state(task.control_planes, task.manifests, ids, world)
    upgrade = await upgrade_preview.of(task.control_planes, ids, state=state, world=world)
    return Foreseen(predictions=predictions, talos=state, upgrade=upgrade)


async def certificate(
    prepared: Prepared, means: Means, result: Result, *, since: float
) -> tuple[Certificate, Path] | None:
    """The certificate that a run has made, or found, and the file that has it; None if it did not get that far.

    Args:
        prepared: What was run.
        means: How the world is reached.
        result: What came of it.
        since: When it began, in seconds since the epoch.

    Raises:
        errors.ClientError: The API does not answer.
        errors.FirstlightError: The file cannot be written.
    """
    steps = [each.id for each in prepared.work.plan.steps if each.action == Action.CERTIFY]
    outcome = result.outcomes.get(steps[0]) if steps else None
    directory = means.state / prepared.cluster.name
    if isinstance(outcome, Failed):
        path = directory / keeping_certificate.INCOMPLETE
        made = keeping_certificate.read(path).certificate if state_directory.is_file(path) else None
        return (made, path) if made is not None and made.at >= int(since) else None
    if not isinstance(outcome, Passed):
        return None
    # What counts is what the cluster has: the file may be older, another cluster's, or changed by somebody.
    async with reached(prepared, means) as world:
        found = await keeping_certificate.load_kept(world.kube, uid=await certifying.uid_of(world.kube))
    return (found.certificate, keeping_certificate.keep_copy(found, directory)) if found is not None else None


async def fly_canary(
    prepared: Prepared,
    means: Means,
    *,
    key: Path | None,
    confirm: Callable[[str], bool],
    tell: Callable[[str], None],
) -> tuple[Certificate, Path]:
    """The cluster's certificate with what a label showed that was added and removed through Git; and where it is.

    It is kept, and signed again; one that is not complete by then is kept for reading alone.

    Args:
        prepared: What was handed over.
        means: How the world is reached.
        key: The user's SSH key that signs it.
        confirm: Asked before anything is pushed.
        tell: Told what is done.

    Raises:
        errors.Refused: It was not confirmed, there is no git, or another run works on this cluster.
        errors.ClientError: The branch cannot be cloned, or the label cannot be removed from it again.
    """
    if means.git is None:
        raise errors.Refused("a canary is pushed by git, and there is none", hint="Install git, or leave --canary out.")
    directory = means.state / prepared.cluster.name
    async with reached(prepared, means) as world, _alone(world, tell) as claim:
        branch = canary.branch_of(prepared.cluster, means.git)
        proof = await canary.prove(
            passing(prepared), world.kube, branch, confirm=confirm, claim=claim, tell=tell
        )  # fmt: skip
        await claim()
        made = await keeping_certificate.load(world.kube, uid=await certifying.uid_of(world.kube))
        if made is None:
            raise errors.Refused(
                "the cluster has no certificate any more that this could be added to",
                hint=f"Make it again: firstlight handover {prepared.cluster.name}",
            )
        found = await canary.record(made, proof, world.kube, directory)
        if key is not None and found.is_complete:
            found = await signing.sign(found, key)
            await keeping_certificate.keep(keeping_certificate.made(found), world.kube, directory)
        elif made.signature and found.is_complete:
            tell("it says more than the one that was signed: sign it again with --sign KEY")
    return found, directory / (keeping_certificate.FILE if found.is_complete else keeping_certificate.INCOMPLETE)


async def verify(given: Kept, prepared: Prepared, means: Means, *, signers: Path | None = None) -> Verified:
    """A certificate held against the cluster and against Git as they are now; nothing is written.

    Args:
        given: As it was kept.
        prepared: The handover of today.
        means: How the world is reached.
        signers: A file of allowed signers, one of whom must have signed it.

    Raises:
        errors.Refused: It is of another cluster.
        errors.FirstlightError: It was changed after it was sealed, or its signature is not good.
    """
    made = given.certificate
    signer = await verifying.check(made, content=given.content, signers=signers)
    # Of a provisional one Talos may have the manifests still: what it releases today must be released by now.
    today = _releases(prepared) if made.stage == Stage.PROVISIONAL else []
    released = tuple(dict.fromkeys([*made.released, *(name for each in today for name in each.manifests)]))
    ids = {each.id for each in made.objects if not each.is_staying} | {one.id for each in today for one in each.passing}
    wanted = passing(prepared)
    async with reached(prepared, means) as world:
        planes = [each for each in prepared.cluster.machines if each.role == MachineRole.CONTROL_PLANE and each.address]
        talos = upgrade = None
        if released and planes:
            talos = await releasing.talos_state(planes, released, sorted(ids), world)
            upgrade = await upgrade_preview.of(planes, sorted(ids), state=talos, world=world)
        now = await verifying.verify(
            made, world.kube, passing=wanted, talos=talos, upgrade=upgrade, content=given.content, signers=signers,
            kept=kept(prepared.platform, prepared.cluster.name),
        )  # fmt: skip
    uncovered = tuple(each.id for each in covering.uncovered(wanted, made.objects))
    return Verified(given=made, now=now, signer=signer, is_known=signers is not None, uncovered=uncovered)


async def losses(prepared: Prepared, means: Means) -> Losses:
    """The fields of each object that Git does not have, and that the engine's next apply takes away.

    Before a handover for which somebody has agreed to that, and after it: what is still there then was not lost.

    Raises:
        errors.ClientError: The API does not answer.
    """
    async with reached(prepared, means) as world:
        found = await predicting.predict(passing(prepared), world.kube)
    return {each.id: frozenset(each.lost) for each in found if each.lost}


def lost(before: Losses, after: Losses) -> int:
    """How many fields are gone of those that were to go."""
    return sum(len(paths - after.get(id, frozenset())) for id, paths in before.items())


async def left_behind(prepared: Prepared, world: World) -> tuple[Leftover, ...]:
    """The Secrets in which Helm kept releases that Applications own now.

    Raises:
        errors.ClientError: The API does not answer.
    """
    known = facts.of(prepared.platform, prepared.cluster, prepared.renditions)
    return await leftovers.leftovers(world.kube, argocd_checks.releases(known, passing(prepared)))


async def forget(found: Sequence[Leftover], world: World, *, tell: Callable[[str], None]) -> None:
    """Remove such Secrets, and nothing else.

    Raises:
        errors.Refused: Another run works on this cluster, or something of a release is not Argo CD's.
        errors.ClientError: The API does not answer.
    """
    async with _alone(world, tell) as claim:
        await claim()
        await leftovers.remove(world.kube, found)


@contextlib.asynccontextmanager
async def _alone(world: World, tell: Callable[[str], None]) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """What it gives takes or keeps the right to write; whatever override was cut off is finished when it is taken."""
    lease = Lease(world.kube, holder=holders.name(world.run), tell=tell)

    async def claim() -> None:
        if await lease.claim():
            await finishing.attempt(world.kube, cluster=world.cluster.name, state=world.state, tell=tell)

    try:
        yield claim
    finally:
        await lease.release()


async def check_root(prepared: Prepared, world: World) -> None:
    """For some components alone: what points the engine at the repo must be there, else everything would pass at once.

    Raises:
        errors.Refused: It is not there.
    """
    for step in prepared.work.plan.steps:
        if step.action != Action.CREATE_ROOT:
            continue
        for each in gate_ground.of_task(prepared.work.tasks[step.id]):
            if roots.is_starting(each.id) and not await _is_there(each.value, world.kube):
                raise errors.Refused(
                    f"{each.id.kind} {each.id.name} is not there: nothing points the engine at the repo, "
                    "and creating it would hand everything over",
                    hint=f"Hand everything over: firstlight handover {prepared.cluster.name}",
                )


async def _is_there(wanted: Mapping[str, Any], client: "kube.Client") -> bool:
    metadata = wanted["metadata"]
    try:
        await client.get(
            wanted["apiVersion"], wanted["kind"], metadata["name"], namespace=metadata.get("namespace"),
            metadata_only=True,
        )  # fmt: skip
    except (kube.NotFound, kube.UnknownKind):
        return False
    return True


def _releases(prepared: Prepared) -> list[works.Release]:
    """What Talos releases in this very run; not what it would release in another."""
    return [each for each in prepared.work.tasks.values() if isinstance(each, works.Release)]


def _narrowed(task: works.Task, asked: Asked, *, released: tuple[str, ...]) -> works.Task:
    """A task about what was asked for alone, in the way that was asked for."""
    match task:
        case works.MigrateOwners():
            mine = _mine(task.passing, asked)
            return dataclasses.replace(task, passing=mine, is_loss_allowed=asked.is_loss_allowed, is_again=True)
        case works.Certify():
            mine = _mine(task.passing, asked)
            ids = {each.id for each in mine}
            staying = tuple(each for each in task.staying if each in ids)
            return dataclasses.replace(
                task, passing=mine, released=released, staying=staying, key=asked.key, is_again=True,
                is_restart_accepted=asked.is_restart_accepted,
            )  # fmt: skip
        case works.Apply() | works.Install() if asked.components and _is_root(task):
            return works.Watch(objects=task.objects)
    return task


def _mine(passing: tuple[Passing, ...], asked: Asked) -> tuple[Passing, ...]:
    return tuple(each for each in passing if not asked.components or each.component in asked.components)


def _is_root(task: works.Apply | works.Install) -> bool:
    return any(roots.is_starting(each.id) for each in task.objects)
