"""Machine configs of a change: one machine first, and the next only when it is well, as ``node apply`` does it.

Before bootstrap changes anything, a snapshot of etcd and the configs that machines have are kept. Both hold every
secret of the cluster, so that they are written encrypted, for those who can read its Talos secrets, and not at all
where nothing says for whom. How to get at them: docs/change.md.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.commands.backup import backup_contents, backup_manifest, encryption, etcd_snapshot
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.node import apply
from firstlight.commands.node.apply_config import NodeApplyOptions
from firstlight.commands.up.up import PreparedRun
from firstlight.execute import durable_store, gate_wait, live_cluster
from firstlight.execute.actions import dispatch
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import cluster_health, gate_table, node_ready
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.component import Phase
from firstlight.model.machine_report import MachineStanding
from firstlight.model.observation import Ask
from firstlight.model.plan import Action, Gate, Step
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting, lets_on
from firstlight.model.work import Leave
from firstlight.observe import component_health, machine_survey
from firstlight.plan import selection
from firstlight.render import private_directory


def machine_stages(cluster: Cluster, preparing: PreparedBootstrap, world: World) -> tuple[WalkStage, ...]:
    """A stage for every machine that has an address; those that have their config already write nothing.

    Raises:
        errors.Refused: The files say something of machines that cannot be used.
    """
    declared = preparing.machines(world)
    mine = [each for each in apply.chosen_machines(cluster, ()) if each.address and each.name in declared.drafts]
    made = apply.apply_stages(mine, declared, NodeApplyOptions())
    first = {each.name: "; one machine first" for each in mine[:1]}
    return tuple(
        _guarded(stage, each, cluster, what=f"its config as Git has it{first.get(each.name, '')}")
        for each, stage in zip(mine, made, strict=True)
    )


def _guarded(stage: WalkStage, machine: Machine, cluster: Cluster, *, what: str) -> WalkStage:
    """The stage of a machine that is a part of the cluster; nothing for one that has not joined."""

    async def look(world: World) -> PendingChange | None:
        return await stage.look(world) if await _is_ours(machine, world) else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        if await _is_ours(machine, world):
            return await stage.wait(world, on_verdict)
        verdict = Skipped(f"{machine.name} has not joined yet: it gets its config when it does")
        on_verdict(verdict)
        return verdict, ""

    return dataclasses.replace(
        stage, id=f"{cluster.name}:machine:{machine.name}", what=what, phase=Phase.MACHINE, look=look, wait=wait
    )


async def _is_ours(machine: Machine, world: World) -> bool:
    """Whether a machine is a part of the cluster; one that waits in maintenance mode joins by another command.

    Raises:
        errors.Unreachable: It does not answer: whoever goes on would leave it with another config than the others.
    """
    report = await machine_survey.look_at(machine, await live_cluster.way(world))
    if report.standing is not MachineStanding.ABSENT:
        return report.standing is MachineStanding.OURS
    if node_ready.of_machine(machine, (await world.kube.list("v1", "Node")).items) is not None:
        message = f"{machine.name} ({machine.address}) is a node of the cluster, and does not answer"
        raise errors.Unreachable(message, target=machine.address)
    return False


# Components that bootstrap keeps, and secrets of the foundation: brought by the steps that ``up --only`` has.


_WAYS = (Action.FETCH_KUBECONFIG,)
"""What is there already in a cluster that lives."""


def component_stage(name: str, preparing: PreparedBootstrap, *, cluster: str) -> WalkStage:
    """One component, or ``secrets``: its steps one after the other, each with its gates.

    Args:
        name: What ``--only`` calls it.
        preparing: Prepares the cluster's bootstrap.
        cluster: Its name.
    """

    async def look(world: World) -> PendingChange | None:
        prepared = await preparing.get(world)
        return await _looked(steps_of(prepared, name), prepared, world)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        prepared = await preparing.get(world)
        steps = steps_of(prepared, name)
        said = []
        for step in steps:
            verdict, hint = await wait_gates(step, prepared, world, on_verdict)
            if not lets_on(verdict):
                return verdict, hint
            said.append(verdict.reason)
        if left := left_of(steps, prepared):
            said.append(f"{left} of the repo did not run: firstlight up {cluster} --only {name} runs them")
        return Passed("; ".join(each for each in said if each)), ""

    what = "secrets of the foundation" if name == selection.SECRETS else name
    return WalkStage(
        id=f"{cluster}:component:{name}", name=f"bring {what} up to date", what=f"up --only {name}", phase=Phase.CORE,
        look=look, wait=wait,
    )  # fmt: skip


def steps_of(prepared: PreparedRun, name: str) -> list[Step]:
    """The steps of a component, in an order in which each comes after what it needs."""
    chosen = selection.only(prepared.work.plan, (name,))
    tasks = prepared.work.tasks
    left = [each for each in chosen.steps if each.action not in _WAYS and not isinstance(tasks[each.id], Leave)]
    ordered: list[Step] = []
    while left:
        ids = {each.id for each in left}
        ready = [each for each in left if not any(one.step in ids for one in each.needs)]
        ordered += ready or left
        left = [each for each in left if each not in ordered]
    return ordered


async def _looked(steps: list[Step], prepared: PreparedRun, world: World) -> PendingChange | None:
    """The first step that has something to write; those after it are looked at when it is done."""
    for number, step in enumerate(steps):
        change = await dispatch.look(prepared.work.tasks[step.id], world, step.id)
        if change is not None:
            return _following(change, steps[number:], prepared, world)
    return None


def _following(first: PendingChange, steps: list[Step], prepared: PreparedRun, world: World) -> PendingChange:
    async def perform() -> None:
        change: PendingChange | None = first
        for number, step in enumerate(steps):
            if number:
                change = await dispatch.look(prepared.work.tasks[step.id], world, step.id)
            if change is not None and number and change.danger:
                raise errors.Refused(f"not asked yet: {change.danger}", hint="Run again: it is asked before.")
            if change is not None:
                await change.perform()
            if step is not steps[-1]:  # the last one is waited for by the stage
                verdict, hint = await wait_gates(step, prepared, world, lambda _: None)
                if not lets_on(verdict):
                    raise errors.ClientError(f"{step.name}: {verdict.reason}", hint=hint)

    more = f"; then what else {steps[0].name} needs" if len(steps) > 1 else ""
    writes = (*first.writes[:-1], f"{first.writes[-1]}{more}") if first.writes else ()
    return PendingChange(writes=writes, perform=perform, danger=first.danger)


async def wait_gates(step: Step, prepared: PreparedRun, world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
    """Wait for the gates of a step, but for those that are commands of the repo: a walk runs none."""
    gates = tuple(each for each in step.gates if not _is_command(each, step, prepared))
    return await gate_wait.wait_for_gates(
        dataclasses.replace(step, gates=gates), prepared.work.tasks[step.id], world, ground=prepared.ground,
        on_verdict=lambda _, verdict: on_verdict(verdict),
    )  # fmt: skip


def _is_command(gate: Gate, step: Step, prepared: PreparedRun) -> bool:
    asked = gate_table.question(gate, prepared.work.tasks[step.id], prepared.ground)
    return asked is not None and any(each.ask is Ask.COMMAND for each in asked.asks)


def left_of(steps: list[Step], prepared: PreparedRun) -> str:
    """What of the steps a walk does not do."""
    has_gates = any(_is_command(gate, step, prepared) for step in steps for gate in step.gates)
    has_hooks = any(step.hooks for step in steps)
    return " and ".join([*(["gates that are commands"] if has_gates else []), *(["hooks"] if has_hooks else [])])


# Whether a cluster is well: nodes, agents, operators, and the gates of the components that a change touches.


MoreQuestions = Callable[[World], Awaitable[Sequence[GateQuestion]]]


def verify_stage(cluster: Cluster, *, patience: float, more: MoreQuestions | None = None) -> WalkStage:
    """A stage that writes nothing and waits until the cluster is well.

    Args:
        cluster: The cluster.
        patience: Seconds for what is not there yet; 0 for one look.
        more: What else is asked.
    """

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        asked = [
            cluster_health.nodes_question(cluster.machines),
            cluster_health.agents_question(),
            cluster_health.operators_question(),
        ]
        asked += await more(world) if more is not None else []
        found = await component_health.judged(asked, world.watching, wait=patience)
        verdict, hint = _together(asked, found)
        on_verdict(verdict)
        return verdict, hint

    return WalkStage(
        id=f"{cluster.name}:verify", name=f"verify {cluster.name}", what="nodes, agents, operators, gates",
        phase=Phase.GITOPS, wait=wait,
    )  # fmt: skip


def component_gates(preparing: PreparedBootstrap, names: Sequence[str]) -> MoreQuestions:
    """The gates of some components, as bootstrap's plan has them."""

    async def asked(world: World) -> list[GateQuestion]:
        prepared = await preparing.get(world)
        steps = [each for each in prepared.work.plan.steps if each.component in names]
        made = [
            gate_table.question(gate, prepared.work.tasks[each.id], prepared.ground)
            for each in steps
            for gate in each.gates
        ]
        return [each for each in made if each is not None]

    return asked


