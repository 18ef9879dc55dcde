"""A machine that is to leave its cluster: what it is now, what goes with it, and what speaks against it."""

import asyncio
import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from firstlight import errors
from firstlight.commands.node import machine_lookup, node_rows, node_storage
from firstlight.document.within import text
from firstlight.execute import cluster_access, gate_wait
from firstlight.execute.world import World
from firstlight.gates import etcd, node_ready
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

Wipe = Literal["partitions", "system-disk", "all"]
"""STATE and EPHEMERAL, so that the installed system boots into maintenance mode; the whole system disk; every disk."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """What was found before it."""

    cluster: str
    report: MachineReport
    members: tuple[str, ...] = ()
    """Ids of the members of etcd that are the machine's."""
    voting: int = 0
    """How many members vote now."""
    node: str = ""
    """Its node; empty where there is none."""
    concerns: tuple[Diagnostic, ...] = ()
    refusals: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    declared: tuple[str, ...] = ()
    """What in the repo still declares it, with file and line."""


# Whether a machine may leave its cluster, for good or to come back bare: never at the price of etcd.
#
# Members are counted as etcd knows them, not as the repo declares them: one of a machine that is long gone counts in
# every vote, and is missing in each.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EtcdBeforeDeparture:
    """What is known of etcd before a machine leaves."""

    voting: frozenset[str] = frozenset()
    """Ids of members that vote."""
    well: frozenset[str] = frozenset()
    """Those of them that are up and know a leader."""
    own: str = ""
    """The member of the machine that leaves; empty where it has none."""


def etcd_before_departure(reports: Sequence[MachineReport], name: str, *, own: str = "") -> EtcdBeforeDeparture:
    """Etcd as the control planes see it.

    Args:
        reports: Of all declared control planes, with etcd.
        name: The machine that leaves.
        own: Its member where the others know it by its name or address, and it does not answer itself.
    """
    voting = {member for each in reports for member in each.etcd.members}
    voting -= {member for each in reports for member in each.etcd.learners}
    mine = next((each.etcd.member for each in reports if each.machine.name == name and each.etcd.member), "") or own
    well = {each.etcd.member for each in reports if etcd.is_well(each)} & voting
    return EtcdBeforeDeparture(voting=frozenset(voting), well=frozenset(well), own=mine)


def departure_refusals(
    machine: Machine, seen: EtcdBeforeDeparture, reports: Sequence[MachineReport]
) -> tuple[Diagnostic, ...]:
    """Why a machine must not leave.

    Args:
        machine: The machine.
        seen: Etcd.
        reports: Of all declared control planes, with etcd.
    """
    if machine.role is not MachineRole.CONTROL_PLANE:
        return ()
    others = [each for each in reports if each.machine.name != machine.name]
    if not others:
        return (_last(machine),)
    if not seen.voting:
        silent = ", ".join(each.machine.name for each in reports if each.standing is not MachineStanding.OURS)
        return (
            Diagnostic.error(
                "etcd-members-unknown",
                f"no control plane tells who is a member of etcd{f' ({silent} are silent)' if silent else ''}",
                fix="Bring the other control planes back first.",
            ),
        )
    if seen.own not in seen.voting:
        return ()  # a learner, or nobody: nothing is lost
    stay = seen.voting - {seen.own}
    if not stay:
        return (_last(machine),)
    if len(seen.well) <= len(seen.voting) // 2:
        # Who leaves is voted on by all, too.
        return (
            Diagnostic.error(
                "etcd-no-quorum",
                f"etcd has no quorum: {len(seen.well)} of {len(seen.voting)} members are well, and nobody can leave",
                fix="Bring the others back first. Where they are gone for good, etcd is restored from a snapshot.",
            ),
        )
    well, needed = len(seen.well - {seen.own}), len(stay) // 2 + 1
    if well < needed:
        return (
            Diagnostic.error(
                "etcd-quorum-at-risk",
                f"etcd would lose its quorum: of the {len(stay)} other members {well} "
                f"{'is' if well == 1 else 'are'} well, and {needed} are needed",
                fix="Bring the others back, or take those that are gone for good out first: firstlight node remove",
            ),
        )
    return ()


def _last(machine: Machine) -> Diagnostic:
    return Diagnostic.error(
        "control-plane-last",
        f"{machine.name} is the last control plane: the cluster and all it holds would be gone",
        subject=machine.name,
        fix="A whole cluster is taken down with firstlight down.",
    )


# A machine before it leaves: what it is, its members of etcd, its node, its storage, and what speaks against it.


