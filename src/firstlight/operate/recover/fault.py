"""A fault for drills: something that can be broken in a lab on purpose, and the option that must repair it."""

import dataclasses
from collections.abc import Awaitable, Callable

from firstlight.lab.lab import Lab
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.platform import Platform
from firstlight.operate.means import Means
from firstlight.operate.up import Prepared


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ground:
    """A lab in which a cluster was brought up."""

    lab: Lab
    prepared: Prepared
    means: Means

    @property
    def cluster(self) -> Cluster:
        """The cluster, as declared."""
        return self.prepared.cluster


def fits(platform: Platform, cluster: Cluster) -> None:
    """Every cluster has it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that can be broken."""

    id: str
    what: str
    how: str
    """How it is made, in words."""
    option: str
    """The option that repairs it."""
    make: Callable[[Ground], Awaitable[str]]
    """Breaks it; what the option is to be done to.

    Raises:
        errors.Refused: The cluster has nothing of that kind to break.
    """
    check: Callable[[Platform, Cluster], None] = fits
    """Looks in the repo whether there is something of that kind, before a lab is made.

    Raises:
        errors.Refused: There is not.
    """
    until: Phase | None = None
    """How far the cluster is brought up before; all the way if it is not given."""
    untried: str = ""
    """What of the option a rehearsal cannot try; empty where it tries all of it."""
