"""Which machine of which cluster is meant."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients import talosctl
from firstlight.commands.node.drain_rules import MAINTENANCE_MARK
from firstlight.document import mistakes
from firstlight.execute.world import World
from firstlight.gates import node_ready
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.machine import EtcdMember
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.platform import Platform
from firstlight.observe.machine_survey import PATIENCE, MachineAccess


def machine_of(platform: Platform, name: str, *, cluster: str = "") -> tuple[Cluster, Machine]:
    """The machine of a name, in the cluster that is named, or in whichever has it.

    Raises:
        errors.UsageError: There is none of that name, or several clusters have one.
        errors.Refused: It is Omni's.
    """
    clusters = (which_cluster.cluster_of(platform, cluster),) if cluster else platform.clusters
    found = [(one, each) for one in clusters for each in one.machines if each.name == name]
    if not found:
        names = [each.name for one in clusters for each in one.machines]
        hint = mistakes.near(name, names) or "The repo declares no machines."
        raise errors.UsageError(f"there is no machine {name}", hint=hint)
    if len(found) > 1:
        names = [one.name for one, _ in found]
        raise errors.UsageError(f"several clusters have a machine {name}", hint=f"--cluster {' or '.join(names)}")
    refuse_omni(found[0][0])
    return found[0]


def refuse_omni(cluster: Cluster) -> None:
    """Machines of Omni are worked on there.

    Raises:
        errors.Refused: They are Omni's.
    """
    if cluster.omni_template:
        raise errors.Refused(
            f"the machines of {cluster.name} are Omni's", hint="Omni does it: omnictl cluster machine --help"
        )


# The node of a machine, read from and written to the API.


MANAGER = "firstlight"


async def require_node(machine: Machine, world: World) -> Mapping[str, Any]:
    """The node that a machine is.

    Raises:
        errors.Refused: It is none.
    """
    found = node_ready.of_machine(machine, (await world.kube.list("v1", "Node")).items)
    if found is None:
        raise errors.Refused(
            f"{machine.name} is no node of {world.cluster.name}",
            hint=f"What is there: firstlight node list {world.cluster.name}",
        )
    return found


async def pods_on(node: str, world: World) -> tuple[Mapping[str, Any], ...]:
    """The pods on a node."""
    return (await world.kube.list("v1", "Pod", fields=f"spec.nodeName={node}")).items


async def put_mark(node: Mapping[str, Any], world: World, *, mark: str | None, is_cordoned: bool) -> None:
    """Write the mark and the cordon in one request, unless somebody has written to the node meanwhile.

    Raises:
        kube.Conflict: Somebody has; another look tells what.
    """
    metadata = node["metadata"]
    patch = {
        "metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": {MAINTENANCE_MARK: mark}},
        "spec": {"unschedulable": True if is_cordoned else None},
    }
    await world.kube.patch("v1", "Node", metadata["name"], patch, manager=MANAGER)


# The members of etcd, as a control plane tells them.


async def etcd_members(reports: Sequence[MachineReport], way: MachineAccess) -> tuple[EtcdMember, ...] | None:
    """From the first of some machines that tells them; None where none does."""
    for each in reports:
        if each.standing is MachineStanding.OURS and each.etcd.members:
            try:
                return await way.admin.etcd_members(way.at(each.machine), timeout=PATIENCE)
            except talosctl.TalosError:
                continue
    return None
