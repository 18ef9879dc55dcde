"""A change that is carried through: all that a path needs to know of it, and what a path is.

Every path gets the same. What it writes to clusters are stages of a walk (``execute.walking``), which look at the world
and not at files, so that a killed change goes on where the world is. Git's part, approvals and the record are not a
path's: they are done around it.

    committed on a branch → pushed → approved → early stages → merged into the followed branch → stages

``early`` is for what machines must have before the engine sees the change; most paths have only ``stages``.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.change_record import ChangePath, ChangeRecord
from firstlight.model.cluster import Cluster
from firstlight.model.platform import Platform
from firstlight.operate.changing.records import Keeper
from firstlight.operate.changing.repository import Repository
from firstlight.operate.deciding.deciding import Decided
from firstlight.operate.means import Means

PATIENCE = 600.0
"""Seconds in which what a change touches must work once it was brought."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Carrying:
    """One change that is carried through."""

    decided: Decided
    """The decision; its commit is ``keeper.record.commit``, which stands on ``keeper.record.base``."""
    path: ChangePath
    clusters: tuple[Cluster, ...]
    """As they are after the change, in the order in which they get it."""
    means: Means
    keeper: Keeper
    """Its record: why, who, branch, commits, checks, steps."""
    repository: Repository | None = None
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


Stages = Callable[[Carrying, Cluster, World], tuple[Stage, ...]]
"""What a path does in one cluster: ``stages(carrying, cluster, world)``."""


def none(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """A path that has nothing to do at this moment."""
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Way:
    """A path."""

    stages: Stages
    """What is done once the followed branch has the change; on a revert once it has the revert."""
    early: Stages = none
    """What is done before it is merged, once it is approved; not on a revert."""
    early_back: Stages = none
    """What is done before a revert is merged."""
