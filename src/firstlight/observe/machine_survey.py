"""Looks at Talos machines: whose they are, how far, and whether they have ever been members of etcd.

Each is asked by itself, where it really listens, so that one that is off does not hold up what the others say.
"""

import asyncio
import dataclasses
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from firstlight.clients import talosctl
from firstlight.model import machine as model_machine
from firstlight.model.cluster import AddressBook, Machine, MachineRole
from firstlight.model.machine_report import EtcdData, EtcdSight, MachineReport, MachineStanding
from firstlight.model.secret import Secret

PATIENCE = 12.0
"""Seconds for one question: who does not answer by then is taken for absent, and asked again later."""
_WAITS = "etcd is waiting to join the cluster"
"""What Talos says, from 1.0 on, when it has looked into etcd's directory and found it empty."""
_RAN = "service[etcd](Running)"
_EARLY = frozenset({"", "Initialized", "Waiting", "Preparing"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachineAccess:
    """How machines are reached, and as whom."""

    program: Path
    talosconfig: Secret
    reach: AddressBook = dataclasses.field(default_factory=AddressBook)

    @property
    def admin(self) -> talosctl.Talosctl:
        """Talks to machines of this cluster."""
        return talosctl.Talosctl(self.program, talosconfig=self.talosconfig)

    @property
    def stranger(self) -> talosctl.Talosctl:
        """Talks to machines in maintenance mode."""
        return talosctl.Talosctl(self.program, insecure=True)

    def endpoint(self, machine: Machine) -> str:
        """Where a machine's Talos API listens, as ``host`` or ``host:port``."""
        return self.reach.machine(machine.address)

    def at(self, machine: Machine) -> talosctl.MachineTarget:
        """A machine through itself: apid's routing would need another one that is up."""
        endpoint = self.endpoint(machine)
        return talosctl.MachineTarget.of(_host(endpoint), endpoints=[endpoint])

    def bare(self, machine: Machine) -> talosctl.MachineTarget:
        """A machine in maintenance mode, which forwards nothing."""
        return talosctl.MachineTarget.of(self.endpoint(machine))


async def look_at_all(
    machines: Sequence[Machine], way: MachineAccess, *, with_etcd: bool = False
) -> tuple[MachineReport, ...]:
    """All of them at once, in their order."""
    return tuple(await asyncio.gather(*(look_at(each, way, with_etcd=with_etcd) for each in machines)))


async def look_at(machine: Machine, way: MachineAccess, *, with_etcd: bool = False) -> MachineReport:
    """One machine; that it does not answer, or is somebody else's, is an answer."""
    if not machine.address:
        return MachineReport(machine=machine, standing=MachineStanding.ABSENT, why="no address is declared for it")
    try:
        status = await way.admin.machine_status(way.at(machine), timeout=PATIENCE)
    except talosctl.TalosUntrusted as error:
        if error.problem is talosctl.TalosCertificateProblem.UNKNOWN_AUTHORITY:
            return await _without_our_certificate(machine, way)
        return MachineReport(machine=machine, standing=MachineStanding.FOREIGN, why=error.detail)
    except talosctl.TalosUnauthorised:
        return await _without_our_certificate(machine, way)
    except (talosctl.TalosNotReady, talosctl.TalosNotFound) as error:
        return MachineReport(machine=machine, standing=MachineStanding.OURS, stage="booting", why=error.detail)
    except talosctl.TalosError as error:
        return MachineReport(machine=machine, standing=MachineStanding.ABSENT, why=error.detail)
    etcd = EtcdSight()
    # Talos stays in its boot until etcd is bootstrapped, so that etcd tells how far it is.
    if machine.role is MachineRole.CONTROL_PLANE and (with_etcd or status.stage == "booting"):
        etcd = await _etcd(machine, way)
    return _ours(machine, status, etcd)


async def look_without_keys(machine: Machine, program: Path, *, reach: AddressBook) -> MachineReport:
    """One machine as somebody sees it who has no keys: in maintenance mode, configured by whomever, or absent."""
    if not machine.address:
        return MachineReport(machine=machine, standing=MachineStanding.ABSENT, why="no address is declared for it")
    return await _without_our_certificate(machine, MachineAccess(program=program, talosconfig=Secret(b""), reach=reach))


async def _without_our_certificate(machine: Machine, way: MachineAccess) -> MachineReport:
    """In maintenance mode it shows a certificate of its own; so does a machine of another cluster."""
    try:
        status = await way.stranger.machine_status(way.bare(machine), timeout=PATIENCE)
    except (talosctl.TalosUnauthorised, talosctl.TalosUntrusted):
        why = "it is configured, and its certificate is not of this cluster's authority"
        return MachineReport(machine=machine, standing=MachineStanding.FOREIGN, why=why)
    except (talosctl.TalosNotReady, talosctl.TalosNotFound):
        return MachineReport(machine=machine, standing=MachineStanding.MAINTENANCE, stage="maintenance")
    except talosctl.TalosError as error:  # perhaps between maintenance mode and its first boot
        return MachineReport(machine=machine, standing=MachineStanding.ABSENT, why=error.detail)
    return MachineReport(machine=machine, standing=MachineStanding.MAINTENANCE, stage=status.stage)


def _ours(machine: Machine, status: model_machine.MachineStage, etcd: EtcdSight) -> MachineReport:
    unmet = tuple(
        f"{each.name}: {each.reason}" if each.reason else each.name for each in status.status.unmet_conditions
    )
    return MachineReport(machine=machine, standing=MachineStanding.OURS, stage=status.stage, unmet=unmet, etcd=etcd)


async def _etcd(machine: Machine, way: MachineAccess) -> EtcdSight:
    """Etcd on one machine. Where the machine does not tell whether it has data, that is not known."""
    admin, target = way.admin, way.at(machine)
    try:
        states = {each.id: each for each in await admin.service_states(target, timeout=PATIENCE)}
        state = states["etcd"].state if "etcd" in states else ""
        if state == "Running":
            return await _membership(machine, way)
        if member := await admin.etcd_member_id(target, timeout=PATIENCE):
            return EtcdSight(data=EtcdData.SOME, state=state, member=member, errors=f"its service is {state}")
        is_empty = state in _EARLY and _found_nothing(await admin.dmesg(target, timeout=PATIENCE))
    except talosctl.TalosError as error:
        return EtcdSight(errors=error.detail)
    return EtcdSight(data=EtcdData.NONE if is_empty else EtcdData.UNKNOWN, state=state)


async def _membership(machine: Machine, way: MachineAccess) -> EtcdSight:
    """What a running member knows of itself and the others; that it runs is reason enough to say that it has data."""
    admin, target = way.admin, way.at(machine)
    try:
        members, statuses = await asyncio.gather(
            admin.etcd_members(target, timeout=PATIENCE), admin.etcd_status(target, timeout=PATIENCE)
        )
    except talosctl.TalosError as error:
        return EtcdSight(data=EtcdData.SOME, state="Running", errors=error.detail)
    own = next(iter(statuses), None)
    return EtcdSight(
        data=EtcdData.SOME,
        state="Running",
        member=own.member if own else "",
        members=frozenset(each.id for each in members),
        learners=frozenset(each.id for each in members if each.is_learner),
        leader=own.leader if own else "",
        errors=own.errors if own else "",
    )


def _found_nothing(lines: Sequence[str]) -> bool:
    """Whether Talos has said that etcd's directory is empty, and etcd has not run since."""
    last = max((number for number, line in enumerate(lines) if _WAITS in line), default=None)
    return last is not None and not any(_RAN in line for line in lines[last:])


def _host(endpoint: str) -> str:
    """An endpoint without its port; addresses of version 6 have colons of their own."""
    try:
        ipaddress.ip_address(endpoint)
    except ValueError:
        return endpoint.rpartition(":")[0].strip("[]") if ":" in endpoint else endpoint
    return endpoint
