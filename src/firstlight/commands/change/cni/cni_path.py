"""The path of an upgrade of the network plugin: looked at, one minor version at a time, rolled out node by node, tried.

Whoever owns it in the end rolls it out: the engine, or bootstrap. Machines that still hold it as an inline manifest get
the new one. The way back is the minor version before, brought in the same way.
"""

from collections.abc import Sequence
from pathlib import Path

from firstlight.clients import program_path
from firstlight.clients.cilium import Cilium
from firstlight.commands.change import change_checks, gitops_path
from firstlight.commands.change.bootstrap import bootstrap_stages
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.cni import cni_manifests, cni_preflight, cni_upgrade
from firstlight.commands.change.cni.cni_upgrade import CniUpgrade
from firstlight.commands.change.ongoing_change import OngoingChange, PathStages
from firstlight.commands.up.up import PreparedRun
from firstlight.commands.verify import connectivity
from firstlight.document.within import text
from firstlight.execute import access_files
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import World
from firstlight.gates import cni, gate_parts
from firstlight.gates.gate_parts import GatePart, GateQuestion
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, VerificationCheck, Waiting
from firstlight.model.work import Watch

is_one = cni_upgrade.is_cni_upgrade
_TOLD = frozenset({"security-posture"})
"""New versions of a network plugin may do more than old ones; that was to be seen before the merge."""