def _together(asked: Sequence[GateQuestion], found: Sequence[Verdict]) -> tuple[Verdict, str]:
    """The worst of them, by name."""
    both = list(zip(asked, found, strict=True))
    for kind in (Failed, Waiting):
        bad = [(one, verdict) for one, verdict in both if isinstance(verdict, kind)]
        if bad:
            said = "; ".join(f"{one.name}: {verdict.reason}" for one, verdict in bad)
            return kind(said), " ".join(dict.fromkeys(one.hint for one, _ in bad if one.hint))
    passed = [f"{one.name}: {each.reason}" for one, each in both if isinstance(each, Passed) and each.reason]
    return Passed("; ".join(passed)), ""


_WITHOUT = "--no-backup REASON"


def stage(carrying: OngoingChange, cluster: Cluster, *, with_configs: bool) -> WalkStage:
    """The backup, made once for a change: what a second run would keep is not what was there before.

    Args:
        carrying: The change.
        cluster: Its cluster.
        with_configs: Whether machine configs change.
    """
    snapshot, configs = paths(carrying, cluster)

    async def look(world: World) -> PendingChange | None:
        if why_not(carrying, cluster):
            return None
        await require(carrying, cluster, world)
        writes = [] if snapshot.exists() else [f"keep etcd of {cluster.name}, encrypted: {_shown(carrying, snapshot)}"]
        if with_configs and not configs.exists():
            writes.append(f"keep the machine configs of {cluster.name}, encrypted: {_shown(carrying, configs)}")

        async def perform() -> None:
            if not snapshot.exists():
                kept = etcd_snapshot.stage(cluster, root=carrying.root, now=carrying.record.begun)
                change = await kept.look(world)
                assert change is not None
                await change.perform()
            if with_configs and not configs.exists():
                await _keep_configs(carrying, cluster, configs, world)

        return PendingChange(writes=tuple(writes), perform=perform) if writes else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        kept = [_shown(carrying, each) for each in (snapshot, configs) if each.exists()]
        verdict: Verdict = Passed(f"kept in {', '.join(kept)}") if kept else Skipped(why_not(carrying, cluster))
        on_verdict(verdict)
        return verdict, ""

    return WalkStage(
        id=f"{cluster.name}:backup", name=f"back {cluster.name} up", what="etcd, machine configs", phase=Phase.MACHINE,
        look=look, wait=wait,
    )  # fmt: skip


