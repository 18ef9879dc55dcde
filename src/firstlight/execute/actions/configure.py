"""Gives machines their configs: those in maintenance mode all at once, configured ones by what differs, one by one.

Everything is looked at before anything is written: whose the machines are, whether talosctl takes the configs, whether
disks and interfaces are there. A worker that does not answer holds nobody up; a control plane does, as long as nobody
knows whether etcd was ever bootstrapped.
"""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.served_certificate import talos_fingerprint
from firstlight.execute import cluster_access, config_contract, gate_wait, machine_configs
from firstlight.execute.gate_wait import POLL, settle
from firstlight.execute.world import PendingChange, World
from firstlight.gates import etcd as gates_etcd
from firstlight.gates import hardware, machine_stage
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_config import AppliedConfig, MachineDraft
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.secret import Secret
from firstlight.model.work import Configure
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

T = TypeVar("T")

_BUSY = frozenset({"installing", "rebooting", "upgrading", "resetting"})


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What the machines of a step are, and what they are to get."""

    way: MachineAccess
    reports: Mapping[str, MachineReport]
    configs: Mapping[str, Secret] = dataclasses.field(repr=False)
    is_bootstrapped: bool = False
    shown: dict[str, str] = dataclasses.field(default_factory=dict)
    """The fingerprints of bare machines: whoever shows another one later is somebody else."""

    @property
    def machines(self) -> list[Machine]:
        return [each.machine for each in self.reports.values()]

    def named(self, standing: MachineStanding) -> list[Machine]:
        return [each.machine for each in self.reports.values() if each.standing is standing]


async def look(task: Configure, world: World, step: str, *, only: Collection[str] = ()) -> PendingChange | None:
    """What the machines lack.

    Args:
        task: The machines.
        world: The run.
        step: Its id.
        only: Names of those that may be written to; the others are there to tell what the cluster is. All if empty.

    Raises:
        errors.Refused: A machine is another cluster's, a control plane does not answer, a config is wrong, or a disk or
            an interface is not there; nothing was written.
    """
    _refuse_omni(task.drafts)
    way = await cluster_access.ensure(world)
    whole = await _drawn([each for each in task.drafts if each.whole is not None], world)
    reports = await _surveyed([each.machine for each in task.drafts], world, way, step)
    drafts = await _settled(task.drafts, reports, world, way, step)
    drawn = whole | await _drawn([each for each in drafts if each.whole is None], world)
    seen = _narrowed(await _rendered(drafts, drawn, reports, world, way), only)
    await machine_configs.validate(seen.configs, world)
    await _check_hardware(seen, world, step)
    different = await _differences(seen, world)
    for report in reports:
        if report.standing is MachineStanding.ABSENT:
            world.tell(step, f"{report.machine.name}: {machine_stage.state_of(report)}; it may join any time")
    return _change(seen, different, world, step, etcd=await _etcd_meanwhile(seen, different, world, step))


def _narrowed(seen: _Seen, only: Collection[str]) -> _Seen:
    if not only:
        return seen
    reports = {name: each for name, each in seen.reports.items() if name in only}
    configs = {name: each for name, each in seen.configs.items() if name in only}
    return dataclasses.replace(seen, reports=reports, configs=configs)


def _refuse_omni(drafts: Sequence[MachineDraft]) -> None:
    if omni := [each.machine.name for each in drafts if each.machine.id and not each.machine.address]:
        raise errors.Refused(
            f"{', '.join(omni)}: configuring machines through Omni is not supported yet",
            hint="omnictl cluster template sync -f TEMPLATE, then run again with the kubeconfig of the cluster.",
        )


async def _drawn(drafts: Sequence[MachineDraft], world: World) -> dict[str, Secret]:
    """The configs as the repo has them."""
    made = await asyncio.gather(*(machine_configs.make(each, world) for each in drafts))
    for draft, config in zip(drafts, made, strict=True):
        if draft.whole is not None and draft.machine.role is MachineRole.CONTROL_PLANE and not world.authority:
            world.authority = cluster_access.config_authority(config)
    return {each.machine.name: config for each, config in zip(drafts, made, strict=True)}


async def _surveyed(
    machines: Sequence[Machine], world: World, way: MachineAccess, step: str
) -> tuple[MachineReport, ...]:
    """The machines, once every control plane has said what it is, or patience is over."""
    deadline = time.monotonic() + world.patience
    told: dict[str, str] = {}
    while True:
        reports = await machine_survey.look_at_all(machines, way, with_etcd=True)
        _refuse_foreign(reports)
        silent = [each for each in reports if _is_waited_for(each, reports)]
        if not silent or time.monotonic() >= deadline:
            _refuse_doubt(reports)
            return reports
        for each in silent:
            text = f"{each.machine.name}: {machine_stage.state_of(each)}"
            if told.get(each.machine.name) != text:
                told[each.machine.name] = text
                world.tell(step, text)
        await asyncio.sleep(POLL)


def _is_waited_for(report: MachineReport, reports: Sequence[MachineReport]) -> bool:
    """Whether nothing can be decided before a machine has said more."""
    if report.standing is MachineStanding.MAINTENANCE:
        return report.stage in _BUSY
    if report.machine.role is not MachineRole.CONTROL_PLANE:
        return False
    if isinstance(gates_etcd.history(reports), gates_etcd.Bootstrapped):
        return False
    return not machine_stage.is_up(report) or isinstance(gates_etcd.history([report]), gates_etcd.Doubtful)


def _refuse_foreign(reports: Sequence[MachineReport]) -> None:
    if foreign := [each for each in reports if each.standing is MachineStanding.FOREIGN]:
        raise errors.Refused(
            "; ".join(f"{each.machine.name} ({each.machine.address}): {each.why}" for each in foreign),
            hint="Is the address right, and are these the Talos secrets of its cluster? talosctl reset gives it away.",
        )


def _refuse_doubt(reports: Sequence[MachineReport]) -> None:
    planes = [each for each in reports if each.machine.role is MachineRole.CONTROL_PLANE]
    match gates_etcd.history(planes) if planes else gates_etcd.Virgin():
        case gates_etcd.SplitBrain(reason):
            raise errors.Refused(reason, hint="Reset the machines of the one that is not wanted, and run again.")
        case gates_etcd.Doubtful(reason):
            raise errors.Refused(
                f"{reason}: every control plane must answer before anything is written",
                hint="Switch it on, correct its address, or take it out of the declaration.",
            )


async def _settled(
    drafts: Sequence[MachineDraft], reports: Sequence[MachineReport], world: World, way: MachineAccess, step: str
) -> tuple[MachineDraft, ...]:
    """The drafts, generated for the Talos version for which those were that the cluster's machines have."""
    if not any(map(config_contract.is_open, drafts)):
        return tuple(drafts)
    if not any(each.machine.role is MachineRole.CONTROL_PLANE for each in reports):
        reports = (*reports, *await _surveyed(gate_wait.control_planes(world), world, way, step))
    ours = [each.machine for each in reports if each.standing is MachineStanding.OURS]
    return await _patiently(lambda: config_contract.settled_by(drafts, ours, way), world)


