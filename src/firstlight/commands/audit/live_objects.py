"""What clusters answer when they are asked: lists of the kinds that rules look at, and of nothing else.

Clusters and kinds are asked at the same time. Nothing is written. Of Secrets only names, labels and annotations are
fetched, never what is in them.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import which_cluster
from firstlight.clients import kube
from firstlight.clients.kube import kubeconfig as kube_kubeconfig
from firstlight.clients.kube.client_config import ClientConfig
from firstlight.clients.kube.discovery import ApiCatalog
from firstlight.journal import state_files
from firstlight.model import argocd_names, flux_names
from firstlight.model.platform import Platform
from firstlight.repo.platform_view import LiveObjects

PATIENCE = 60.0
"""Seconds that a cluster has for all of its answers."""

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

ClientOpener = Callable[[], contextlib.AbstractAsyncContextManager["kube.Client"]]
"""Opens the API of a cluster; raises where that cannot be done."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClusterOpeners:
    """The ways to clusters, and why there is none to the others."""

    openers: Mapping[str, ClientOpener]
    missing: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class AuditedKind:
    """A kind that rules look at."""

    kind: str
    """``group/Kind``; ``/Node`` for the core group."""
    is_outline: bool = False
    """Whether metadata alone is fetched."""
    fields: str = ""
    """A field selector, for kinds of which there are many and one is meant."""


KINDS = (
    AuditedKind("/Node"),
    AuditedKind("/Service"),
    AuditedKind("/Secret", is_outline=True),
    AuditedKind("/ConfigMap", fields="metadata.name=cilium-config"),
    AuditedKind("/PersistentVolume"),
    AuditedKind("cilium.io/CiliumLoadBalancerIPPool"),
    AuditedKind("metallb.io/IPAddressPool"),
    AuditedKind("ceph.rook.io/CephCluster"),
    AuditedKind(flux_names.KUSTOMIZATION_GROUP_KIND, is_outline=True),
    AuditedKind(flux_names.HELM_RELEASE_GROUP_KIND, is_outline=True),
    AuditedKind(argocd_names.APPLICATION_GROUP_KIND, is_outline=True),
)


async def asked(
    ways: Mapping[str, ClientOpener], *, say: Callable[[str], None] = lambda text: None
) -> tuple[dict[str, LiveObjects], dict[str, str], tuple[str, ...]]:
    """What clusters answer, those that did not with why, and what of the others could not be seen.

    Args:
        ways: The way to each cluster.
        say: Told what is being done.

    Raises:
        errors.Refused: What answers is another cluster.
    """
    found: dict[str, LiveObjects] = {}
    unreached: dict[str, str] = {}
    unseen: list[str] = []

    async def one(name: str, opened: ClientOpener) -> None:
        try:
            async with asyncio.timeout(PATIENCE), opened() as client:
                found[name], problems = await look(client)
                unseen.extend(f"{name}: {each}" for each in problems)
        except TimeoutError:
            unreached[name] = f"it did not answer within {PATIENCE:.0f} s"
        except (errors.ClientError, errors.ConfigError) as error:
            unreached[name] = error.message
        say(f"asking clusters, {len(found) + len(unreached)} of {len(ways)}")

    say(f"asking {len(ways)} clusters" if len(ways) > 1 else "asking the cluster")
    try:
        async with asyncio.TaskGroup() as group:
            for name, opened in ways.items():
                group.create_task(one(name, opened))
    except* errors.FirstlightError as failed:
        raise failed.exceptions[0] from None
    return dict(sorted(found.items())), unreached, tuple(sorted(unseen))


async def look(client: kube.Client, kinds: Sequence[AuditedKind] = KINDS) -> tuple[LiveObjects, tuple[str, ...]]:
    """What one cluster has of some kinds, and which of them it does not show.

    Raises:
        errors.ClientError: It does not answer.
    """
    catalog = await client.catalog()
    served = {each.kind: version for each in kinds if (version := _version(catalog, each.kind))}
    answers = await asyncio.gather(*(_listed(client, each, served[each.kind]) for each in kinds if each.kind in served))
    objects: dict[tuple[str, str], tuple[Mapping[str, Any], ...]] = {}
    problems = []
    for each, answer in zip((each for each in kinds if each.kind in served), answers, strict=True):
        group, _, kind = each.kind.rpartition("/")
        if isinstance(answer, str):
            problems.append(answer)
        else:
            objects[group, kind] = answer
    return LiveObjects(objects=objects, at=time.time()), tuple(problems)


async def _listed(client: kube.Client, wanted: AuditedKind, version: str) -> tuple[Mapping[str, Any], ...] | str:
    """All objects of a kind; or why they cannot be seen."""
    kind = wanted.kind.rpartition("/")[2]
    try:
        listing = await client.list(version, kind, fields=wanted.fields, metadata_only=wanted.is_outline)
    except (kube.Forbidden, kube.ServerError, kube.UnknownKind) as error:
        return error.message
    # Lists leave out what their items are.
    return tuple({"apiVersion": version, "kind": kind, **_plain(each)} for each in listing.items)


def _plain(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object without the notes of writers, which may repeat what is secret."""
    metadata = {key: each for key, each in (obj.get("metadata") or {}).items() if key != "managedFields"}
    if isinstance(metadata.get("annotations"), Mapping):
        metadata["annotations"] = {key: each for key, each in metadata["annotations"].items() if key != _APPLIED}
    return {**obj, "metadata": metadata}


def _version(catalog: ApiCatalog, kind: str) -> str:
    """The apiVersion in which a kind is served: the preferred one if it has it."""
    group, _, name = kind.rpartition("/")
    versions = [version for version, each in catalog.resources if each == name and _group(version) == group]
    preferred = catalog.preferred.get(group, "")
    wanted = f"{group}/{preferred}" if group and preferred and "/" not in preferred else preferred
    return wanted if wanted in versions else next(iter(sorted(versions, reverse=True)), "")


def _group(version: str) -> str:
    return version.rpartition("/")[0]


# The ways to the APIs of clusters: what ``up`` has left, or contexts of the user's own kubeconfig.


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
