"""What a lab says of its parts: the shape that goes over its socket and into ``lab status``."""

from typing import Literal

import msgspec

State = Literal["waiting", "starting", "ready", "unready", "stopped", "slowed", "failed", "resting"]
Power = Literal["on", "off", "stopped"]
Stage = Literal["maintenance", "configured", "joined"]


class PartStatus(msgspec.Struct, frozen=True):
    """One part, now."""

    name: str
    what: str
    reality: Literal["real", "simulated"]
    state: State
    detail: str = ""
    """What it waits for, or why it failed."""
    pid: int = 0
    restarts: int = 0
    since: float = 0
    """When it entered this state, in seconds since the epoch."""
    memory: int = 0
    idle: bool = False
    """It does not run, and need not: a machine that is off, a control plane before the bootstrap."""
    workload: str = ""
    """Of an actor: the workload of the cluster whose program it is."""


class MachineStatus(msgspec.Struct, frozen=True):
    """One virtual machine, now; its process is one of the parts, of the same name."""

    name: str
    endpoint: str
    """Where talosctl reaches it."""
    address: str
    """The declared one."""
    power: Power
    stage: Stage = "maintenance"
    node: str = ""
    """The name of its Node, once it has a config that gives it one."""
    role: str = ""
    boots: int = 1
    """How often it has been started since the lab came up."""
    problem: str = ""
    """Why it does not run although it is on."""


class LabStatus(msgspec.Struct, frozen=True):
    """The control plane of a lab, now."""

    name: str
    directory: str
    loopback: str
    declared: str
    parts: tuple[PartStatus, ...]
    machines: tuple[MachineStatus, ...] = ()
    followed: str = ""
    """The machine whose control plane runs."""
    notes: tuple[str, ...] = ()
    """Where the lab differs from what the machines' configs ask for, and what comes with a next boot."""

    @property
    def is_ready(self) -> bool:
        """Whether every part is that has something to do; actors are the cluster's, which may be as it likes."""
        return bool(self.parts) and all(
            part.state in {"ready", "slowed"} or part.idle or part.workload for part in self.parts
        )

    @property
    def off(self) -> tuple[MachineStatus, ...]:
        """The machines that are switched off."""
        return tuple(each for each in self.machines if each.power == "off")

    @property
    def has_lost_quorum(self) -> bool:
        """Whether so many control-plane machines are off that etcd cannot go on, while some still run."""
        planes = [each for each in self.machines if each.role == "control-plane"]
        running = sum(each.power != "off" for each in planes)
        return 0 < running <= len(planes) // 2
