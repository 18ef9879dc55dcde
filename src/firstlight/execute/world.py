"""Everything that the actions of one run share: clients, the ways to secrets and machines, and who is told."""

import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.model.cluster import Cluster
from firstlight.model.reach import Reach
from firstlight.model.secret import Secret

if TYPE_CHECKING:
    from firstlight.clients import kube
    from firstlight.observe.watching import Watching

Resolve = Callable[[str], Awaitable[Secret]]
"""A reference made its value: ``await resolve("op://vault/item/field")``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Where the programs are that a run calls; None for one that it does not need."""

    talosctl: Path | None = None
    helm: Path | None = None


@dataclasses.dataclass
class World:
    """What the actions of one run share. Made once, closed with the run."""

    cluster: Cluster
    programs: Programs
    resolve: Resolve
    state: Path
    """``.firstlight`` of the repo, or of the rehearsal: runs, what is known of the cluster, kubeconfig, talosconfig."""
    reach: Reach = dataclasses.field(default_factory=Reach)
    tell: Callable[[str, str], None] = lambda step, text: None
    """How far a step is."""
    fingerprints: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of maintenance certificates, by machine name, where they are pinned."""
    talosconfig: Secret | None = None
    """The administrator's, once it is known."""
    kubeconfig: Secret | None = None
    """The administrator's, once it was fetched."""
    authority: bytes = b""
    """The PEM of the Kubernetes CA in the Talos secrets, once they are known: the API must be served under it."""
    parallel: int = 8
    """How many steps run at once."""
    _kube: "kube.Client | None" = None
    _watching: "Watching | None" = None
    _stack: contextlib.AsyncExitStack = dataclasses.field(default_factory=contextlib.AsyncExitStack)

    @property
    def kube(self) -> "kube.Client":
        """The API, once there is a way to it."""
        if self._kube is None:
            raise errors.Refused("the Kubernetes API is not reached yet")
        return self._kube

    @property
    def watching(self) -> "Watching":
        """Watches that all gates share."""
        if self._watching is None:
            raise errors.Refused("the Kubernetes API is not reached yet")
        return self._watching

    async def connect(self, config: "kube.Config") -> None:
        """Open the API for all; a second call replaces nothing."""
        from firstlight.clients import kube
        from firstlight.observe.watching import Watching

        if self._kube is None:
            self._kube = await self._stack.enter_async_context(kube.Client(config))
            self._watching = await self._stack.enter_async_context(Watching(self._kube))

    async def close(self) -> None:
        """End all connections and watches."""
        await self._stack.aclose()
