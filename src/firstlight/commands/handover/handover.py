"""The handover alone, on a cluster that is there: the steps of ``up`` from the baseline to the certificate."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients import kube
from firstlight.commands.handover import canary, helm_leftovers, verify_certificate
from firstlight.commands.handover import offers as handover_offers
from firstlight.commands.handover.helm_leftovers import HelmLeftover
from firstlight.commands.up import up
from firstlight.commands.up.up import PreparedRun, reached
from firstlight.engines import engine_roots
from firstlight.execute import lease as execute_lease
from firstlight.execute.handover import certificate_store, certification, prediction, talos_state, upgrade_preview
from firstlight.execute.handover.certificate_store import StoredCertificate
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.handover.upgrade_preview import UpgradePreview
from firstlight.execute.lease import Lease
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.overrides import override_end
from firstlight.execute.world import World
from firstlight.gates import gate_parts
from firstlight.model import work
from firstlight.model.certificate import Certificate, CertificateStage, VerifiedCertificate
from firstlight.model.cluster import MachineRole
from firstlight.model.component import ObjectId, Owner
from firstlight.model.handover import Offer, Passing, Prediction
from firstlight.model.plan import Action
from firstlight.model.platform import Platform
from firstlight.ownership import certificate_scope
from firstlight.plan import argocd_takeover, cluster_facts

Losses = Mapping[ObjectId, frozenset[str]]
"""Paths of fields, by object."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HandoverRequest:
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
    def wishes(self) -> RunRequest:
        """The same for ``up``."""
        return RunRequest(
            cluster=self.cluster, only=self.components, is_dry_run=self.is_dry_run, is_handover=True
        )  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class HandoverForecast:
    """What would come of a handover."""

    predictions: tuple[Prediction, ...]
    talos: TalosState | None = None
    """What Talos has of the manifests that it would release; None where it would release none."""
    upgrade: UpgradePreview | None = None
    """What the next ``talosctl upgrade-k8s`` would do to their objects, as things are now."""


async def prepare(platform: Platform, asked: HandoverRequest, means: Means, *, is_checked: bool = True) -> PreparedRun:
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
    cluster = which_cluster.cluster_of(platform, asked.cluster)
    for name in kept(platform, cluster.name):
        if name in asked.components:
            raise errors.Refused(
                f"{name} stays with bootstrap: firstlight.yaml says owner: bootstrap",
                hint=f"It is left alone; to hand it over, write components, {name}, owner: gitops.",
            )
    return narrowed(await up.prepare(platform, asked.wishes, means, is_checked=is_checked), asked)


def narrowed(prepared: PreparedRun, asked: HandoverRequest) -> PreparedRun:
    """The same with tasks about what was asked for alone, in the way that was asked for."""
    released = tuple(name for each in _releases(prepared) for name in each.manifests)
    tasks = {name: _narrowed(task, asked, released=released) for name, task in prepared.work.tasks.items()}
    return dataclasses.replace(prepared, work=dataclasses.replace(prepared.work, tasks=tasks))


def kept(platform: Platform, cluster: str) -> tuple[str, ...]:
    """The components that bootstrap keeps, since the repo says so."""
    return tuple(
        each.name
        for each in platform.components_of(cluster)
        if cluster_facts.in_bootstrap(each) and each.owner == Owner.BOOTSTRAP
    )


def passing(prepared: PreparedRun) -> tuple[Passing, ...]:
    """Everything that passes in this handover."""
    tasks = [each for each in prepared.work.tasks.values() if isinstance(each, work.MigrateOwners)]
    return tuple(one for each in tasks for one in each.passing)


def offers(prepared: PreparedRun) -> tuple[Offer, ...]:
    """Changes of the repo without which an Application cannot take over what passes to it; nothing is written."""
    known = cluster_facts.of(prepared.platform, prepared.cluster, prepared.renditions)
    return handover_offers.offers(known, passing(prepared), prepared.platform.root)


async def foresee(prepared: PreparedRun, world: World) -> HandoverForecast:
    """What the engine would change and take away, and what Talos has and would do; nothing is written.

    Raises:
        errors.ClientError: The API does not answer.
    """
    predictions = await prediction.predict(passing(prepared), world.kube)
    releases = _releases(prepared)
    if not releases:
        return HandoverForecast(predictions=predictions)
    task = releases[0]
    ids = [each.id for each in task.passing]
    state = await talos_state.talos_state(task.control_planes, task.manifests, ids, world)
    upgrade = await upgrade_preview.of(task.control_planes, ids, state=state, world=world)
    return HandoverForecast(predictions=predictions, talos=state, upgrade=upgrade)