async def survey_departure(machine: Machine, world: World, *, is_storage_accepted: bool = False) -> Departure:
    """Look at everything; nothing is written.

    Raises:
        errors.ClientError: The Kubernetes API does not answer.
    """
    way = await cluster_access.ensure(world)
    planes = gate_wait.control_planes(world, [machine])
    report, reports, found = await asyncio.gather(
        machine_survey.look_at(machine, way),
        machine_survey.look_at_all(planes, way, with_etcd=True),
        world.kube.list("v1", "Node"),
    )
    mine = await members_of(machine, reports, way)
    seen = etcd_before_departure(reports, machine.name, own=mine[0] if mine else "")
    node = _name(machine, found.items)
    concerns = await node_storage.storage_concerns(node, world) if node else ()
    refusals = [*departure_refusals(machine, seen, reports), *_foreign(report), *_endpoint(machine, world)]
    if not is_storage_accepted:
        refusals += [
            dataclasses.replace(
                each, fix="Let its copies become healthy elsewhere first; or lose them: --accept-storage"
            )
            for each in concerns
            if each.severity is Severity.ERROR
        ]
    return Departure(
        cluster=world.cluster.name, report=report, members=mine, voting=len(seen.voting), node=node,
        concerns=concerns, refusals=tuple(refusals), warnings=_warnings(report, seen, mine),
        declared=_declared(machine),
    )  # fmt: skip


async def node_of(machine: Machine, world: World) -> str:
    """The name of the node that a machine is; empty where it is none."""
    return _name(machine, (await world.kube.list("v1", "Node")).items)


async def members_of(machine: Machine, reports: Sequence[MachineReport], way: MachineAccess) -> tuple[str, ...]:
    """The members of etcd that are a machine's, as the other control planes know them; none where nobody answers."""
    known = await machine_lookup.etcd_members([each for each in reports if each.machine.name != machine.name], way)
    if known is not None:
        return tuple(each.id for each in known if node_rows.is_of(each, machine))
    return tuple(each.etcd.member for each in reports if each.machine.name == machine.name and each.etcd.member)


async def undeclared_machine(name: str, world: World) -> Machine:
    """A machine that the repo does not know any more, as its node tells; or its member of etcd, where no node is left.

    Raises:
        errors.UsageError: There is neither.
    """
    way = await cluster_access.ensure(world)
    reports, found = await asyncio.gather(
        machine_survey.look_at_all(world.cluster.machines, way, with_etcd=True), world.kube.list("v1", "Node")
    )
    seen = node_rows.NodeSources(
        reports=reports, nodes=found.items, members=await machine_lookup.etcd_members(reports, way)
    )
    for row in node_rows.rows(seen):
        if row.name == name and not row.is_declared:
            return Machine(name=name, role=MachineRole(row.role), place=Place(""), address=row.address)
    raise errors.UsageError(
        f"there is no machine {name[:63]!r} in the repo, and no node or member of etcd of that name in "
        f"{world.cluster.name}",
        hint=f"What is there: firstlight node list {world.cluster.name}",
    )


def _name(machine: Machine, found: Sequence[Mapping[str, Any]]) -> str:
    return text(node_ready.of_machine(machine, found) or {}, "metadata", "name")


def _foreign(report: MachineReport) -> list[Diagnostic]:
    if report.standing is not MachineStanding.FOREIGN:
        return []
    name, at = report.machine.name, report.machine.address
    message = f"at {at} is a machine of another cluster ({report.why}): it is not touched"
    fix = f"If that is not {name} any more, take the address out of its declaration, and run again."
    return [Diagnostic.error("machine-foreign", message, fix=fix, subject=name)]


def _endpoint(machine: Machine, world: World) -> list[Diagnostic]:
    """An API that everybody reaches at the address of one machine goes with it."""
    endpoint = world.cluster.network.endpoint
    try:
        host = urllib.parse.urlsplit(endpoint).hostname or ""
    except ValueError:
        return []
    if machine.role is not MachineRole.CONTROL_PLANE or not machine.address or host != machine.address:
        return []
    message = f"the Kubernetes API is reached at the address of {machine.name} ({endpoint}), by every node"
    fix = "Let network.endpoint be a virtual address or another machine's first: node apply"
    return [Diagnostic.error("api-endpoint-leaves", message, fix=fix, subject=machine.name)]


def _warnings(report: MachineReport, seen: EtcdBeforeDeparture, members: Sequence[str]) -> tuple[Diagnostic, ...]:
    found = []
    left = len(seen.voting - set(members))
    if members and left in (1, 2):
        message = f"etcd has {left} member{'' if left == 1 else 's'} then, and may lose none"
        found.append(Diagnostic.warning("etcd-without-spare", message))
    if report.standing is MachineStanding.ABSENT:
        message = (
            f"{report.machine.name} does not answer and is not wiped: it has the keys of the cluster, "
            "and would join again when it is switched on"
        )
        found.append(Diagnostic.warning("machine-not-wiped", message, subject=report.machine.name))
    return tuple(found)


def _declared(machine: Machine) -> tuple[str, ...]:
    if not machine.place.path:
        return ()
    return (f"{machine.place} declares {machine.name}", *(f"{each} is for it alone" for each in machine.patches))
