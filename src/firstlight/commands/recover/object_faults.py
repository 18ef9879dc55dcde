"""Faults of what is in the cluster: releases, Secrets and workloads of the network, of DNS and of the engine."""

from __future__ import annotations

import asyncio
import base64
import datetime
import gzip
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.recover.drill_context import DrillContext
from firstlight.document.within import mapping, text
from firstlight.engines import adapters
from firstlight.execute.apply import helm_storage
from firstlight.execute.gate_wait import POLL
from firstlight.gates import label_selector
from firstlight.model import flux_names, helm_names
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.work import Install
from firstlight.plan import cluster_facts

HOUR = 3600.0
GONE = 120.0
"""Seconds for a workload and its pods to be gone."""
_MORE = (flux_names.FLUX_OPERATOR, flux_names.HELM_CONTROLLER)
"""Who else brings what Git has, or brings back those who do."""
_WORKLOADS = ("Deployment", "StatefulSet")


async def pending_release(ground: DrillContext) -> str:
    """As Helm leaves it when it is killed in the middle of an upgrade: a revision more, which is pending."""
    work = ground.prepared.work
    found = [one for each in work.tasks.values() if isinstance(each, Install) for one in each.releases]
    async with _client(ground) as client:
        for release in found:
            kept = await helm_storage.last(client, release.name, release.namespace)
            if kept is not None and kept.status == "deployed":
                live = await client.get("v1", "Secret", kept.secret, namespace=release.namespace)
                await client.create(_pending(live, kept.revision + 1), manager=helm_names.FIELD_MANAGER)
                return f"{release.namespace}/{release.name}"
    raise errors.Refused(f"bootstrap installs no Helm release in {ground.cluster.name}")


async def foundation(ground: DrillContext) -> str:
    """The first Secret of the foundation is deleted."""
    first = _foundation(ground.prepared.platform, ground.cluster)[0]
    async with _client(ground) as client:
        await client.delete("v1", "Secret", first.name, namespace=first.namespace)
    return "secrets"


async def engine(ground: DrillContext) -> str:
    """One of its controllers is deleted."""
    name = adapters.ADAPTERS[_engine(ground.cluster)].needed_controllers[-1]
    async with _client(ground) as client:
        if not await _deleted([name], client):
            raise errors.Refused(f"there is no {name} in {ground.cluster.name}")
    return ""


async def network(ground: DrillContext) -> str:
    """Who could bring it back goes first, so that nobody does."""
    agents = _declared(ground, "cni", "DaemonSet")
    if not agents:
        raise errors.Refused(f"the network plugin of {ground.cluster.name} has no DaemonSet")
    async with _client(ground) as client:
        await _deleted((*adapters.ADAPTERS[_engine(ground.cluster)].needed_controllers, *_MORE), client)
        for namespace, name in agents:
            await client.delete("apps/v1", "DaemonSet", name, namespace=namespace)
    return ""


async def names(ground: DrillContext) -> str:
    """Nobody answers for names in the cluster any more."""
    found = _declared(ground, "dns", "Deployment")
    if not found:
        raise errors.Refused(f"the DNS of {ground.cluster.name} has no Deployment")
    async with _client(ground) as client:
        for namespace, name in found:
            await client.delete("apps/v1", "Deployment", name, namespace=namespace)
    return _in_bootstrap(ground.prepared.platform, ground.cluster, "dns")[0]


def check_foundation(platform: Platform, cluster: Cluster) -> None:
    """See that there is a foundation secret.

    Raises:
        errors.Refused: There is none.
    """
    if not _foundation(platform, cluster):
        raise errors.Refused(f"{cluster.name} has no foundation secrets")


def check_engine(platform: Platform, cluster: Cluster) -> None:
    """See that there is an engine.

    Raises:
        errors.Refused: There is none.
    """
    _engine(cluster)


def check_network(platform: Platform, cluster: Cluster) -> None:
    """See that bootstrap brings the network plugin, and that there is an engine.

    Raises:
        errors.Refused: It does not, or there is none.
    """
    _engine(cluster)
    if not _in_bootstrap(platform, cluster, "cni"):
        raise errors.Refused(f"bootstrap does not bring the network plugin of {cluster.name}")