async def _rendered(
    drafts: Sequence[MachineDraft],
    drawn: Mapping[str, Secret],
    reports: Sequence[MachineReport],
    world: World,
    way: MachineAccess,
) -> _Seen:
    """The configs in the rendition that fits what the cluster is."""
    planes = [each for each in reports if each.machine.role is MachineRole.CONTROL_PLANE]
    history = gates_etcd.history(planes) if planes else gates_etcd.Virgin()
    configs = dict(drawn)
    by_name = {each.machine.name: each for each in reports}
    if isinstance(history, gates_etcd.Bootstrapped):
        held = await _held(history.on, by_name, world, way)
        for draft in drafts:
            name = draft.machine.name
            # A new machine gets what all of the others have: what one of them was released from is not given again.
            has = held[name] if name in held else machine_configs.common_manifests([held[each] for each in history.on])
            configs[name] = await machine_configs.steady(draft, drawn[name], world, has=has)
    else:
        for draft in drafts:
            name = draft.machine.name
            configs[name] = await machine_configs.bootstrap(draft, drawn[name], world)
    return _Seen(way, by_name, configs, isinstance(history, gates_etcd.Bootstrapped))


async def _held(
    members: Sequence[str], reports: Mapping[str, MachineReport], world: World, way: MachineAccess
) -> dict[str, machine_configs.ConfigManifests]:
    """The manifests of the control planes of this cluster, members of etcd and others."""

    async def one(machine: Machine) -> machine_configs.ConfigManifests:
        return machine_configs.manifests(await _patiently(lambda: way.admin.machine_config(way.at(machine)), world))

    ours = [
        each.machine
        for each in reports.values()
        if each.machine.role is MachineRole.CONTROL_PLANE
        and (each.standing is MachineStanding.OURS or each.machine.name in members)
    ]
    found = await asyncio.gather(*(one(each) for each in ours))
    return {each.name: held for each, held in zip(ours, found, strict=True)}


