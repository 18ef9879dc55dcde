"""What was seen of the machines of a cluster at one moment: whose they are, how far, and what their etcd is."""

import dataclasses
import enum

from firstlight.model.cluster import Machine


class MachineStanding(enum.StrEnum):
    """Whose a machine is."""

    ABSENT = "absent"
    """It does not answer."""
    MAINTENANCE = "maintenance"
    """It has no config yet, and takes one from anybody."""
    FOREIGN = "foreign"
    """It has a config, and not one of this cluster."""
    OURS = "ours"


class EtcdData(enum.StrEnum):
    """Whether a machine has ever been a member."""

    NONE = "none"
    SOME = "some"
    UNKNOWN = "unknown"
    """It says neither: a service that failed, or a machine that does not answer."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EtcdSight:
    """etcd as one control plane sees it."""

    data: EtcdData = EtcdData.UNKNOWN
    state: str = ""
    """Of the service: Preparing, Running, Failed …"""
    member: str = ""
    """Its own id; empty if it is no member."""
    members: frozenset[str] = frozenset()
    """The ids that it knows, its own included."""
    learners: frozenset[str] = frozenset()
    leader: str = ""
    errors: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MachineReport:
    """One machine."""

    machine: Machine
    standing: MachineStanding
    stage: str = ""
    """booting, installing, running … as Talos calls it; empty where it does not tell."""
    unmet: tuple[str, ...] = ()
    """Why it is not ready, as far as it says."""
    why: str = ""
    """Why it does not answer, or is somebody else's."""
    etcd: EtcdSight = EtcdSight()
    """Of control planes only."""
