"""What becomes of a node while its machine is worked on: the mark on it, its pods, and what stands in the way."""

import dataclasses
import enum

from firstlight.model.verdict import Verdict

MARK = "firstlight.dev/maintenance"
"""On a Node that firstlight works on: a Mark, so that whoever runs next goes on where this one was killed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What was true of a node when firstlight began to work on it."""

    command: str
    """Who began: ``node maintain``."""
    boot: str
    """The boot that the machine lived in; another one now means that it has rebooted."""
    is_ours: bool
    """Whether firstlight has cordoned it; a node that was cordoned before stays so."""


class Fate(enum.StrEnum):
    """What a drain does with a pod."""

    EVICT = "evict"
    LEAVE = "leave"
    """It belongs to the node, or is over."""
    REFUSE = "refuse"
    """Something would be lost that nobody has agreed to."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PodFate:
    """One pod of a node."""

    namespace: str
    name: str
    uid: str
    fate: Fate
    why: str = ""
    is_leaving: bool = False
    """Whether it is on its way out already."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """What a drain may do, and how long it may take."""

    may_lose_scratch: bool = False
    """Whether pods may go whose emptyDir volumes hold data."""
    is_forced: bool = False
    """Whether pods may go that nobody will make again."""
    patience: float = 900.0
    """Seconds for budgets to let pods go, and for pods to end."""


class Weight(enum.StrEnum):
    """How much a concern weighs."""

    TELL = "tell"
    ASK = "ask"
    """A person must agree."""
    REFUSE = "refuse"
    """The last healthy copy of something would go."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """What happens to storage when a node goes."""

    weight: Weight
    text: str
    """``Longhorn volume media/photos has its only healthy replica on worker-1``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What maintaining a machine would mean."""

    machine: str
    node: str
    pods: tuple[PodFate, ...]
    concerns: tuple[Concern, ...]
    etcd: Verdict | None
    """Whether etcd can do without it; of control planes only."""
    is_cordoned: bool
    begun: str
    """The command that has begun and not ended it; empty where none has."""
