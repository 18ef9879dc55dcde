"""Everything that the actions of one run share: clients, the ways to secrets and machines, and who is told."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from firstlight import errors
from firstlight.clients import kube
from firstlight.clients.kube.client_config import ClientConfig
from firstlight.execute.repo_commands import RepoCommands
from firstlight.model.cluster import AddressBook, Cluster
from firstlight.model.secret import Resolve, Secret
from firstlight.observe.gate_watch import Watching

T = TypeVar("T")

LONGEST = 2.0
"""Seconds between two tries to reach the API: a run that waits for it should notice when it is back."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunPrograms:
    """Where the programs are that a run calls; None for one that it does not need."""

    talosctl: Path | None = None
    """For machines of all clusters that have none of their own."""
    talosctl_of: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    """By the name of the cluster: a cluster may run an older Talos than the others."""
    helm: Path | None = None
    omnictl: Path | None = None
    sops: Path | None = None

    def talosctl_for(self, cluster: Cluster) -> Path | None:
        """Return the talosctl that fits the machines of a cluster."""
        return self.talosctl_of.get(cluster.name, self.talosctl)


@dataclasses.dataclass
class World:
    """What the actions of one run share. Made once, closed with the run."""

    cluster: Cluster
    programs: RunPrograms
    resolve: Resolve
    state: Path
    """``.firstlight`` of the repo, or of the rehearsal: runs, what is known of the cluster, kubeconfig, talosconfig."""
    run: str = ""
    """The run's id: the API server hears it as the user agent, and its audit log has it."""
    reach: AddressBook = dataclasses.field(default_factory=AddressBook)
    tell: Callable[[str, str], None] = lambda step, text: None
    """How far a step is."""
    on_reached: Callable[[], None] = lambda: None
    """Called whenever the API was reached, and is this cluster's."""
    fingerprints: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of maintenance certificates, by machine name, where they are pinned."""
    talos_secrets: Callable[[], Awaitable[Secret]] | None = None
    """Gives the Talos secrets of the cluster, made once and kept; None to resolve what the cluster declares."""
    patience: float = 300.0
    """Seconds for which a machine that does not answer is waited for before anything is written."""
    configured: set[str] = dataclasses.field(default_factory=set)
    """Names of machines that got a config in this run: they may be silent for a while."""
    talosconfig: Secret | None = None
    """The administrator's, once it is known."""
    kubeconfig: Secret | None = None
    """The administrator's, once it was fetched."""
    is_exec: bool = False
    """Whether that one runs a program to sign in; then it is of no use but in the user's own files."""
    authority: bytes = b""
    """The PEM of the Kubernetes CA in the Talos secrets, once they are known: the API must be served under it."""
    parallel: int = 8
    """How many steps run at once."""
    keys: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)
    """Held while the cluster's keys are made or read: two steps want them at the same time."""
    commands: RepoCommands | None = None
    """Runs what the repo declares and the user has allowed; None where nothing of a repo may run."""
    _kube: kube.Client | None = None
    _watching: Watching | None = None
    _stack: contextlib.AsyncExitStack = dataclasses.field(default_factory=contextlib.AsyncExitStack)

    @property
    def is_connected(self) -> bool:
        """Whether there is a way to the API."""
        return self._kube is not None

    @property
    def kube(self) -> kube.Client:
        """The API, once there is a way to it."""
        if self._kube is None:
            raise errors.Refused("the Kubernetes API is not reached yet")
        return self._kube

    @property
    def watching(self) -> Watching:
        """Watches that all gates share."""
        if self._watching is None:
            raise errors.Refused("the Kubernetes API is not reached yet")
        return self._watching

    async def connect(self, config: ClientConfig) -> None:
        """Open the API for all; a second call replaces nothing."""
        if self._kube is None:
            client = kube.Client(config, policy=kube.RetryPolicy(longest_delay=LONGEST), agent=self.run)
            self._kube = await self._stack.enter_async_context(client)
            if self.commands is not None and self.kubeconfig is not None:
                self.commands.lead_to(self.kubeconfig, at=self.reach.kubernetes)
            run_command = self.commands.answer if self.commands is not None else None
            self._watching = await self._stack.enter_async_context(Watching(self._kube, run_command=run_command))

    def disconnect(self) -> None:
        """Forget a way to the API that leads nowhere; whoever comes by it later connects anew."""
        self._kube = self._watching = None

    def holding(self, context: contextlib.AbstractContextManager[T]) -> T:
        """Enter a context, such as a directory of files, that is left when the world is closed."""
        return self._stack.enter_context(context)

    async def close(self) -> None:
        """End all connections and watches."""
        await self._stack.aclose()


# What a step has to write, found by looking; nothing is written before it is performed.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PendingChange:
    """Writes that bring the world from what it is to what it must be."""

    writes: tuple[str, ...]
    """Each for people: ``create Deployment kube-system/cilium-operator``, ``apply the config of cp-1 (reboot)``."""
    perform: Callable[[], Awaitable[None]] = dataclasses.field(repr=False)
    """Convergent: killed half-way and looked at again, what is left is another change."""
    danger: str = ""
    """What cannot be undone, or takes something down; confirmed by a person before it is performed."""
