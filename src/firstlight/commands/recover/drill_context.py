"""A fault for drills: something that can be broken in a lab on purpose, and the option that must repair it."""

import contextlib
import dataclasses
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from firstlight.clients.sops import CONFIG
from firstlight.commands.backup import encryption
from firstlight.commands.up.up import PreparedRun
from firstlight.execute.means import Means
from firstlight.lab.running_lab import Lab
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.platform import Platform
from firstlight.secrets import age_keys


@dataclasses.dataclass(frozen=True, kw_only=True)
class DrillContext:
    """A lab in which a cluster was brought up."""

    lab: Lab
    prepared: PreparedRun
    means: Means

    @property
    def cluster(self) -> Cluster:
        """The cluster, as declared."""
        return self.prepared.cluster


def fits(platform: Platform, cluster: Cluster) -> None:
    """Every cluster has it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DrillFault:
    """Something that can be broken."""

    id: str
    what: str
    how: str
    """How it is made, in words."""
    option: str
    """The option that repairs it."""
    make: Callable[[DrillContext], Awaitable[str]]
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


# A key for one drill: what a recovery keeps of etcd is encrypted, and a rehearsal has nobody's keys.


SEALED_OPTIONS = ("etcd-quorum", "etcd-restore")
"""Those that keep what is left of etcd."""
_KEY = "SOPS_AGE_KEY"
_OTHERS = ("SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_CMD")


@contextlib.contextmanager
def sealed(ground: DrillContext, *, sops: Path) -> Iterator[DrillContext]:
    """A ground on which things are encrypted for a key that is forgotten afterwards.

    Args:
        ground: The lab, with a copy of the repo: a rule is written into it.
        sops: The program.
    """
    seed = secrets.token_bytes(32)
    config = encryption.sops_rule_of(ground.cluster, ground.prepared.platform.root).parent / CONFIG
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"creation_rules:\n  - age: {age_keys.recipient(seed)}\n")
    before = {name: os.environ.pop(name) for name in (_KEY, *_OTHERS) if name in os.environ}
    os.environ[_KEY] = age_keys.identity(seed).reveal().decode()
    programs = dataclasses.replace(ground.means.programs, sops=sops)
    try:
        yield dataclasses.replace(ground, means=dataclasses.replace(ground.means, programs=programs))
    finally:
        del os.environ[_KEY]
        os.environ.update(before)
