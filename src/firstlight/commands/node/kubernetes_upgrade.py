"""Kubernetes brought to another version by ``talosctl upgrade-k8s``, whose doings are shown and judged before.

It goes machine by machine itself, and does nothing where a machine has the version: killed and run again, it goes on.
"""

import asyncio
import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.talosctl.cluster_commands import RECONCILE
from firstlight.commands.backup import etcd_snapshot
from firstlight.commands.node import kubernetes_upgrade_plan, machine_ready, upgrade_survey
from firstlight.engines import engine_marks
from firstlight.execute import cluster_access, gate_wait
from firstlight.execute.handover import talos_inventory, upgrade_preview
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd
from firstlight.model.cluster import Machine
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.platform import Platform
from firstlight.model.upgrade_plan import KubernetesUpgrade, UpgradePlan
from firstlight.model.verdict import Passed
from firstlight.observe import machine_survey, owned_objects
from firstlight.observe.machine_survey import MachineAccess

COMMAND = "node upgrade"
PREVIEW = 180.0
"""Seconds for a dry run: every object of all manifests is tried."""
_INVENTORY = (1, 13)
"""The Talos that keeps an inventory, which even a dry run would make where there is none."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class KubernetesUpgradeOptions:
    """What was asked for."""

    target: str
    is_pruned: bool = True
    """Whether objects go that Talos had once, and no manifest brings any more."""
    is_manifest_accepted: bool = False
    """Whether objects of Git may be written over and deleted."""
    is_snapshot_kept: bool = True
    patience: float = machine_ready.TIMEOUT


async def plan(platform: Platform, world: World, wishes: KubernetesUpgradeOptions) -> UpgradePlan:
    """What would be done; nothing is written.

    Raises:
        errors.Refused: The repo's machines are not understood.
        errors.ClientError: The Kubernetes API does not answer.
    """
    seen = await upgrade_survey.survey(platform, world)
    made = kubernetes_upgrade_plan.plan_kubernetes_upgrade(
        seen.machines, wishes.target, cluster=world.cluster.name, runs=seen.kubernetes,
        declared=upgrade_survey.declared(world.cluster, "kubernetes"),
    )  # fmt: skip
    if made.refusals or made.is_done:
        return made
    made = await _with_manifests(made, world, wishes)
    if wishes.is_snapshot_kept:
        refused = await etcd_snapshot.refusal(world.cluster, world, root=platform.root, without="--no-snapshot")
        made = dataclasses.replace(made, refusals=(*made.refusals, *([refused] if refused else [])))
    return made


def stages(
    made: UpgradePlan, wishes: KubernetesUpgradeOptions, *, before: WalkStage | None = None
) -> tuple[WalkStage, ...]:
    """The stages: the upgrade itself, then every machine held against it."""
    moves = made.rounds[0].moves
    expected = machine_ready.ExpectedMachine(kubernetes=wishes.target)
    back = (machine_ready.ready_stage(each.machine, expected=expected, timeout=wishes.patience) for each in moves)
    if made.is_done:
        return tuple(back)
    return (*([before] if before is not None else []), _upgrade(wishes), *back)


def _upgrade(wishes: KubernetesUpgradeOptions) -> WalkStage:
    id = "kubernetes:upgrade"

    async def look(world: World) -> PendingChange | None:
        way = await cluster_access.ensure(world)
        plane = await _well(world, way)

        async def perform() -> None:
            world.tell(id, f"talosctl upgrade-k8s goes from machine to machine, through {plane.name}; it takes minutes")
            done = await _asked(plane, world, way, wishes, is_dry_run=False)
            for each in done.updates:
                world.tell(id, f"{each.node}: {each.component} {each.before} › {each.after}")
            for line in kubernetes_upgrade_plan.manifest_changes(done):
                world.tell(id, line)

        return PendingChange(writes=(f"upgrade Kubernetes to {wishes.target}",), perform=perform)

    return WalkStage(id=id, name=f"upgrade Kubernetes to {wishes.target}", look=look)


async def _well(world: World, way: MachineAccess) -> Machine:
    """A control plane to ask, while all of them are well: each in turn is without its API server for a while.

    Raises:
        errors.Refused: etcd is not well.
    """
    reports = await machine_survey.look_at_all(gate_wait.control_planes(world), way, with_etcd=True)
    verdict = etcd.judge(reports)
    if not isinstance(verdict, Passed):
        raise errors.Refused(f"Kubernetes is not upgraded: {verdict.reason}", hint="What is wrong: firstlight doctor")
    return reports[0].machine


async def _with_manifests(made: UpgradePlan, world: World, wishes: KubernetesUpgradeOptions) -> UpgradePlan:
    """The plan with what becomes of the manifests, by talosctl's own dry run."""
    way = await cluster_access.ensure(world)
    try:
        plane = await _well(world, way)
        unknown = await _without_inventory(plane, world, way)
        tried = None if unknown else await _asked(plane, world, way, wishes, is_dry_run=True)
    except errors.Refused as error:
        refusal = Diagnostic.error("upgrade-cluster-not-ready", error.message, fix=error.hint)
        return dataclasses.replace(made, refusals=(*made.refusals, refusal))
    except talosctl.TalosError as error:
        message = f"talosctl upgrade-k8s says no: {error.detail}"
        refusal = Diagnostic.error("upgrade-k8s-refused", message, fix=error.hint)
        return dataclasses.replace(made, refusals=(*made.refusals, refusal))
    found: Sequence[Diagnostic] = ()
    if tried is None:
        found = tuple(kubernetes_upgrade_plan.manifest_refusals(written=(), deleted=(), besides=(), unknown=unknown))
    else:
        found = tuple(await _judged(tried, world, wishes))
        made = dataclasses.replace(
            made,
            changes=kubernetes_upgrade_plan.manifest_changes(tried),
            warnings=(*made.warnings, *kubernetes_upgrade_plan.deprecation_warnings(tried)),
        )
    return made if wishes.is_manifest_accepted else dataclasses.replace(made, refusals=(*made.refusals, *found))