async def _check_hardware(seen: _Seen, world: World, step: str) -> None:
    """Disks, interfaces and fingerprints of bare machines; everything that is wrong is said at once."""
    bare = seen.named(MachineStanding.MAINTENANCE)
    found = await asyncio.gather(*(_lacking(each, seen, world, step) for each in bare))
    problems = [f"{machine.name}: {each}" for machine, lacking in zip(bare, found, strict=True) for each in lacking]
    if problems:
        raise errors.Refused(
            "; ".join(problems), hint="Correct the declaration; nothing was written to any of these machines."
        )


async def _lacking(machine: Machine, seen: _Seen, world: World, step: str) -> tuple[str, ...]:
    target, stranger = seen.way.bare(machine), seen.way.stranger
    shown = await talos_fingerprint(seen.way.endpoint(machine))
    world.tell(step, f"{machine.name}: in maintenance mode, certificate {shown}")
    pinned = world.fingerprints.get(machine.name, "")
    if pinned and pinned != shown:
        return (f"its certificate is {shown}, and {pinned} was pinned: somebody else answers there",)
    seen.shown[machine.name] = shown
    disks = [each.spec for each in await stranger.disks(target)]
    links = {each.id: each.spec for each in await stranger.links(target)}
    return hardware.missing(machine_configs.documents(seen.configs[machine.name]), disks=disks, links=links)


async def _differences(seen: _Seen, world: World) -> dict[str, AppliedConfig]:
    """What configured machines would do with their configs, where these differ from what they have."""

    async def one(machine: Machine) -> AppliedConfig:
        target, config = seen.way.at(machine), seen.configs[machine.name]
        return await _patiently(lambda: seen.way.admin.apply_config(target, config, dry_run=True), world)

    ours = seen.named(MachineStanding.OURS)
    found = await asyncio.gather(*(one(each) for each in ours))
    return {each.name: applied for each, applied in zip(ours, found, strict=True) if applied.diff is not None}


async def _patiently(ask: Callable[[], Awaitable[T]], world: World) -> T:
    """Ask a machine that may be in the middle of its boot: a run that was killed may have sent it there."""
    deadline = time.monotonic() + world.patience
    while True:
        try:
            return await ask()
        except (talosctl.TalosNotReady, talosctl.TalosUnreachable, talosctl.TalosTimedOut):
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(POLL)


async def _etcd_meanwhile(seen: _Seen, different: Mapping[str, AppliedConfig], world: World, step: str) -> str:
    """What becomes of etcd while control planes reboot, one after the other.

    Raises:
        errors.Refused: It would lose its quorum.
    """
    found: list[str] = []
    for machine in seen.named(MachineStanding.OURS):
        if machine.name in different and different[machine.name].needs_reboot and _is_in_etcd(machine, seen):
            planes = gate_wait.control_planes(world, seen.machines)
            if seen.named(MachineStanding.MAINTENANCE):
                # They get their configs first, which may be the cure; it is required just before the reboot.
                found.append((await gate_wait.judge_quorum(machine, planes, seen.way)).reason)
            else:
                found.append(await _quorum_without(machine, seen, world, step))
    return "; ".join(dict.fromkeys(found))


