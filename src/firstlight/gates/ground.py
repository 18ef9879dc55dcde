"""What gates know of a run before they look: the cluster as declared, the commit, and what components deploy."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.own_gate import OwnGate
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.work import Apply, Install, Task, Watch


@dataclasses.dataclass(frozen=True)
class GateGround:
    """The ground that questions are made on."""

    cluster: Cluster
    revision: str
    """The commit that was rendered; empty where it is not known."""
    objects: Mapping[str, tuple[Object, ...]]
    """By the component's name."""
    own: Mapping[str, tuple[OwnGate, ...]] = dataclasses.field(default_factory=dict)
    """The gates that firstlight.yaml declares, by the component's name."""

    def declared(self, identity: ObjectId, task: Task) -> Mapping[str, Any]:
        """An object as it was rendered; empty if nothing that was rendered has it."""
        everything = (*of_task(task), *(each for objects in self.objects.values() for each in objects))
        return next((each.value for each in everything if each.id == identity), {})


def objects(gate: Gate, task: Task, ground: GateGround) -> tuple[Object, ...]:
    """What a gate's component deploys, or else what its step does."""
    return ground.objects.get(gate.component) or tuple(of_task(task))


def of_task(task: Task) -> Iterator[Object]:
    """The objects that a step deploys itself, or waits for."""
    if isinstance(task, Apply | Install | Watch):
        yield from task.objects
