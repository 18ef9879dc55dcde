"""Machines of a cluster as ``node list`` and ``node apply`` show them: what they are, against what they are to be."""

import dataclasses
import enum

from firstlight.model.change import Field


class Equality(enum.StrEnum):
    """Whether a machine has the config that the repo says."""

    EQUAL = "equal"
    DIFFERENT = "different"
    PENDING = "pending"
    """It runs with one and has another on its disk: one is being tried, or waits for a reboot."""
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSight:
    """The config of a machine, against the repo's."""

    equality: Equality
    fields: tuple[Field, ...] = ()
    """What differs; what is secret has no values."""
    needs_reboot: bool = False
    reason: str = ""
    """Why it reboots, or why nothing could be told."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One machine, node or member of etcd."""

    name: str
    is_declared: bool = True
    role: str = ""
    address: str = ""
    state: str = ""
    """As Talos tells it, in a few words: ``running``, ``does not answer``."""
    is_seen: bool = False
    """Whether the machine answers."""
    talos: str = ""
    kubernetes: str = ""
    node: str = ""
    """``ready``, ``absent``, or why it is not ready; empty where nobody could be asked."""
    etcd: str = ""
    """``leader``, ``member``, ``learner``, ``none``; empty for workers, and where nobody could be asked."""
    is_schedulable: bool | None = None
    begun: str = ""
    """The command of firstlight that works on it, or was killed at it."""
    config: ConfigSight = ConfigSight(equality=Equality.UNKNOWN)
    remarks: tuple[str, ...] = ()

    @property
    def is_fine(self) -> bool:
        """Whether it is there, well, and as the repo says."""
        is_member = self.etcd not in ("none", "learner")
        is_equal = self.config.equality is Equality.EQUAL
        return self.is_declared and self.node == "ready" and self.is_schedulable is not False and is_member and is_equal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeList:
    """All machines of a cluster."""

    cluster: str
    rows: tuple[NodeRow, ...]
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""