def check_names(platform: Platform, cluster: Cluster) -> None:
    """See that bootstrap brings the cluster's DNS.

    Raises:
        errors.Refused: Talos or Git does.
    """
    if not _in_bootstrap(platform, cluster, "dns"):
        raise errors.Refused(
            f"bootstrap does not bring the DNS of {cluster.name}: Talos or Git does",
            hint="Practise another one: firstlight recover --drill list",
        )


def _client(ground: DrillContext) -> kube.Client:
    return kube.Client(kube.load(ground.lab.kubeconfig), agent="drill")


def _engine(cluster: Cluster) -> Engine:
    if cluster.engine is None:
        raise errors.Refused(f"{cluster.name} has no engine")
    return cluster.engine


def _foundation(platform: Platform, cluster: Cluster) -> list[FoundationSecret]:
    return [each for each in platform.secrets if each.cluster in ("", cluster.name)]


def _in_bootstrap(platform: Platform, cluster: Cluster, role: str) -> list[str]:
    mine = [each for each in platform.components_of(cluster.name) if each.role == role]
    return [each.name for each in mine if cluster_facts.in_bootstrap(each)]


def _declared(ground: DrillContext, role: str, kind: str) -> list[tuple[str, str]]:
    """The namespaces and names of what components of a role deploy, of one kind."""
    return [
        (each.id.namespace, each.id.name)
        for component in ground.prepared.platform.components_of(ground.cluster.name)
        if component.role == role
        for each in ground.prepared.ground.objects.get(component.name, ())
        if each.id.kind == kind
    ]


async def _deleted(names: Iterable[str], client: kube.Client) -> int:
    """Delete workloads of these names, until none is there and none of their pods runs; how many there were.

    A controller that is in the middle of its work may bring itself back as long as it runs.
    """
    wanted, seen, selectors = set(names), set[str](), set[tuple[str, str]]()
    deadline = time.monotonic() + GONE
    while True:
        found = [each for kind in _WORKLOADS for each in await _called(wanted, kind, client)]
        for each in found:
            name, place = text(each, "metadata", "name"), text(each, "metadata", "namespace")
            seen.add(name)
            selectors.add((place, label_selector.written(mapping(each, "spec", "selector"))))
            await client.delete("apps/v1", text(each, "kind"), name, namespace=place)
        running = [
            (await client.list("v1", "Pod", namespace=place, labels=labels, metadata_only=True)).items
            for place, labels in sorted(selectors)
        ]
        if not found and not any(running):
            return len(seen)
        if time.monotonic() > deadline:
            raise errors.TimedOut(f"{', '.join(sorted(seen))} come back again and again, or do not end")
        await asyncio.sleep(POLL)


async def _called(names: set[str], kind: str, client: kube.Client) -> list[Mapping[str, Any]]:
    """A chart may put the name of its release before that of a controller; the label has it alone."""
    return [
        {**each, "kind": kind}
        for each in (await client.list("apps/v1", kind)).items
        if names & {text(each, "metadata", "name"), text(each, "metadata", "labels", "app.kubernetes.io/name")}
    ]


def _pending(live: Mapping[str, Any], revision: int) -> dict[str, Any]:
    began = time.time() - HOUR
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(live["data"]["release"]))))
    stamp = datetime.datetime.fromtimestamp(began, datetime.UTC).isoformat()
    release |= {"version": revision, "info": {**release["info"], "status": "pending-upgrade", "last_deployed": stamp}}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()
    name, namespace = text(live, "metadata", "name").rpartition(".")[0], text(live, "metadata", "namespace")
    labels = {
        "owner": helm_names.RELEASE_SECRET_OWNER,
        "name": release["name"],
        "status": "pending-upgrade",
        "version": str(revision),
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": live["type"],
        "metadata": {
            "name": f"{name}.v{revision}",
            "namespace": namespace,
            "labels": {**labels, "modifiedAt": str(int(began))},
        },
        "data": {"release": packed},
    }