def paths(carrying: OngoingChange, cluster: Cluster) -> tuple[Path, Path]:
    """Where the snapshot of a change and its machine configs are, or will be."""
    state, begun = carrying.means.state, carrying.record.begun
    configs = state / cluster.name / "machine-configs" / f"{backup_manifest.stamp(begun)}.yaml.sops"
    return etcd_snapshot.place(state, cluster.name, begun), configs


def why_not(carrying: OngoingChange, cluster: Cluster) -> str:
    """Why there is no backup; empty where one is made."""
    if carrying.record.without_backup:
        return f"no backup: {carrying.record.without_backup}"
    if carrying.is_reverting:
        return "no backup: it is taken back, and what was there before it was kept then"
    return "" if cluster.machines else "no backup: the repo has no machines of this cluster"


async def require(carrying: OngoingChange, cluster: Cluster, world: World) -> None:
    """See that a backup can be made.

    Raises:
        errors.Refused: Nothing says for whom it would be encrypted, and nobody said to go without.
    """
    if why_not(carrying, cluster):
        return
    if cluster.omni_template:
        message = f"etcd of {cluster.name} is Omni's to back up"
        raise errors.Refused(message, hint=f"See that Omni does, and say so: {_WITHOUT}")
    found = await etcd_snapshot.refusal(cluster, world, root=carrying.root, without=_WITHOUT)
    if found is not None:
        raise errors.Refused(found.message, hint=found.fix)


async def _keep_configs(carrying: OngoingChange, cluster: Cluster, file: Path, world: World) -> None:
    """The configs of all machines that answer, in one file; it touches no disk before it is encrypted."""
    by = encryption.encryption_of(cluster, world.programs, root=carrying.root)
    held = await backup_contents.collect_configs(world)
    for name, why in held.silent.items():
        world.tell(f"{cluster.name}:backup", f"the config of {name} is not kept: {why}")
    with private_directory.create("etcd") as home:
        await by.encrypt(held.content, home / "configs", about="the machine configs")
        durable_store.write_beside_journal((home / "configs").read_bytes(), file)


def _shown(carrying: OngoingChange, file: Path) -> str:
    return str(file.relative_to(carrying.root)) if file.is_relative_to(carrying.root) else str(file)
