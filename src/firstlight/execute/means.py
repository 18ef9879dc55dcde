"""How a run comes by the world: the user's own repo, programs and secrets, or those of a rehearsal."""

import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from firstlight.execute.masks import Masks
from firstlight.execute.repo_commands import AllowedCommands
from firstlight.execute.world import RunPrograms
from firstlight.model.cluster import AddressBook, Cluster
from firstlight.model.component import Phase
from firstlight.model.platform import Platform
from firstlight.model.secret import Resolve, Secret
from firstlight.render.component_renderer import Renderer


async def _nothing() -> None:
    pass


async def _unchecked(cluster: Cluster) -> None:
    """Check nothing: what a rehearsal makes, it makes for itself."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Means:
    """What a run works with."""

    programs: RunPrograms
    state: Path
    """``.firstlight`` of the repo, or a directory of the rehearsal: runs, kubeconfigs, what is known of clusters."""
    open_renderer: Callable[[Platform], Awaitable[Renderer]]
    resolve: Resolve
    """References made values: the user's providers, or dummies."""
    talos_secrets: Callable[[Cluster], Awaitable[Secret]]
    """The cluster's Talos secrets: read, or made once and kept."""
    check_talos_secrets: Callable[[Cluster], Awaitable[None]] = _unchecked
    """Raises where ``talos_secrets`` would fail; writes nothing."""
    git: Path | None = None
    """None where the state of Git does not matter: a rehearsal commits to its own server."""
    revision: str = ""
    """The commit that the engine must follow; asked of Git if it is not given."""
    reach: AddressBook = dataclasses.field(default_factory=AddressBook)
    kubeconfig: Secret | None = None
    """For a cluster that has no machines here."""
    merged_into: tuple[Path, Path] | None = None
    """The user's own kubeconfig and talosconfig, where the cluster is to be added to them."""
    fingerprints: Mapping[str, str] = dataclasses.field(default_factory=dict)
    allowed: AllowedCommands = dataclasses.field(default_factory=AllowedCommands)
    """The commands that the repo may run."""
    origin: Path | None = None
    """The user's own repo, for which commands were allowed, where a copy of it is worked on."""
    masks: Masks = dataclasses.field(default_factory=Masks)
    """What must not be seen of what commands print."""
    is_rehearsal: bool = False
    journals: Path | None = None
    """Where journals go if not to ``state``: a rehearsal is listed with the repo's runs."""
    close: Callable[[], Awaitable[None]] = _nothing
    """Ends the connections to providers of secrets."""
    now: Callable[[], float] = time.time


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What the user asked for."""

    cluster: str
    until: Phase | None = None
    """The last phase to run; all of them if it is not given."""
    only: tuple[str, ...] = ()
    """Components to look at, or ``secrets`` for the foundation; all if it is empty."""
    is_handover: bool = False
    """Whether the cluster is there, and only the handover is meant."""
    is_dry_run: bool = False
    parallel: int = 8