def early(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """What is looked at before the merge."""
    upgrade = cni_upgrade.of(carrying, cluster)
    return _looked(carrying, cluster, upgrade, PreparedBootstrap(carrying, cluster)) if upgrade is not None else ()


def stages(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """The rollout, gated and tried; one that is taken back is looked at only now."""
    upgrade = cni_upgrade.of(carrying, cluster)
    if upgrade is None:
        return gitops_path.stages(carrying, cluster, world)
    preparing = PreparedBootstrap(carrying, cluster)
    first = _looked(carrying, cluster, upgrade, preparing) if carrying.is_reverting else ()
    rolled = (_by_git if upgrade.is_git else _by_bootstrap)(carrying, cluster, upgrade, preparing)
    gates = (rollout_stage(carrying, cluster, upgrade, preparing), connectivity_stage(carrying, cluster))
    return (*first, *rolled, *gates, change_checks.stage(carrying, cluster, told=change_checks.TOLD | _TOLD))


CNI_PATH = PathStages(stages=stages, early=early)


def _looked(
    carrying: OngoingChange, cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap
) -> tuple[WalkStage, ...]:
    found = [cni_preflight.preflight_stage(carrying, cluster, upgrade, preparing)]
    if all(upgrade.component.halves):
        found.append(change_checks.boundary_stage(cluster, (upgrade.component.name,), preparing))
    return tuple(found)


def _by_git(
    carrying: OngoingChange, cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap
) -> tuple[WalkStage, ...]:
    """By the engine; machines that still hold it get the same."""
    engine = gitops_path.engine_stages(carrying, cluster) if change_checks.target(carrying) else ()
    return (*engine, *cni_manifests.inline_stages(cluster, upgrade, preparing))


def _by_bootstrap(
    carrying: OngoingChange, cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap
) -> tuple[WalkStage, ...]:
    """Kept, then brought by Talos or by Helm."""
    is_inline = upgrade.component.phase is Phase.INLINE
    backup = bootstrap_stages.stage(carrying, cluster, with_configs=is_inline)
    if is_inline:
        inline = cni_manifests.inline_stages(cluster, upgrade, preparing)
        return (backup, *inline, cni_manifests.manifests_stage(cluster, upgrade, preparing))
    return (backup, bootstrap_stages.component_stage(upgrade.component.name, preparing, cluster=cluster.name))


# The rollout of a network plugin: every agent and the operator in the new version, and the network of all nodes up.


SLOWEST = 180.0
"""Seconds for one agent: its image is pulled, and the one before it must end."""


def rollout_stage(
    carrying: OngoingChange, cluster: Cluster, upgrade: CniUpgrade, preparing: PreparedBootstrap
) -> WalkStage:
    """A stage that writes nothing and waits; the DaemonSet replaces its agents node by node."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        asked = rollout_question(upgrade, await preparing.get(world), patience=_patience(carrying, cluster))
        verdict = await world.watching.wait(asked, on_verdict=on_verdict)
        return verdict, _hint(carrying, asked) if isinstance(verdict, Waiting | Failed) else ""

    return WalkStage(
        id=f"{cluster.name}:cni-rollout", name=f"{upgrade.title}: rollout", phase=Phase.INLINE, wait=wait,
        what="agents node by node, operator, network of all nodes",
    )  # fmt: skip


def rollout_question(upgrade: CniUpgrade, prepared: PreparedRun, *, patience: float) -> GateQuestion:
    """Versions first, then what the gate of the network asks."""
    objects = prepared.ground.objects.get(upgrade.component.name, ())
    workloads = [
        each for each in (cni_manifests.agents_of(objects), cni_manifests.operator(objects)) if each is not None
    ]
    gate = Gate(Subject.CNI, upgrade.component.name)
    network = cni.question(gate, Watch(), prepared.ground)
    assert network is not None
    found: list[GatePart] = [cni_manifests.rollout(each) for each in workloads]
    found.append(GatePart(network.looks, network.judge, network.asks))
    return gate_parts.make_question(gate, network.name, gate_parts.in_turn(found), hint=network.hint, timeout=patience)


def _patience(carrying: OngoingChange, cluster: Cluster) -> float:
    """All nodes come one after the other."""
    return carrying.patience + SLOWEST * max(1, len(cluster.machines))


def _hint(carrying: OngoingChange, asked: GateQuestion) -> str:
    back = "" if carrying.is_reverting else f" The way back: firstlight change revert {carrying.record.id}"
    return f"{asked.hint}.{back}"


# Whether pods reach each other and names are found: tried by pods, and by Cilium's own test where its program is.


_LAB = "firstlight lab"
"""What the lab's nodes say that they run."""


def connectivity_stage(carrying: OngoingChange, cluster: Cluster) -> WalkStage:
    """A stage that tries the network with pods, which are removed again."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        domain = cluster.network.dns_domain
        made: list[VerificationCheck] = [*await connectivity.probe_checks(world.kube, world.watching, domain=domain)]
        is_lab = carrying.means.is_rehearsal or await _is_lab(world)
        made.append(await connectivity.check_cilium(world.kube, _cilium(carrying, cluster), is_lab=is_lab))
        verdict = judge_connectivity(made, is_lab=is_lab)
        on_verdict(verdict)
        return verdict, "" if isinstance(verdict, Passed) else "See: firstlight verify --probe, firstlight doctor"

    return WalkStage(
        id=f"{cluster.name}:cni-connectivity", name="connectivity", what="DNS, pod to pod, Cilium's own test",
        phase=Phase.GITOPS, wait=wait,
    )  # fmt: skip


def judge_connectivity(checks: Sequence[VerificationCheck], *, is_lab: bool = False) -> Verdict:
    """One verdict on all of them; what was not tried is said."""
    bad = [each for each in checks if isinstance(each.verdict, Failed | Waiting)]
    if bad:
        return Failed("; ".join(f"{each.name}: {each.verdict.reason}" for each in bad))
    said = [f"{each.name}: {each.verdict.reason}" for each in checks if not isinstance(each.verdict, Skipped)]
    said += [each.verdict.reason for each in checks if isinstance(each.verdict, Skipped)]
    return Passed("; ".join([*said, *(["simulated, since this is a lab"] if is_lab else [])]))


def _cilium(carrying: OngoingChange, cluster: Cluster) -> Cilium | None:
    """Cilium's own program, if the user has it, on the way that firstlight has kept to the cluster."""
    program = program_path.find("cilium")
    kubeconfig: Path = carrying.means.state / cluster.name / "kubeconfig"
    if program is None or not state_files.is_file(kubeconfig):
        return None
    access_files.kept_kubeconfig(kubeconfig)  # the program would do whatever the file says
    return Cilium(Path(program), kubeconfig=kubeconfig)


async def _is_lab(world: World) -> bool:
    found = (await world.kube.list(gate_parts.NODES.api_version, gate_parts.NODES.kind)).items
    return any(text(each, "status", "nodeInfo", "osImage").startswith(_LAB) for each in found)
