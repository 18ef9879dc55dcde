"""Machines as they tell of themselves, each asked by itself and in parallel; also by somebody without keys.

Of a machine config only what concerns disks and interfaces is kept: the rest holds the cluster's keys.
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from firstlight.clients import talosctl
from firstlight.model import machine as model_machine
from firstlight.model.cluster import AddressBook, Cluster, Machine, MachineRole
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.observe.cluster import secret_masking
from firstlight.observe.cluster.observation import MachineObservation
from firstlight.observe.machine_survey import MachineAccess

T = TypeVar("T")

PATIENCE = 8.0
"""Seconds for one question to a machine that has answered already."""
DMESG = 300
"""Lines of the kernel's log that are kept."""
MANY = 16
"""Machines from which on only those that are not fine are asked for everything."""
_AT_ONCE = 6
"""Programs that run at the same time."""
_DOCUMENTS = frozenset({
    "LinkConfig", "LinkAliasConfig", "EthernetConfig", "BondConfig", "VLANConfig", "BridgeConfig", "HostnameConfig",
    "StaticHostConfig", "ResolverConfig", "TimeSyncConfig", "VolumeConfig", "UserVolumeConfig", "RawVolumeConfig",
})  # fmt: skip
"""Documents of a machine config that hold no keys."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObservedMachines:
    """What machines told."""

    machines: tuple[MachineObservation, ...] = ()
    members: tuple[model_machine.EtcdMember, ...] = ()
    member_statuses: tuple[model_machine.EtcdStatus, ...] = ()
    alarms: tuple[model_machine.EtcdAlarm, ...] = ()
    unseen: tuple[str, ...] = ()


class _Turns:
    """Answers as far as they come: no question stops another one."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, question: Callable[[], Awaitable[tuple[T, ...]]]) -> tuple[T, ...]:
        """The answer to a question; none where the machine gives none."""
        async with self._free:
            try:
                return await question()
            except talosctl.TalosError:
                return ()


async def observe_machines(cluster: Cluster, way: MachineAccess) -> ObservedMachines:
    """All machines of a cluster, with its keys."""
    turns = _Turns()
    reports = await machine_survey.look_at_all(cluster.machines, way, with_etcd=True)
    is_large = len(reports) > MANY
    sights = await asyncio.gather(*(_sight(each, way, cluster, turns, is_large=is_large) for each in reports))
    members, statuses, alarms = await _etcd(reports, way, turns)
    unseen = (f"machines: of those that are fine only their services, since there are {len(reports)}",)
    return ObservedMachines(
        machines=tuple(sights), members=members, member_statuses=statuses, alarms=alarms,
        unseen=unseen if is_large else (),
    )  # fmt: skip


async def observe_without_keys(cluster: Cluster, program: Path, *, reach: AddressBook) -> ObservedMachines:
    """All machines of a cluster, as somebody sees them who has no keys."""
    way, turns = MachineAccess(program=program, talosconfig=Secret(b""), reach=reach), _Turns()

    async def one(machine: Machine) -> MachineObservation:
        report = await machine_survey.look_without_keys(machine, program, reach=reach)
        return await _sight(report, way, cluster, turns)

    return ObservedMachines(machines=tuple(await asyncio.gather(*map(one, cluster.machines))))


async def _sight(
    report: MachineReport, way: MachineAccess, cluster: Cluster, turns: _Turns, *, is_large: bool = False
) -> MachineObservation:
    match report.standing:
        case MachineStanding.OURS:
            return await _ours(report, way, turns, is_large=is_large)
        case MachineStanding.MAINTENANCE:
            return await _bare(report, way, cluster, turns)
        case _:
            return MachineObservation(report=report, documents=_declared(report.machine, cluster))


