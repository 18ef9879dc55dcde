"""The node of a machine, read from and written to the API."""

from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.execute.world import World
from firstlight.gates import nodes
from firstlight.model.cluster import Machine
from firstlight.model.draining import MARK

MANAGER = "firstlight"


async def of(machine: Machine, world: World) -> Mapping[str, Any]:
    """The node that a machine is.

    Raises:
        errors.Refused: It is none.
    """
    found = nodes.of_machine(machine, (await world.kube.list("v1", "Node")).items)
    if found is None:
        raise errors.Refused(
            f"{machine.name} is no node of {world.cluster.name}",
            hint=f"What is there: firstlight node list {world.cluster.name}",
        )
    return found


async def pods(node: str, world: World) -> tuple[Mapping[str, Any], ...]:
    """The pods on a node."""
    return (await world.kube.list("v1", "Pod", fields=f"spec.nodeName={node}")).items


async def put(node: Mapping[str, Any], world: World, *, mark: str | None, is_cordoned: bool) -> None:
    """Write the mark and the cordon in one request, unless somebody has written to the node meanwhile.

    Raises:
        kube.Conflict: Somebody has; another look tells what.
    """
    metadata = node["metadata"]
    patch = {
        "metadata": {"resourceVersion": metadata["resourceVersion"], "annotations": {MARK: mark}},
        "spec": {"unschedulable": True if is_cordoned else None},
    }
    await world.kube.patch("v1", "Node", metadata["name"], patch, manager=MANAGER)
