"""A change that is carried through: all that a path needs to know of it, and what a path is.

Every path gets the same. What it writes to clusters are stages of a walk (``execute.walking``), which look at the world
and not at files, so that a killed change goes on where the world is. Git's part, approvals and the record are not a
path's: they are done around it.

    committed on a branch → pushed → approved → early stages → merged into the followed branch → stages

``early`` is for what machines must have before the engine sees the change; most paths have only ``stages``.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path

from firstlight.commands.change.change_record import ChangePath, ChangeRecord
from firstlight.commands.change.followed_branch import FollowedRepository
from firstlight.commands.change.record_store import ChangeRecordStore
from firstlight.commands.decide.decide import Decided
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means
from firstlight.execute.walk import Walk, WalkStage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform

PATIENCE = 600.0
"""Seconds in which what a change touches must work once it was brought."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OngoingChange:
    """One change that is carried through."""

    decided: Decided
    """The decision; its commit is ``keeper.record.commit``, which stands on ``keeper.record.base``."""
    path: ChangePath
    clusters: tuple[Cluster, ...]
    """As they are after the change, in the order in which they get it."""
    means: Means
    keeper: ChangeRecordStore
    """Its record: why, who, branch, commits, checks, steps."""
    repository: FollowedRepository | None = None
    """The clone, and the branch that engines follow."""
    patience: float = PATIENCE
    is_reverting: bool = False
    """Whether it is taken back: then the platform before is what clusters must come to."""

    @property
    def record(self) -> ChangeRecord:
        """How far it is."""
        return self.keeper.record

    @property
    def root(self) -> Path:
        """The user's repo."""
        return self.decided.states.root

    @property
    def before(self) -> Platform:
        """The platform that clusters come from."""
        return self.decided.after.platform if self.is_reverting else self.decided.before.platform

    @property
    def after(self) -> Platform:
        """The platform that clusters must come to."""
        return self.decided.before.platform if self.is_reverting else self.decided.after.platform


Stages = Callable[[OngoingChange, Cluster, World], tuple[WalkStage, ...]]
"""What a path does in one cluster: ``stages(carrying, cluster, world)``."""


def no_stages(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """A path that has nothing to do at this moment."""
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class PathStages:
    """A path."""

    stages: Stages
    """What is done once the followed branch has the change; on a revert once it has the revert."""
    early: Stages = no_stages
    """What is done before it is merged, once it is approved; not on a revert."""
    early_back: Stages = no_stages
    """What is done before a revert is merged."""


# What the user asked of a change, and how the command talks with the user.


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChangeRequest:
    """What was typed."""

    why: str = ""
    title: str = ""
    clusters: tuple[str, ...] = ()
    """Only these; all that it reaches if it is empty."""
    order: tuple[str, ...] = ()
    emergency: str = ""
    """The kind of emergency; empty for the usual way."""
    is_merging: bool = False
    """Merge it here, where it is approved."""
    is_waiting: bool = True
    """Wait for the merge."""
    is_at_once: bool = False
    """All clusters get what they share at the same moment."""
    anyway: str = ""
    """Why it is carried through although a check fails."""
    without_backup: str = ""
    """Why nothing is kept before bootstrap changes machines or components; empty where it is."""
    is_reverted_on_failure: bool = False
    patience: float = PATIENCE


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChangeHost:
    """The command that carries a change through."""

    say: Callable[[str], None]
    """Told what is done in Git."""
    walk: Callable[[Walk, World], Awaitable[RunResult]]
    """Carries out the stages of one cluster, with journal and screen."""