async def _ours(report: MachineReport, way: MachineAccess, turns: _Turns, *, is_large: bool) -> MachineObservation:
    admin, target = way.admin, way.at(report.machine)
    services, diagnostics = await asyncio.gather(
        turns.ask(lambda: admin.service_states(target, timeout=PATIENCE)),
        turns.ask(lambda: admin.diagnostics(target, timeout=PATIENCE)),
    )
    warnings = tuple(msgspec.structs.replace(each.spec, id=each.id) for each in diagnostics)
    sight = MachineObservation(report=report, services=services, diagnostics=warnings)
    is_fine = report.stage == "running" and not report.unmet and not diagnostics
    if is_large and is_fine and all(each.is_healthy is not False for each in services):
        return sight
    dmesg, links, disks, addresses, clocks, documents = await asyncio.gather(
        turns.ask(lambda: admin.dmesg(target, timeout=PATIENCE)),
        turns.ask(lambda: admin.links(target, timeout=PATIENCE)),
        turns.ask(lambda: admin.disks(target, timeout=PATIENCE)),
        turns.ask(lambda: admin.addresses(target, timeout=PATIENCE)),
        turns.ask(lambda: admin.time(target, timeout=PATIENCE)),
        turns.ask(lambda: _config(admin, target)),
    )
    return dataclasses.replace(
        sight,
        dmesg=secret_masking.lines(dmesg[-DMESG:]),
        links={each.id: each.spec for each in links},
        disks=tuple(each.spec for each in disks),
        addresses=tuple(each.spec for each in addresses),
        clock=next(iter(clocks), None),
        documents=documents,
    )


async def _bare(report: MachineReport, way: MachineAccess, cluster: Cluster, turns: _Turns) -> MachineObservation:
    """In maintenance mode: it tells what it has, and what it would be given says the repo."""
    stranger, target = way.stranger, way.bare(report.machine)
    links, disks, addresses = await asyncio.gather(
        turns.ask(lambda: stranger.links(target, timeout=PATIENCE)),
        turns.ask(lambda: stranger.disks(target, timeout=PATIENCE)),
        turns.ask(lambda: stranger.addresses(target, timeout=PATIENCE)),
    )
    return MachineObservation(
        report=report,
        links={each.id: each.spec for each in links},
        disks=tuple(each.spec for each in disks),
        addresses=tuple(each.spec for each in addresses),
        documents=_declared(report.machine, cluster),
    )


async def _config(admin: talosctl.Talosctl, target: talosctl.MachineTarget) -> tuple[Mapping[str, Any], ...]:
    found = await admin.machine_config(target, timeout=PATIENCE)
    try:
        values = list(yaml.load_all(found.reveal(), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError):
        return ()
    return tuple(filter(None, map(kept, values)))


def _declared(machine: Machine, cluster: Cluster) -> tuple[Mapping[str, Any], ...]:
    """What the repo says that a machine is given, as far as it is about disks and interfaces."""
    mine = [
        each.config.value
        for each in cluster.parts
        if each.role in (None, machine.role) and each.machine in ("", machine.name)
    ]
    return tuple(filter(None, map(kept, mine)))


def kept(document: Any) -> Mapping[str, Any]:
    """The part of a document of machine config that concerns disks and interfaces; empty where nothing does."""
    if not isinstance(document, Mapping):
        return {}
    if isinstance(document.get("kind"), str):
        return secret_masking.shown(document) if document["kind"] in _DOCUMENTS else {}
    machine = document.get("machine")
    if not isinstance(machine, Mapping):
        return {}
    found = {key: machine[key] for key in ("install", "network", "disks", "kubelet") if key in machine}
    if isinstance(found.get("kubelet"), Mapping):
        found["kubelet"] = {key: each for key, each in found["kubelet"].items() if key in ("nodeIP", "image")}
    return {"machine": secret_masking.shown(found)} if found else {}


async def _etcd(
    reports: Sequence[MachineReport], way: MachineAccess, turns: _Turns
) -> tuple[
    tuple[model_machine.EtcdMember, ...], tuple[model_machine.EtcdStatus, ...], tuple[model_machine.EtcdAlarm, ...]
]:
    """Members as one control plane knows it whose member runs, and how each member says that it is."""
    running = [
        each.machine
        for each in reports
        if each.standing is MachineStanding.OURS
        and each.machine.role is MachineRole.CONTROL_PLANE
        and each.etcd.state == "Running"
    ]
    if not running:
        return (), (), ()
    admin = way.admin

    async def status(machine: Machine) -> tuple[model_machine.EtcdStatus, ...]:
        return await turns.ask(lambda: admin.etcd_status(way.at(machine), timeout=PATIENCE))

    async def members(machine: Machine) -> tuple[model_machine.EtcdMember, ...]:
        return await turns.ask(lambda: admin.etcd_members(way.at(machine), timeout=PATIENCE))

    known, statuses, alarms = await asyncio.gather(
        asyncio.gather(*map(members, running)),
        asyncio.gather(*map(status, running)),
        turns.ask(lambda: admin.etcd_alarms(way.at(running[0]), timeout=PATIENCE)),
    )
    # One that has lost the others tells nothing.
    return max(known, key=len), tuple(one for each in statuses for one in each), alarms
