"""How ``audit`` comes by the APIs of clusters: what ``up`` has left, or contexts of the user's own kubeconfig."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients import kube
from firstlight.clients.kube import kubeconfig as kube_kubeconfig
from firstlight.clients.kube.client_config import ClientConfig
from firstlight.commands.audit.audit import ClusterOpeners
from firstlight.journal import state_files
from firstlight.model.platform import Platform


def ways(platform: Platform, names: Sequence[str], *, kubeconfig: Path | None, context: str) -> ClusterOpeners:
    """The ways to clusters.

    Args:
        platform: The repo.
        names: Which clusters; all of them if none is named.
        kubeconfig: What was typed.
        context: What was typed.

    Raises:
        errors.UsageError: One context was typed for several clusters.
        errors.ConfigError: What was typed says something wrong.
    """
    wanted = list(names) or [each.name for each in platform.clusters]
    if context and len(wanted) != 1:
        raise errors.UsageError("one context is one cluster", hint=f"Name it: --cluster {wanted[0] if wanted else ''}")
    state = state_files.directory_of(platform.root)
    found: dict[str, Callable[[], contextlib.AbstractAsyncContextManager[kube.Client]]] = {}
    missing: dict[str, str] = {}
    for name in wanted:
        chosen = context or _context(name, kubeconfig)
        is_left = kubeconfig is None and not context and state_files.is_file(which_cluster.kept(state, name))
        if not is_left and not chosen and len(wanted) > 1:
            missing[name] = f"firstlight up has left no kubeconfig, and there is no context {name} or admin@{name}"
            continue
        try:
            config = which_cluster.config(state, name, kubeconfig=kubeconfig, context="" if is_left else chosen)
        except errors.ConfigError as error:
            if kubeconfig is not None or context:
                raise
            missing[name] = error.message
            continue
        found[name] = _opener(config, state, name)
    return ClusterOpeners(openers=found, missing=missing)


def _context(name: str, kubeconfig: Path | None) -> str:
    """The context of a cluster, by the names that people and talosctl give; empty if there is none."""
    try:
        known = kube_kubeconfig.read(
            (kubeconfig,) if kubeconfig is not None else kube_kubeconfig.locate(os.environ)
        ).contexts
    except errors.ConfigError:
        return ""
    return next((each for each in (name, f"admin@{name}") if each in known), "")


def _opener(
    config: ClientConfig, state: Path, name: str
) -> Callable[[], contextlib.AbstractAsyncContextManager[kube.Client]]:
    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[kube.Client]:
        async with which_cluster.opened(config, agent="audit", state=state, cluster=name) as client:
            yield client

    return opened