async def fly_canary(
    prepared: PreparedRun,
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
        made = await certificate_store.load(world.kube, uid=await certification.uid_of(world.kube))
        if made is None:
            raise errors.Refused(
                "the cluster has no certificate any more that this could be added to",
                hint=f"Make it again: firstlight handover {prepared.cluster.name}",
            )
        found = await canary.record(made, proof, world.kube, directory)
        if key is not None and found.is_complete:
            found = await certificate_store.sign(found, key)
            await certificate_store.keep(certificate_store.made(found), world.kube, directory)
        elif made.signature and found.is_complete:
            tell("it says more than the one that was signed: sign it again with --sign KEY")
    return found, directory / (certificate_store.FILE if found.is_complete else certificate_store.INCOMPLETE)


async def verify(
    given: StoredCertificate, prepared: PreparedRun, means: Means, *, signers: Path | None = None
) -> VerifiedCertificate:
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
    signer = await verify_certificate.check(made, content=given.content, signers=signers)
    # Of a provisional one Talos may have the manifests still: what it releases today must be released by now.
    today = _releases(prepared) if made.stage == CertificateStage.PROVISIONAL else []
    released = tuple(dict.fromkeys([*made.released, *(name for each in today for name in each.manifests)]))
    ids = {each.id for each in made.objects if not each.is_staying} | {one.id for each in today for one in each.passing}
    wanted = passing(prepared)
    async with reached(prepared, means) as world:
        planes = [each for each in prepared.cluster.machines if each.role == MachineRole.CONTROL_PLANE and each.address]
        talos = upgrade = None
        if released and planes:
            talos = await talos_state.talos_state(planes, released, sorted(ids), world)
            upgrade = await upgrade_preview.of(planes, sorted(ids), state=talos, world=world)
        now = await verify_certificate.verify(
            made, world.kube, passing=wanted, talos=talos, upgrade=upgrade, content=given.content, signers=signers,
            kept=kept(prepared.platform, prepared.cluster.name),
        )  # fmt: skip
    uncovered = tuple(each.id for each in certificate_scope.uncovered(wanted, made.objects))
    return VerifiedCertificate(given=made, now=now, signer=signer, is_known=signers is not None, uncovered=uncovered)


async def losses(prepared: PreparedRun, means: Means) -> Losses:
    """The fields of each object that Git does not have, and that the engine's next apply takes away.

    Before a handover for which somebody has agreed to that, and after it: what is still there then was not lost.

    Raises:
        errors.ClientError: The API does not answer.
    """
    async with reached(prepared, means) as world:
        found = await prediction.predict(passing(prepared), world.kube)
    return {each.id: frozenset(each.lost) for each in found if each.lost}


def lost(before: Losses, after: Losses) -> int:
    """How many fields are gone of those that were to go."""
    return sum(len(paths - after.get(id, frozenset())) for id, paths in before.items())


async def left_behind(prepared: PreparedRun, world: World) -> tuple[HelmLeftover, ...]:
    """The Secrets in which Helm kept releases that Applications own now.

    Raises:
        errors.ClientError: The API does not answer.
    """
    known = cluster_facts.of(prepared.platform, prepared.cluster, prepared.renditions)
    return await helm_leftovers.leftovers(world.kube, argocd_takeover.helm_releases(known, passing(prepared)))


async def forget(found: Sequence[HelmLeftover], world: World, *, tell: Callable[[str], None]) -> None:
    """Remove such Secrets, and nothing else.

    Raises:
        errors.Refused: Another run works on this cluster, or something of a release is not Argo CD's.
        errors.ClientError: The API does not answer.
    """
    async with _alone(world, tell) as claim:
        await claim()
        await helm_leftovers.remove(world.kube, found)


@contextlib.asynccontextmanager
async def _alone(world: World, tell: Callable[[str], None]) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """What it gives takes or keeps the right to write; whatever override was cut off is finished when it is taken."""
    lease = Lease(world.kube, holder=execute_lease.holder_name(world.run), tell=tell)

    async def claim() -> None:
        if await lease.claim():
            await override_end.attempt_finish(world.kube, cluster=world.cluster.name, state=world.state, tell=tell)

    try:
        yield claim
    finally:
        await lease.release()


async def check_root(prepared: PreparedRun, world: World) -> None:
    """For some components alone: what points the engine at the repo must be there, else everything would pass at once.

    Raises:
        errors.Refused: It is not there.
    """
    for step in prepared.work.plan.steps:
        if step.action != Action.CREATE_ROOT:
            continue
        for each in gate_parts.task_objects(prepared.work.tasks[step.id]):
            if engine_roots.is_starting(each.id) and not await _is_there(each.value, world.kube):
                raise errors.Refused(
                    f"{each.id.kind} {each.id.name} is not there: nothing points the engine at the repo, "
                    "and creating it would hand everything over",
                    hint=f"Hand everything over: firstlight handover {prepared.cluster.name}",
                )


async def _is_there(wanted: Mapping[str, Any], client: kube.Client) -> bool:
    metadata = wanted["metadata"]
    try:
        await client.get(
            wanted["apiVersion"], wanted["kind"], metadata["name"], namespace=metadata.get("namespace"),
            metadata_only=True,
        )  # fmt: skip
    except (kube.NotFound, kube.UnknownKind):
        return False
    return True


def _releases(prepared: PreparedRun) -> list[work.ReleaseFromTalos]:
    """What Talos releases in this very run; not what it would release in another."""
    return [each for each in prepared.work.tasks.values() if isinstance(each, work.ReleaseFromTalos)]


def _narrowed(task: work.Task, asked: HandoverRequest, *, released: tuple[str, ...]) -> work.Task:
    """A task about what was asked for alone, in the way that was asked for."""
    match task:
        case work.MigrateOwners():
            mine = _mine(task.passing, asked)
            return dataclasses.replace(task, passing=mine, is_loss_allowed=asked.is_loss_allowed, is_again=True)
        case work.Certify():
            mine = _mine(task.passing, asked)
            ids = {each.id for each in mine}
            staying = tuple(each for each in task.staying if each in ids)
            return dataclasses.replace(
                task, passing=mine, released=released, staying=staying, key=asked.key, is_again=True,
                is_restart_accepted=asked.is_restart_accepted,
            )  # fmt: skip
        case work.Apply() | work.Install() if asked.components and _is_root(task):
            return work.Watch(objects=task.objects)
    return task


def _mine(passing: tuple[Passing, ...], asked: HandoverRequest) -> tuple[Passing, ...]:
    return tuple(each for each in passing if not asked.components or each.component in asked.components)


def _is_root(task: work.Apply | work.Install) -> bool:
    return any(engine_roots.is_starting(each.id) for each in task.objects)
