"""``firstlight node upgrade``: Talos or Kubernetes in another version, one machine at a time, with a plan before."""

import asyncio
import dataclasses
import sys
from pathlib import Path

from firstlight import errors
from firstlight.cli import follow_run, output, screen, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.cli.output import Form
from firstlight.commands.backup import etcd_snapshot
from firstlight.commands.node import kubernetes_upgrade, talos_upgrade, text, upgrade_controllers
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute import live_cluster
from firstlight.execute.means import Means
from firstlight.execute.walk import Walk
from firstlight.execute.world import World
from firstlight.model.platform import Platform
from firstlight.model.upgrade_plan import UpgradePlan, UpgradeProduct


def upgrade(
    cluster: str, *, talos: tuple[str, ...], kubernetes: str, machine: tuple[str, ...], dry_run: bool, yes: bool,
    no_snapshot: bool, scratch: bool, force: bool, accept_storage: bool, no_prune: bool, accept_manifests: bool,
    drain_timeout: float, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Bring a cluster to another version of Talos, or of Kubernetes. The plan is shown first."""
    _check(talos, kubernetes, machine)
    platform = which_repo.platform(root)
    wishes: talos_upgrade.TalosUpgradeOptions | kubernetes_upgrade.KubernetesUpgradeOptions
    if kubernetes:
        wishes = kubernetes_upgrade.KubernetesUpgradeOptions(
            target=kubernetes, is_pruned=not no_prune, is_manifest_accepted=accept_manifests,
            is_snapshot_kept=not no_snapshot, patience=timeout,
        )  # fmt: skip
    else:
        wishes = talos_upgrade.TalosUpgradeOptions(
            targets=talos, only=machine, patience=timeout, is_storage_accepted=accept_storage,
            is_snapshot_kept=not no_snapshot,
            drain=DrainOptions(may_lose_scratch=scratch, is_forced=force, patience=drain_timeout),
        )  # fmt: skip
    return asyncio.run(_upgraded(platform, cluster, wishes, is_dry_run=dry_run, yes=yes, form=form))


def _check(talos: tuple[str, ...], kubernetes: str, machine: tuple[str, ...]) -> None:
    if bool(talos) == bool(kubernetes):
        what = "Talos and Kubernetes are upgraded one after the other" if talos else "no version is given"
        raise errors.UsageError(what, hint="Give one: --talos v1.13.1, or --kubernetes v1.36.1")
    if kubernetes and machine:
        raise errors.UsageError("Kubernetes is upgraded on all machines", hint="Leave --machine out.")


async def _upgraded(
    platform: Platform, name: str, wishes: talos_upgrade.TalosUpgradeOptions |
    kubernetes_upgrade.KubernetesUpgradeOptions, *, is_dry_run: bool, yes: bool, form: Form,
) -> int:  # fmt: skip
    cluster = which_cluster.cluster_of(platform, name)
    means = await cli_means.user_means(platform, keep=False)
    try:
        async with live_cluster.reached(cluster, means) as world:
            if isinstance(wishes, talos_upgrade.TalosUpgradeOptions):
                plan = await talos_upgrade.plan(platform, world, wishes)
            else:
                plan = await kubernetes_upgrade.plan(platform, world, wishes)
            other = upgrade_controllers.refusals(platform, cluster.name, plan.product) if plan.waiting else ()
            plan = dataclasses.replace(plan, refusals=(*plan.refusals, *other))
            _show(plan, form, is_answer=is_dry_run or bool(plan.refusals))
            if plan.refusals:
                return ExitCode.BLOCKED
            if is_dry_run:
                return 0
            _confirmed(plan, yes=yes)
            return await _carried_out(plan, platform, world, means, wishes=wishes, yes=yes, form=form)
    finally:
        await means.close()


async def _carried_out(
    plan: UpgradePlan, platform: Platform, world: World, means: Means, *,
    wishes: talos_upgrade.TalosUpgradeOptions | kubernetes_upgrade.KubernetesUpgradeOptions, yes: bool, form: Form,
) -> int:  # fmt: skip
    for turn in plan.rounds:
        kept = None
        if wishes.is_snapshot_kept:
            kept = etcd_snapshot.stage(world.cluster, root=platform.root, now=means.now())
        if isinstance(wishes, talos_upgrade.TalosUpgradeOptions):
            stages = talos_upgrade.stages(turn, wishes, before_planes=kept)
        else:
            stages = kubernetes_upgrade.stages(plan, wishes, before=kept)
        again = _again(world.cluster.name, wishes)
        walk = Walk(cluster=world.cluster, command=talos_upgrade.COMMAND, again=again, stages=stages)
        result = await follow_run.follow_walk(walk, world, means, yes=yes, form=form)
        if code := result.exit_code:
            return code
    if form == "text":
        print(f"  repo     {plan.repo}")
    return 0


def _confirmed(plan: UpgradePlan, *, yes: bool) -> None:
    """One question for the whole plan.

    Raises:
        errors.Refused: The answer is no, or nobody is there.
    """
    if yes or not plan.waiting:
        return
    many = f"{len(plan.waiting)} machine{'' if len(plan.waiting) == 1 else 's'}"
    talos = f"{many} reboot{'s' if len(plan.waiting) == 1 else ', one after the other'}"
    kubernetes = f"Kubernetes of {many} is upgraded, and the objects above are written"
    if not screen.agreed(talos if plan.product is UpgradeProduct.TALOS else kubernetes):
        raise errors.Refused("not confirmed: nothing was upgraded", hint="--yes answers yes.")


def _again(
    cluster: str, wishes: talos_upgrade.TalosUpgradeOptions | kubernetes_upgrade.KubernetesUpgradeOptions
) -> str:
    if not isinstance(wishes, talos_upgrade.TalosUpgradeOptions):
        chosen = {"--no-prune": not wishes.is_pruned, "--accept-manifests": wishes.is_manifest_accepted}
        said = [f"--kubernetes {wishes.target}"]
    else:
        drain = wishes.drain
        chosen = {
            "--delete-emptydir-data": drain.may_lose_scratch,
            "--force": drain.is_forced,
            "--accept-storage": wishes.is_storage_accepted,
        }
        said = [*(f"--talos {each}" for each in wishes.targets), *(f"--machine {each}" for each in wishes.only)]
    chosen["--no-snapshot"] = not wishes.is_snapshot_kept
    return " ".join([cluster, *said, *(option for option, is_given in chosen.items() if is_given)])


def _show(plan: UpgradePlan, form: Form, *, is_answer: bool) -> None:
    """The plan: the answer where nothing else comes, else told before the run."""
    if is_answer:
        output.answer(form, text.upgrade_text(plan), text.upgrade_data(plan))
    elif form == "text":
        print(text.upgrade_text(plan, columns=table.terminal_columns()), flush=True)
    if plan.refusals:
        print("nothing was written", file=sys.stderr)