def _is_in_etcd(machine: Machine, seen: _Seen) -> bool:
    return seen.is_bootstrapped and machine.role is MachineRole.CONTROL_PLANE


async def _quorum_without(machine: Machine, seen: _Seen, world: World, step: str) -> str:
    planes = gate_wait.control_planes(world, seen.machines)
    return await gate_wait.require_quorum(
        machine, planes, seen.way, patience=world.patience, tell=lambda text: world.tell(step, text)
    )


def _change(
    seen: _Seen, different: Mapping[str, AppliedConfig], world: World, step: str, *, etcd: str = ""
) -> PendingChange | None:
    bare = seen.named(MachineStanding.MAINTENANCE)
    changed = [each for each in seen.named(MachineStanding.OURS) if each.name in different]
    if not bare and not changed:
        return None
    reboots = [each.name for each in changed if different[each.name].needs_reboot]
    writes = [f"apply the config of {each.name}: it installs, and boots" for each in bare]
    writes += [f"apply the config of {each.name}{' (reboot)' if each.name in reboots else ''}" for each in changed]

    async def perform() -> None:
        await _configure_bare(bare, seen, world, step)
        for each in changed:
            await _reconfigure(each, seen, world, step, may_reboot=each.name in reboots)

    danger = ""
    if reboots:
        why = "; ".join(f"{name}: {different[name].reason}" for name in reboots if different[name].reason)
        danger = f"{', '.join(reboots)} reboot{'s' if len(reboots) == 1 else ', one after the other'}"
        danger += f" ({why})" if why else ""
        danger += f"; {etcd}" if etcd else ""
    return PendingChange(writes=tuple(writes), perform=perform, danger=danger)


async def _configure_bare(machines: Sequence[Machine], seen: _Seen, world: World, step: str) -> None:
    """All at once; that one fails does not stop the others."""

    async def one(machine: Machine) -> None:
        await seen.way.stranger.apply_config(
            seen.way.bare(machine), seen.configs[machine.name], fingerprints=[seen.shown[machine.name]]
        )
        world.configured.add(machine.name)
        world.tell(step, f"{machine.name}: has its config, installs, and boots")

    results = await asyncio.gather(*(one(each) for each in machines), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def _reconfigure(machine: Machine, seen: _Seen, world: World, step: str, *, may_reboot: bool) -> None:
    """One machine, and then its health: the next one is not touched before."""
    members: list[Machine] = []
    if _is_in_etcd(machine, seen):
        if may_reboot:
            await _quorum_without(machine, seen, world, step)
        reports = await machine_survey.look_at_all(gate_wait.control_planes(world, seen.machines), seen.way)
        members = [each.machine for each in reports if each.standing is MachineStanding.OURS or each.machine == machine]
    applied = await _applied(machine, seen, may_reboot=may_reboot)
    world.configured.add(machine.name)
    world.tell(step, f"{machine.name}: config applied{', it reboots' if applied.needs_reboot else ''}")
    await settle(machine, seen.way, config=seen.configs[machine.name], members=members)


async def _applied(machine: Machine, seen: _Seen, *, may_reboot: bool) -> AppliedConfig:
    """Nobody has agreed to a reboot that was not foreseen."""
    target, config = seen.way.at(machine), seen.configs[machine.name]
    if may_reboot:
        return await seen.way.admin.apply_config(target, config)
    try:
        return await seen.way.admin.apply_config(target, config, mode="no-reboot")
    except talosctl.TalosRejected as error:
        raise errors.Refused(
            f"{machine.name} does not take its config without a reboot: {error.detail}",
            hint="Run again: if it must reboot, that is asked before.",
        ) from error
