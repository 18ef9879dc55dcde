"""etcd as Talos's machines run it: its members, their state, and snapshots of what it holds."""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Member:
    """A member as one machine knows it."""

    node: str
    """The machine that was asked."""
    id: str
    hostname: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]
    is_learner: bool


@dataclasses.dataclass(frozen=True)
class Status:
    """How the member on a machine is."""

    node: str
    member: str
    leader: str
    """The member that leads; empty if none does."""
    size: int
    """Bytes of the database, rounded by talosctl to two or three digits."""
    in_use: int
    raft_index: int
    raft_term: int
    raft_applied_index: int
    is_learner: bool
    errors: str = ""

    @property
    def is_leader(self) -> bool:
        """Whether this member leads."""
        return self.member == self.leader


@dataclasses.dataclass(frozen=True)
class Alarm:
    """An alarm that a member has raised, such as NOSPACE."""

    node: str
    member: str
    alarm: str


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A snapshot in a file."""

    path: Path
    hash: str
    revision: int
    keys: int
    size: int
