"""Whether disks are where they belong, and are called by names that last."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit import storage_clusters
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.commands.audit.storage_clusters import DeviceStorage
from firstlight.document import within
from firstlight.model import fact
from firstlight.model.cluster import Cluster
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_KERNEL_NAME = re.compile(
    r"^\^?(?:/dev/)?(?:sd[a-z]{1,2}|vd[a-z]|xvd[a-z]|hd[a-z]|nvme\d+n\d+|mmcblk\d+)(?:p?\d+)?\$?$"
)


def own_devices(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Storage with devices of its own beside an infra cluster."""
    infra = storage_clusters.infra(scene)
    if infra is None:
        return
    shared = list(storage_clusters.stores(scene, infra.name))
    for cluster in scene.clusters:
        if cluster.name == infra.name:
            continue
        for store in storage_clusters.stores(scene, cluster.name):
            yield rule.finding(
                f"{store.what} has devices of its own, outside the infra cluster",
                at=store.place,
                clusters=(cluster.name,),
                subject=store.component,
                evidence=(
                    Evidence(f"{store.what}: {store.devices}", store.place),
                    *(Evidence(f"{infra.name} has {each.what}: {each.devices}", each.place) for each in shared),
                ),
                # Without storage there, there is nothing yet that the others could consume.
                severity=None if any(each.kind == store.kind for each in shared) else Severity.NOTE,
                # A storage cluster for each is as good, unless somebody says what this one is for.
                rests=() if infra.role else (fact.guess(infra.name, f"{infra.name} serves the others by its name"),),
            )


def foreign_nodes(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Storage on nodes that are another cluster's."""
    machines = {each.name: cluster.name for cluster in scene.clusters for each in cluster.machines}
    for cluster in scene.clusters:
        own = {each.name for each in cluster.machines}
        for store in storage_clusters.stores(scene, cluster.name):
            strangers = [(name, at) for name, at in store.nodes if name in machines and name not in own]
            if strangers and own:
                names = ", ".join(name for name, _ in strangers)
                yield rule.finding(
                    f"{store.what} names nodes of another cluster: {names}",
                    at=strangers[0][1],
                    clusters=(cluster.name,),
                    subject=store.component,
                    evidence=tuple(Evidence(f"{name} is a machine of {machines[name]}", at) for name, at in strangers),
                )


def hard_coded(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Devices by the names that the kernel gave them at some boot."""
    for cluster in scene.clusters:
        for store in storage_clusters.stores(scene, cluster.name):
            yield from _of_store(rule, store)
        yield from _of_machines(rule, cluster)


def _of_store(rule: AuditRule, store: DeviceStorage) -> Iterator[Finding]:
    named = [(name, at) for name, at in store.names if _KERNEL_NAME.match(name)]
    if named:
        names = ", ".join(dict.fromkeys(name for name, _ in named))
        yield rule.finding(
            f"{store.what} names devices as the kernel does: {names}",
            at=named[0][1],
            clusters=(store.cluster,),
            subject=store.component,
            evidence=tuple(Evidence(name, at) for name, at in named),
        )


def _of_machines(rule: AuditRule, cluster: Cluster) -> Iterator[Finding]:
    """Disks that Talos partitions for data; the install disk is chosen once, before there is anything to lose."""
    found: dict[Place, str] = {}
    for part in cluster.parts:
        value = part.config.value
        for number, disk in enumerate(within.sequence(value, "machine", "disks") if isinstance(value, Mapping) else ()):
            name = _text(within.at(disk, "device"))
            if _KERNEL_NAME.match(name):
                found[part.config.place("machine", "disks", number, "device")] = name
    for place, name in found.items():
        yield rule.finding(
            f"machine.disks names a device as the kernel does: {name}",
            at=place,
            clusters=(cluster.name,),
            evidence=(Evidence(name, place),),
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