async def _judged(tried: KubernetesUpgrade, world: World, wishes: KubernetesUpgradeOptions) -> Sequence[Diagnostic]:
    seen, wide = await asyncio.gather(owned_objects.look(world.kube), talos_inventory.cluster_wide(world.kube))
    ids = [ObjectId.of(each) for each in seen.objects if engine_marks.of(each) is not None]
    preview = upgrade_preview.read(tried, ids, wide)
    return tuple(
        kubernetes_upgrade_plan.manifest_refusals(
            written=[str(each) for each in preview.written], deleted=[str(each) for each in preview.deleted],
            besides=preview.besides, is_pruned=wishes.is_pruned,
        )
    )  # fmt: skip


async def _without_inventory(plane: Machine, world: World, way: MachineAccess) -> str:
    """Why nothing is tried: a dry run without an inventory would write one."""
    version = (await way.admin.version(way.at(plane))).tag
    numbers = tuple(int(each) for each in version.removeprefix("v").split(".")[:2] if each.isdecimal())
    if numbers < _INVENTORY or await talos_inventory.read(world.kube) is not None:
        return ""
    return "Talos has no inventory of what it has applied"


async def _asked(
    plane: Machine, world: World, way: MachineAccess, wishes: KubernetesUpgradeOptions, *, is_dry_run: bool
) -> KubernetesUpgrade:
    """Ask talosctl for it."""
    if is_dry_run:
        return await way.admin.upgrade_k8s(
            way.at(plane), to=wishes.target, dry_run=True, endpoint=world.reach.kubernetes, pull_first=False,
            timeout=PREVIEW,
        )  # fmt: skip
    return await way.admin.upgrade_k8s(
        way.at(plane), to=wishes.target, endpoint=world.reach.kubernetes, prune=wishes.is_pruned, reconcile=RECONCILE
    )
