"""Whether Talos is installed to a disk that is chosen by a name which another disk may have after the next boot."""

import re
from collections.abc import Iterator

from firstlight.commands.audit import storage_clusters, wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model import talos_facts
from firstlight.model.cluster import Cluster, MachinePart
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_KERNEL_NAME = re.compile(r"/dev/(?:sd[a-z]{1,2}|nvme\d+n\d+)")
"""Of machines: those of virtual ones (vda, xvda) have the disks that somebody gave them, in order."""
_BY_PATH = re.compile(r"disk\.dev_path\s*==\s*[\"'](?P<name>/dev/\w+)[\"']")
_GUESTS = ("qemu-guest-agent", "vmtoolsd", "vmtoolsd-guest-agent", "xen-guest-agent")
"""Extensions of virtual machines."""
_INSTALLATION = "UnattendedInstallConfig"
_VOLUMES = frozenset({"UserVolumeConfig", "RawVolumeConfig", "LVMVolumeGroupConfig", "RAIDArrayConfig"})
_SHOWN = 8

Named = tuple[str, Place]


def by_kernel_name(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Install disks by kernel names; one finding for a cluster."""
    for cluster in scene.clusters:
        named = sorted({place: name for name, place in _named(cluster)}.items())
        if not named or _is_virtual(scene, cluster):
            continue
        others = next(_other_disks(scene, cluster), None)
        names = wording.listed_names(dict.fromkeys(name for _, name in named))
        why = "its machines have more disks" if others else "another disk may have that name after the next boot"
        yield rule.finding(
            f"Talos is installed to {names}, chosen by kernel name: {why}",
            at=named[0][0],
            clusters=(cluster.name,),
            evidence=(
                *(Evidence(name, place) for place, name in named[:_SHOWN]),
                *([Evidence("another disk is used here", others)] if others else []),
            ),
            fix=_fix(cluster),
            key=f"install disk of {cluster.name}",
            # Of a machine with one disk it cannot be another one.
            severity=None if others else Severity.NOTE,
        )


def _named(cluster: Cluster) -> Iterator[Named]:
    """Yield the disks by their kernel names; those of machines only where no config has the line itself."""
    stated = list(_stated(cluster))
    yield from stated
    paths = {place.path for _, place in stated}
    for machine in cluster.machines:
        if _KERNEL_NAME.fullmatch(machine.install_disk) and machine.place.path not in paths:
            yield machine.install_disk, machine.place


def _stated(cluster: Cluster) -> Iterator[Named]:
    for part in cluster.parts:
        disk = part.config.get("machine", "install", "disk")
        has_selector = part.config.get("machine", "install", "diskSelector") is not None
        if not part.kind and isinstance(disk, str) and _KERNEL_NAME.fullmatch(disk) and not has_selector:
            yield disk, part.config.place("machine", "install", "disk")
        if part.kind == _INSTALLATION:
            steps = ("provisioning", "diskSelector", "match")
            found = part.config.get(*steps)
            match = _BY_PATH.search(found) if isinstance(found, str) else None
            if match is not None and _KERNEL_NAME.fullmatch(match["name"]):
                yield match["name"], part.config.place(*steps)


def _other_disks(scene: PlatformView, cluster: Cluster) -> Iterator[Place]:
    """Yield where the repo shows that machines have other disks than the one that Talos is installed to."""
    for part in cluster.parts:
        if within.sequence(part.config.value, "machine", "disks"):
            yield part.config.place("machine", "disks")
        elif part.kind in _VOLUMES and _is_elsewhere(part):
            yield part.config.place()
    for store in storage_clusters.stores(scene, cluster.name):
        if store.names:
            yield store.place


def _is_elsewhere(part: MachinePart) -> bool:
    """Whether a volume asks for a disk that is not the system's."""
    match = part.config.get("provisioning", "diskSelector", "match")
    return isinstance(match, str) and ("!system_disk" in match.replace(" ", "") or "system_disk" not in match)


def _is_virtual(scene: PlatformView, cluster: Cluster) -> bool:
    if any(each.rpartition("/")[2] in _GUESTS for machine in cluster.machines for each in machine.extensions):
        return True
    return any(guest in (scene.files.text(place.path) or "") for place in cluster.files for guest in _GUESTS)


def _fix(cluster: Cluster) -> str:
    if talos_facts.has_documents(cluster) or any(part.kind == _INSTALLATION for part in cluster.parts):
        return (
            f"In {_INSTALLATION}, match disk.serial, disk.wwid or disk.model in provisioning.diskSelector.match "
            "(talosctl get disks shows them)."
        )
    if any("talconfig" in kinds for kinds in cluster.documents.values()):
        return "Write installDiskSelector with serial, wwid or model (talosctl get disks shows them)."
    return "Write machine.install.diskSelector with serial, wwid or model (talosctl get disks shows them)."
