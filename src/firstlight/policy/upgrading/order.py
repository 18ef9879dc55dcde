"""In which order machines are upgraded: one first that the cluster can do without, control planes, then the rest.

Talos itself knows no order, only that control planes go one at a time. A worker goes first, since it takes no member of
etcd along if its new version does not boot; the leader of etcd goes last of its kind, since each time it goes the
others elect another.
"""

from collections.abc import Iterable

from firstlight.model.cluster import Machine, MachineRole


def of(machines: Iterable[Machine], *, leader: str = "") -> tuple[Machine, ...]:
    """The machines in their order.

    Args:
        machines: As they are declared.
        leader: The machine whose member of etcd leads, if it is known.
    """
    every = tuple(machines)
    workers = [each for each in every if each.role is not MachineRole.CONTROL_PLANE]
    planes = [each for each in every if each.role is MachineRole.CONTROL_PLANE]
    planes.sort(key=lambda each: each.name == leader)
    return (*workers[:1], *planes, *workers[1:])
