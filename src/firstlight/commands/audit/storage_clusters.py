"""Storage that is made of devices: which cluster has what, and who is there to be consumed from."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import within
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.repo import chart_values
from firstlight.repo.platform_view import AppliedObject, PlatformView

CEPH = "ceph.rook.io/CephCluster"
MAYASTOR = "openebs.io/DiskPool"
LINSTOR = "piraeus.io/LinstorSatelliteConfiguration"
LONGHORN = "longhorn.io/Node"
_INFRA = re.compile(r"(?:^|[-_.])(?:infra|infrastructure|storage)(?:$|[-_.])")
Names = tuple[tuple[str, Place], ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DeviceStorage:
    """Storage with devices of its own in a cluster."""

    cluster: str
    kind: str
    what: str
    """``CephCluster rook-ceph/rook-ceph``."""
    devices: str
    """Which devices, in words."""
    place: Place
    """Where the devices are said."""
    names: Names
    """The devices that are named one by one, and filters."""
    component: str
    namespace: str = ""
    nodes: Names = ()
    """The nodes that it names."""


def infra(scene: PlatformView) -> Cluster | None:
    """The cluster that the others may consume from, where the platform has one among several."""
    if len(scene.clusters) < 2:
        return None
    declared = [each for each in scene.clusters if each.role in ("infra", "infrastructure", "storage")]
    named = [each for each in scene.clusters if _INFRA.search(each.name)]
    return next(iter(declared or named), None)


def stores(scene: PlatformView, cluster: str) -> Iterator[DeviceStorage]:
    """The storage of a cluster that has devices of its own."""
    for item in scene.of_cluster(cluster, CEPH):
        yield from _ceph(item.value.get("spec"), _Said.of_item(item, "spec"))
    for component in scene.platform.components_of(cluster):
        for layer in scene.values(component):
            if chart_values.chart_name(layer.chart) == "rook-ceph-cluster":
                spec = within.at(layer.value, "cephClusterSpec")
                name = f"CephCluster {layer.chart.namespace}/{layer.chart.release}"
                said = _Said(cluster, component.name, name, layer.at, ("cephClusterSpec",), layer.chart.namespace, True)
                yield from _ceph(spec, said)
    for item in scene.of_cluster(cluster, MAYASTOR):
        yield from _named(item, ("spec", "disks"), MAYASTOR)
    for item in scene.of_cluster(cluster, LINSTOR):
        for number, _ in enumerate(within.sequence(item.value, "spec", "storagePools")):
            yield from _named(item, ("spec", "storagePools", number, "source", "hostDevices"), LINSTOR)
    for item in scene.of_cluster(cluster, LONGHORN):
        disks = within.at(item.value, "spec", "disks")
        if isinstance(disks, Mapping) and disks:
            yield DeviceStorage(
                cluster=cluster,
                kind=LONGHORN,
                what=str(item.object.id),
                devices=", ".join(str(within.at(each, "path")) for each in disks.values()),
                place=item.object.at("spec", "disks"),
                names=(),
                component=item.component.name,
            )
    yield from _live(scene, cluster)


@dataclasses.dataclass(frozen=True, slots=True)
class _Said:
    """Where the spec of a CephCluster is."""

    cluster: str
    component: str
    what: str
    at: Any
    prefix: tuple[str | int, ...]
    namespace: str
    is_chart: bool = False
    """The chart takes all empty devices where nothing is said."""

    @classmethod
    def of_item(cls, item: AppliedObject, *prefix: str) -> "_Said":
        found = item.object.id
        return cls(item.cluster, item.component.name, str(found), item.object.at, prefix, found.namespace)


def _ceph(spec: Any, said: _Said) -> Iterator[DeviceStorage]:
    if not isinstance(spec, Mapping) or within.at(spec, "external", "enable") is True:
        return
    storage = spec.get("storage")
    place = said.at(*said.prefix, "storage")
    names = tuple(_ceph_names(storage, said))
    if names:
        devices = ", ".join(dict.fromkeys(name for name, _ in names))
        place = names[0][1]
    elif within.at(storage, "useAllDevices") is True or (said.is_chart and within.at(storage, "useAllDevices") is None):
        devices = "all that are empty"
        place = said.at(*said.prefix, "storage", "useAllDevices")
    elif within.sequence(storage, "storageClassDeviceSets"):
        devices = "volumes of storageClassDeviceSets"
    else:
        return
    yield DeviceStorage(
        cluster=said.cluster,
        kind=CEPH,
        what=said.what,
        devices=devices,
        place=place,
        names=names,
        component=said.component,
        namespace=said.namespace,
        nodes=tuple(
            (str(within.at(node, "name")), said.at(*said.prefix, "storage", "nodes", number, "name"))
            for number, node in enumerate(within.sequence(storage, "nodes"))
        ),
    )


def _ceph_names(storage: Any, said: _Said) -> Iterator[tuple[str, Place]]:
    for way, inner in (
        ((), storage),
        *((("nodes", number), node) for number, node in enumerate(within.sequence(storage, "nodes"))),
    ):
        steps = (*said.prefix, "storage", *way)
        for number, device in enumerate(within.sequence(inner, "devices")):
            name = str(within.at(device, "fullpath") or within.at(device, "name") or "")
            if name:
                yield name, said.at(*steps, "devices", number)
        for field in ("deviceFilter", "devicePathFilter"):
            if isinstance(within.at(inner, field), str):
                yield within.at(inner, field), said.at(*steps, field)


def _named(item: AppliedObject, steps: tuple[str | int, ...], kind: str) -> Iterator[DeviceStorage]:
    found: Names = tuple(
        (str(each), item.object.at(*steps, number)) for number, each in enumerate(within.sequence(item.value, *steps))
    )
    if found:
        yield DeviceStorage(
            cluster=item.cluster,
            kind=kind,
            what=str(item.object.id),
            devices=", ".join(name for name, _ in found),
            place=found[0][1],
            names=found,
            component=item.component.name,
            namespace=item.object.id.namespace,
        )


def _live(scene: PlatformView, cluster: str) -> Iterator[DeviceStorage]:
    """CephClusters that the cluster has and the repo does not."""
    live = scene.live.get(cluster)
    declared = {each.object.id.name for each in scene.of_cluster(cluster, CEPH)}
    for value in live.of(CEPH) if live else ():
        name, namespace = str(within.at(value, "metadata", "name")), str(within.at(value, "metadata", "namespace"))
        if name not in declared:
            what = f"CephCluster {namespace}/{name}, which is only in the cluster,"
            said = _Said(cluster, "", what, lambda *_: Place(cluster), ("spec",), namespace)
            yield from _ceph(value.get("spec"), said)
