"""A machine before it leaves: what it is, its members of etcd, its node, its storage, and what speaks against it."""

import asyncio
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document.within import text
from firstlight.execute import cluster_keys, quorum
from firstlight.execute.world import World
from firstlight.gates import node_rows
from firstlight.gates import nodes as node_gate
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.draining import Weight
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.node_departure import Departure
from firstlight.model.node_upgrade import Refusal
from firstlight.model.place import Place
from firstlight.observe import machines as observed
from firstlight.observe.machines import Way
from firstlight.operate.node import members, storage
from firstlight.policy.upgrading import leaving


async def survey(machine: Machine, world: World, *, is_storage_accepted: bool = False) -> Departure:
    """Look at everything; nothing is written.

    Raises:
        errors.ClientError: The Kubernetes API does not answer.
    """
    way = await cluster_keys.ensure(world)
    planes = quorum.control_planes(world, [machine])
    report, reports, found = await asyncio.gather(
        observed.look_at(machine, way), observed.look_at_all(planes, way, with_etcd=True), world.kube.list("v1", "Node")
    )
    mine = await members_of(machine, reports, way)
    seen = leaving.of(reports, machine.name, own=mine[0] if mine else "")
    node = _name(machine, found.items)
    concerns = await storage.concerns(node, world) if node else ()
    refusals = [*leaving.refusals(machine, seen, reports), *_foreign(report), *_endpoint(machine, world)]
    if not is_storage_accepted:
        refusals += [
            Refusal(each.text, "Let its copies become healthy elsewhere first; or lose them: --accept-storage")
            for each in concerns
            if each.weight is Weight.REFUSE
        ]
    return Departure(
        cluster=world.cluster.name, report=report, members=mine, voting=len(seen.voting), node=node,
        concerns=concerns, refusals=tuple(refusals), warnings=_warnings(report, seen, mine),
        declared=_declared(machine),
    )  # fmt: skip


async def node_of(machine: Machine, world: World) -> str:
    """The name of the node that a machine is; empty where it is none."""
    return _name(machine, (await world.kube.list("v1", "Node")).items)


async def members_of(machine: Machine, reports: Sequence[MachineReport], way: Way) -> tuple[str, ...]:
    """The members of etcd that are a machine's, as the other control planes know them; none where nobody answers."""
    known = await members.of([each for each in reports if each.machine.name != machine.name], way)
    if known is not None:
        return tuple(each.id for each in known if node_rows.is_of(each, machine))
    return tuple(each.etcd.member for each in reports if each.machine.name == machine.name and each.etcd.member)


async def undeclared(name: str, world: World) -> Machine:
    """A machine that the repo does not know any more, as its node tells; or its member of etcd, where no node is left.

    Raises:
        errors.UsageError: There is neither.
    """
    way = await cluster_keys.ensure(world)
    reports, found = await asyncio.gather(
        observed.look_at_all(world.cluster.machines, way, with_etcd=True), world.kube.list("v1", "Node")
    )
    seen = node_rows.Seen(reports=reports, nodes=found.items, members=await members.of(reports, way))
    for row in node_rows.rows(seen):
        if row.name == name and not row.is_declared:
            return Machine(name=name, role=MachineRole(row.role), place=Place(""), address=row.address)
    raise errors.UsageError(
        f"there is no machine {name[:63]!r} in the repo, and no node or member of etcd of that name in "
        f"{world.cluster.name}",
        hint=f"What is there: firstlight node list {world.cluster.name}",
    )


def _name(machine: Machine, found: Sequence[Mapping[str, Any]]) -> str:
    return text(node_gate.of_machine(machine, found) or {}, "metadata", "name")


def _foreign(report: MachineReport) -> list[Refusal]:
    if report.standing is not Standing.FOREIGN:
        return []
    name, at = report.machine.name, report.machine.address
    message = f"at {at} is a machine of another cluster ({report.why}): it is not touched"
    return [
        Refusal(message, f"If that is not {name} any more, take the address out of its declaration, and run again.")
    ]


def _endpoint(machine: Machine, world: World) -> list[Refusal]:
    """An API that everybody reaches at the address of one machine goes with it."""
    endpoint = world.cluster.network.endpoint
    try:
        host = urllib.parse.urlsplit(endpoint).hostname or ""
    except ValueError:
        return []
    if machine.role is not MachineRole.CONTROL_PLANE or not machine.address or host != machine.address:
        return []
    message = f"the Kubernetes API is reached at the address of {machine.name} ({endpoint}), by every node"
    return [Refusal(message, "Let network.endpoint be a virtual address or another machine's first: node apply")]


def _warnings(report: MachineReport, seen: leaving.Leaving, members: Sequence[str]) -> tuple[str, ...]:
    found = []
    left = len(seen.voting - set(members))
    if members and left in (1, 2):
        found.append(f"etcd has {left} member{'' if left == 1 else 's'} then, and may lose none")
    if report.standing is Standing.ABSENT:
        found.append(
            f"{report.machine.name} does not answer and is not wiped: it has the keys of the cluster, "
            "and would join again when it is switched on"
        )
    return tuple(found)


def _declared(machine: Machine) -> tuple[str, ...]:
    if not machine.place.path:
        return ()
    return (f"{machine.place} declares {machine.name}", *(f"{each} is for it alone" for each in machine.patches))
