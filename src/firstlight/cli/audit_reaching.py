"""How ``audit`` comes by the APIs of clusters: what ``up`` has left, or contexts of the user's own kubeconfig."""

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import which_cluster

if TYPE_CHECKING:
    from firstlight.clients import kube
    from firstlight.clients.kube.config import Config
    from firstlight.model.platform import Platform
    from firstlight.operate.auditing.auditing import Ways


def ways(platform: "Platform", names: Sequence[str], *, kubeconfig: Path | None, context: str) -> "Ways":
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
    from firstlight.journal import directory
    from firstlight.operate.auditing.auditing import Ways

    wanted = list(names) or [each.name for each in platform.clusters]
    if context and len(wanted) != 1:
        raise errors.UsageError("one context is one cluster", hint=f"Name it: --cluster {wanted[0] if wanted else ''}")
    state = directory.of(platform.root)
    found: dict[str, Callable[[], contextlib.AbstractAsyncContextManager[kube.Client]]] = {}
    missing: dict[str, str] = {}
    for name in wanted:
        chosen = context or _context(name, kubeconfig)
        is_left = kubeconfig is None and not context and directory.is_file(which_cluster.kept(state, name))
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
    return Ways(openers=found, missing=missing)


def _context(name: str, kubeconfig: Path | None) -> str:
    """The context of a cluster, by the names that people and talosctl give; empty if there is none."""
    from firstlight.clients.kube import kubeconfig as files

    try:
        known = files.read((kubeconfig,) if kubeconfig is not None else files.locate(os.environ)).contexts
    except errors.ConfigError:
        return ""
    return next((each for each in (name, f"admin@{name}") if each in known), "")


def _opener(
    config: "Config", state: Path, name: str
) -> "Callable[[], contextlib.AbstractAsyncContextManager[kube.Client]]":
    @contextlib.asynccontextmanager
    async def opened() -> "AsyncIterator[kube.Client]":
        async with which_cluster.opened(config, agent="audit", state=state, cluster=name) as client:
            yield client

    return opened
