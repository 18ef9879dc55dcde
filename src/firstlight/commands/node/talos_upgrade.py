"""Talos brought to another version, machine by machine: drained, upgraded, waited for, given back.

What a machine runs is asked of the machine, each time: who is killed and runs again finds those that have
the version already, and only sees that they are well and take pods again.
"""

import asyncio
import dataclasses
import time
from collections.abc import Sequence

from firstlight.commands.backup import etcd_snapshot
from firstlight.commands.node import cordon_drain as node_drain
from firstlight.commands.node import (
    drain_rules,
    machine_lookup,
    machine_ready,
    node_storage,
    talos_upgrade_plan,
    upgrade_survey,
)
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.execute import cluster_access, gate_wait
from firstlight.execute.gate_wait import POLL
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model import versions
from firstlight.model.cluster import MachineRole
from firstlight.model.diagnostic import Severity
from firstlight.model.platform import Platform
from firstlight.model.upgrade_plan import MachineUpgrade, UpgradePlan, UpgradeRound
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

COMMAND = "node upgrade"
STORAGE = 5.0
"""Seconds between two looks at copies that are made anew: that takes minutes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TalosUpgradeOptions:
    """What was asked for."""

    targets: tuple[str, ...]
    """Versions of Talos, one for each minor on the way."""
    only: tuple[str, ...] = ()
    """Names of machines; all if none is named."""
    drain: DrainOptions = dataclasses.field(default_factory=DrainOptions)
    is_storage_accepted: bool = False
    """Whether the last healthy copy of something may be away meanwhile."""
    is_snapshot_kept: bool = True
    """Whether etcd is kept in a file before its first member goes."""
    patience: float = machine_ready.TIMEOUT
    """Seconds for one machine to come back."""


async def plan(platform: Platform, world: World, wishes: TalosUpgradeOptions) -> UpgradePlan:
    """What would be done; nothing is written.

    Raises:
        errors.Refused: The repo's machines are not understood.
        errors.ClientError: The Kubernetes API does not answer.
    """
    seen = await upgrade_survey.survey(platform, world)
    made = talos_upgrade_plan.plan_talos_upgrade(
        seen.machines, wishes.targets, cluster=world.cluster.name, kubernetes=seen.kubernetes,
        declared=upgrade_survey.declared(world.cluster, "talos"), only=wishes.only, leader=seen.leader,
    )  # fmt: skip
    if not wishes.is_snapshot_kept or not any(map(_is_plane, made.waiting)):
        return made
    refused = await etcd_snapshot.refusal(world.cluster, world, root=platform.root, without="--no-snapshot")
    return dataclasses.replace(made, refusals=(*made.refusals, refused)) if refused is not None else made


def stages(
    turn: UpgradeRound, wishes: TalosUpgradeOptions, *, before_planes: WalkStage | None = None
) -> tuple[WalkStage, ...]:
    """The stages of one round.

    Args:
        turn: Its machines, in their order.
        wishes: What was asked for.
        before_planes: What comes before the first control plane: a snapshot of etcd.
    """
    found: list[WalkStage] = []
    for move in turn.moves:
        if before_planes is not None and _is_plane(move) and not move.is_done:
            found.append(before_planes)
            before_planes = None
        found += _of_machine(move, wishes)
    return tuple(found)


def _of_machine(move: MachineUpgrade, wishes: TalosUpgradeOptions) -> Sequence[WalkStage]:
    machine = move.machine
    if move.is_done:
        # A run that was killed here, or gave it up, has left it cordoned.
        expected = machine_ready.ExpectedMachine()
        return (
            machine_ready.ready_stage(machine, expected=expected, timeout=wishes.patience),
            node_drain.uncordon(machine),
            machine_ready.settled_stage(machine),
        )
    return (
        _storage(move, wishes),
        _unless_there(node_drain.cordon(machine, command=COMMAND), move),
        _unless_there(node_drain.drain(machine, wishes.drain), move),
        _upgrade(move, wishes),
        node_drain.uncordon(machine),
        machine_ready.settled_stage(machine),
    )


def _storage(move: MachineUpgrade, wishes: TalosUpgradeOptions) -> WalkStage:
    """Copies that were away with the machine before are waited for: the last healthy one of something stays."""
    machine = move.machine

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        deadline = time.monotonic() + wishes.drain.patience
        last: Verdict | None = None
        while True:
            verdict = await _stored(move, world) if not wishes.is_storage_accepted else Passed("accepted")
            if verdict != last:
                last = verdict
                on_verdict(verdict)
            if isinstance(verdict, Passed) or time.monotonic() >= deadline:
                hint = f"{machine.name} was not touched. Let the copies become healthy, and run the same command again."
                return verdict, "" if isinstance(verdict, Passed) else hint
            await asyncio.sleep(STORAGE)

    return WalkStage(id=f"{machine.name}:storage", name=f"storage without {machine.name}", wait=wait)


async def _stored(move: MachineUpgrade, world: World) -> Verdict:
    if await _is_there(move, world):
        return Passed()
    found = await node_storage.storage_concerns(
        str((await machine_lookup.require_node(move.machine, world))["metadata"]["name"]), world
    )
    last = [each.message for each in found if each.severity is Severity.ERROR]
    return Waiting("; ".join(last)) if last else Passed("; ".join(each.message for each in found))


def _unless_there(stage: WalkStage, move: MachineUpgrade) -> WalkStage:
    async def look(world: World) -> PendingChange | None:
        return None if await _is_there(move, world) else await stage.look(world)

    return dataclasses.replace(stage, look=look)


def _upgrade(move: MachineUpgrade, wishes: TalosUpgradeOptions) -> WalkStage:
    machine, after = move.machine, move.after
    id = f"{machine.name}:upgrade"

    async def look(world: World) -> PendingChange | None:
        if await _is_there(move, world):
            return None
        way = await cluster_access.ensure(world)
        if _is_plane(move):
            meanwhile = await gate_wait.require_quorum(
                machine, gate_wait.control_planes(world), way, patience=world.patience,
                tell=lambda text: world.tell(id, text),
            )  # fmt: skip
            world.tell(id, meanwhile)

        async def perform() -> None:
            # It is drained already, and followed by us: what talosctl says of a machine that is gone helps nobody.
            await way.admin.upgrade(way.at(machine), move.image, drain=False, wait=False)
            world.tell(id, f"{machine.name} has installed {move.image}, and reboots")

        return PendingChange(writes=(f"upgrade {machine.name} to {after}, with a reboot",), perform=perform)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        return await _waited(move, world, on_verdict, patience=wishes.patience)

    return WalkStage(id=id, name=f"upgrade {machine.name}", what=f"{move.before} › {after}", look=look, wait=wait)


async def _waited(move: MachineUpgrade, world: World, on_verdict: OnVerdict, *, patience: float) -> tuple[Verdict, str]:
    """Wait until a machine is back with its new version; one that Talos has rolled back is not waited for."""
    way = await cluster_access.ensure(world)
    deadline = time.monotonic() + patience
    last: Verdict | None = None
    before = ""
    while True:
        sight = await machine_ready.look_at_machine(move.machine, world, way)
        if sight.node is not None and (mark := drain_rules.mark_of(sight.node)) is not None:
            before = mark.boot
        verdict = machine_ready.judge(sight, boot_before=before, talos=move.after)
        if before and sight.boot not in ("", before) and _is_other(sight.talos, move.after):
            verdict = Failed(f"{move.machine.name} came back with Talos {sight.talos}, not {move.after}")
        if verdict != last:
            last = verdict
            on_verdict(verdict)
        if isinstance(verdict, Passed):
            return verdict, ""
        if isinstance(verdict, Failed) or time.monotonic() >= deadline:
            return verdict, _hint(move, is_back=isinstance(verdict, Failed))
        await asyncio.sleep(POLL)


def _hint(move: MachineUpgrade, *, is_back: bool) -> str:
    at = f"--nodes {move.machine.address}"
    if is_back:
        why = f"Talos went back to it by itself, since {move.after} did not boot. Why: talosctl dmesg {at}"
        return f"{why}. The other machines were not touched; run the same command again to try it once more."
    return (
        f"Look at the console of {move.machine.name}. If it runs {move.after} and is not well: talosctl rollback {at} "
        f"boots {move.before or 'the version before'} again. The other machines were not touched; when it is well, run "
        "the same command again: it goes on."
    )


async def _is_there(move: MachineUpgrade, world: World) -> bool:
    """Whether a machine has the version, or a later one."""
    way = await cluster_access.ensure(world)
    runs = versions.parse_version((await way.admin.version(way.at(move.machine))).tag)
    wanted = versions.parse_version(move.after)
    return runs is not None and wanted is not None and runs >= wanted


def _is_other(runs: str, wanted: str) -> bool:
    return bool(runs) and versions.parse_version(runs) != versions.parse_version(wanted)


def _is_plane(move: MachineUpgrade) -> bool:
    return move.machine.role is MachineRole.CONTROL_PLANE
