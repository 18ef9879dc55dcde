"""Kubernetes in another version: planned, shown and judged, then brought by ``talosctl upgrade-k8s``.

It goes one minor at a time, as the Talos of each machine allows. ``talosctl upgrade-k8s`` writes the new version into
the configs of all machines, and a repo that says the old one would take it back, so the repo must say the new one
first. It goes from machine to machine by itself, and does nothing where a machine has the version: killed and run
again, it goes on.
"""

import asyncio
import dataclasses
import re
from collections.abc import Iterator, Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.talosctl.cluster_commands import RECONCILE
from firstlight.commands.backup import etcd_snapshot
from firstlight.commands.node import machine_ready, upgrade_survey
from firstlight.engines import engine_marks
from firstlight.execute import cluster_access, gate_wait
from firstlight.execute.handover import talos_inventory, upgrade_preview
from firstlight.execute.walk import WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd
from firstlight.model import versions
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.platform import Platform
from firstlight.model.upgrade_plan import (
    DeclaredVersion,
    KubernetesUpgrade,
    MachineUpgrade,
    UpgradeCandidate,
    UpgradePlan,
    UpgradeProduct,
    UpgradeRound,
)
from firstlight.model.verdict import Passed
from firstlight.model.versions import WholeVersion
from firstlight.observe import machine_survey, owned_objects
from firstlight.observe.machine_survey import MachineAccess
from firstlight.plan import version_matrix

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
    made = plan_kubernetes_upgrade(
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
            for line in manifest_changes(done):
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
        found = tuple(manifest_refusals(written=(), deleted=(), besides=(), unknown=unknown))
    else:
        found = tuple(await _judged(tried, world, wishes))
        made = dataclasses.replace(
            made,
            changes=manifest_changes(tried),
            warnings=(*made.warnings, *deprecation_warnings(tried)),
        )
    return made if wishes.is_manifest_accepted else dataclasses.replace(made, refusals=(*made.refusals, *found))


async def _judged(tried: KubernetesUpgrade, world: World, wishes: KubernetesUpgradeOptions) -> Sequence[Diagnostic]:
    seen, wide = await asyncio.gather(owned_objects.look(world.kube), talos_inventory.cluster_wide(world.kube))
    ids = [ObjectId.of(each) for each in seen.objects if engine_marks.of(each) is not None]
    preview = upgrade_preview.read(tried, ids, wide)
    return tuple(
        manifest_refusals(
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


def plan_kubernetes_upgrade(
    machines: Sequence[UpgradeCandidate], target: str, *, cluster: str, runs: str, declared: DeclaredVersion
) -> UpgradePlan:
    """What would be done, and what speaks against it.

    Args:
        machines: All machines of the cluster, as they were found.
        target: The version that is wanted.
        cluster: Its name.
        runs: The version of the API server.
        declared: What the repo says of Kubernetes.
    """
    wanted = versions.parse_version(target)
    if wanted is None:
        refusal = Diagnostic.error(
            "upgrade-version-invalid",
            f"{target[:40]!r} is no version of Kubernetes",
            fix="Write it whole: --kubernetes v1.36.1",
        )
        return UpgradePlan(cluster=cluster, product=UpgradeProduct.KUBERNETES, refusals=(refusal,))
    text = versions.with_v(target)
    moves = tuple(_move(each, runs, text, wanted) for each in machines)
    refusals = [*_silent(machines), *_of_runs(machines, runs, text, wanted)]
    refusals += [each for now in machines for each in _of_talos(now, text, wanted)]
    refusals += _of_repo(declared, text, wanted, cluster)
    return UpgradePlan(
        cluster=cluster,
        product=UpgradeProduct.KUBERNETES,
        rounds=(UpgradeRound(version=text, moves=moves),),
        refusals=tuple(dict.fromkeys(refusals)),
        warnings=tuple(dict.fromkeys(_doubts(machines))),
        repo=_repo(declared, text, cluster),
    )


def _move(now: UpgradeCandidate, runs: str, text: str, wanted: WholeVersion) -> MachineUpgrade:
    """A control plane has the version when the API server has it, too."""
    is_plane = now.machine.role is MachineRole.CONTROL_PLANE
    before = runs if is_plane and not _has(runs, wanted) else now.kubelet
    return MachineUpgrade(machine=now.machine, before=before, after=text, is_done=_has(before, wanted))


def _has(runs: str, wanted: WholeVersion) -> bool:
    found = versions.parse_version(runs)
    return found is not None and found >= wanted


def _silent(machines: Sequence[UpgradeCandidate]) -> Iterator[Diagnostic]:
    for each in machines:
        if each.why:
            yield Diagnostic.error(
                "upgrade-machine-not-ready",
                f"{each.machine.name} {each.why}",
                subject=each.machine.name,
                fix="Bring it back first: every machine gets the new version.",
            )


def _of_runs(machines: Sequence[UpgradeCandidate], runs: str, text: str, wanted: WholeVersion) -> Iterator[Diagnostic]:
    found = versions.parse_version(runs)
    if found is None:
        yield Diagnostic.error("upgrade-version-unknown", "the API server does not say its version")
        return
    if wanted < found:
        message = f"Kubernetes {runs} runs, which is later than {text}: it is not downgraded"
        yield Diagnostic.error("upgrade-downgrade", message)
        return
    kubelets = [parsed for each in machines if (parsed := versions.parse_version(each.kubelet)) is not None]
    oldest = min([found, *kubelets])
    if wanted.major != oldest.major or wanted.minor - oldest.minor > 1:
        yield Diagnostic.error(
            "upgrade-minor-skipped",
            f"Kubernetes {oldest.major}.{oldest.minor} runs, and {text} is more than one minor away",
            fix=f"First: firstlight node upgrade --kubernetes v{oldest.major}.{oldest.minor + 1}.N",
        )


def _of_talos(now: UpgradeCandidate, text: str, wanted: WholeVersion) -> Iterator[Diagnostic]:
    span = _span(now)
    if span is None:
        return
    first, last = versions.minor(span[0]) or wanted.line, versions.minor(span[1]) or wanted.line
    if not first <= wanted.line <= last:
        message = (
            f"{now.machine.name} runs Talos {now.talos}, which is for Kubernetes {span[0]} to {span[1]}, not {text}"
        )
        fix = "First: firstlight node upgrade --talos" if wanted.line > last else "Take a newer one."
        yield Diagnostic.error("upgrade-versions-incompatible", message, fix=fix, subject=now.machine.name)


def _span(now: UpgradeCandidate) -> tuple[str, str] | None:
    line = versions.minor(now.talos)
    return version_matrix.table()["talos"].kubernetes.get(f"{line[0]}.{line[1]}") if line else None


def _doubts(machines: Sequence[UpgradeCandidate]) -> Iterator[Diagnostic]:
    for each in machines:
        if each.talos and _span(each) is None:
            message = (
                f"with which Kubernetes Talos {each.talos} goes is not known here: look it up in its release notes"
            )
            yield Diagnostic.unknown("upgrade-versions-untested", message)


def _of_repo(declared: DeclaredVersion, text: str, wanted: WholeVersion, cluster: str) -> Iterator[Diagnostic]:
    if declared.version and versions.parse_version(declared.version) != wanted:
        where = f"{declared.place} says" if declared.place else "the repo says"
        yield Diagnostic.error(
            "upgrade-repo-version-differs",
            f"{where} Kubernetes {declared.version}: with the next config of a machine it would be that again",
            at=declared.place or (),
            fix=f"Write {text} there, and run this again; nothing is upgraded by the repo alone.",
        )
    elif not declared.version:
        yield Diagnostic.error(
            "upgrade-repo-version-missing",
            "the repo says no version of Kubernetes: the next config of a machine would have talosctl's own",
            fix=f"Write clusters.{cluster}.kubernetes: {text} in firstlight.yaml, and run this again.",
        )


def _repo(declared: DeclaredVersion, text: str, cluster: str) -> str:
    if declared.version and versions.parse_version(declared.version) == versions.parse_version(text):
        return f"the repo says {text} already ({declared.place})" if declared.place else f"the repo says {text} already"
    return f"the repo must say clusters.{cluster}.kubernetes: {text} first"


# What ``talosctl upgrade-k8s`` would do to objects, held against who owns them: Git's are not touched by Talos.
#
# Talos brings its manifests into force with every upgrade of Kubernetes. An inline manifest from the day of the
# bootstrap puts an object back to what it was then, and one that Talos once had and has no more is deleted: so CNIs
# are lost.


SHOWN = 5
_DEPRECATED = re.compile(r"(?P<resource>[a-z]+\.v\d\S*)\s+(?P<count>\d+)")
_RELEASE = "Let Talos release what Git owns: firstlight handover."
_ACCEPT = "Or agree to it: --accept-manifests"


def manifest_refusals(
    *, written: Sequence[str], deleted: Sequence[str], besides: Sequence[str], unknown: str = "", is_pruned: bool = True
) -> Iterator[Diagnostic]:
    """What nobody has agreed to.

    Args:
        written: Objects of Git that would be written over.
        deleted: Objects of Git that would be deleted.
        besides: What else would be deleted.
        unknown: Why it is not known.
        is_pruned: Whether anything would be deleted at all.
    """
    if unknown:
        message = f"what the upgrade would do to Talos's manifests is not known: {unknown}"
        yield Diagnostic.error("upgrade-manifests-unknown", message, fix=_ACCEPT)
    if written:
        message = f"it would write over {_some(written)}, which Git owns"
        yield Diagnostic.error("upgrade-overwrites-git", message, fix=f"{_RELEASE} {_ACCEPT}")
    if deleted and is_pruned:
        message = f"it would delete {_some(deleted)}, which Git owns"
        yield Diagnostic.error("upgrade-deletes-git", message, fix=f"{_RELEASE} Or delete nothing: --no-prune")
    if besides and is_pruned:
        message = f"it would delete {_some(besides)}, which no manifest brings any more"
        yield Diagnostic.error("upgrade-prunes-objects", message, fix=f"Delete nothing: --no-prune. {_ACCEPT}")


def manifest_changes(upgrade: KubernetesUpgrade) -> tuple[str, ...]:
    """What happens to each object that does not stay as it is."""
    return tuple(f"{each.action} {each.subject}" for each in upgrade.manifests if each.action != "unchanged")


def deprecation_warnings(upgrade: KubernetesUpgrade) -> Iterator[Diagnostic]:
    """The kinds that the new version serves no more in the version that is used, as talosctl counts them."""
    for line in upgrade.text.splitlines():
        if match := _DEPRECATED.fullmatch(line.strip()):
            message = f"{match['count']} {match['resource']}: deprecated or gone in the new version"
            yield Diagnostic.warning("upgrade-api-deprecated", message)


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
