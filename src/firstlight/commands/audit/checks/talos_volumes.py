"""Volumes of Talos from which nothing can be executed since 1.14."""

import re
from collections.abc import Iterator, Mapping

from firstlight.commands.audit import wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document import within
from firstlight.model import talos_facts, versions
from firstlight.model.cluster import Cluster, MachinePart
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import PlatformView

_KINDS = frozenset({"UserVolumeConfig", "ExistingVolumeConfig", "ExternalVolumeConfig"})
_LONGHORN = "/var/lib/longhorn"
"""Longhorn puts the programs of its engines below this directory of the host, whatever its data path is."""
_SHOWN = 8


def without_exec(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Volumes that are mounted noexec although something of the repo works on them."""
    for cluster in scene.clusters:
        line = versions.minor(cluster.talos)
        if line is None or line < talos_facts.DOCUMENTS:
            continue
        for part in cluster.parts:
            if part.kind not in _KINDS or part.config.get("mount", "secure") is not None:
                continue
            if name := within.text(part.config.value, "name"):
                yield from _used(rule, scene, cluster, part, f"/var/mnt/{name}")


def _used(
    rule: AuditRule, scene: PlatformView, cluster: Cluster, part: MachinePart, path: str
) -> Iterator[Finding]:  # fmt: skip
    longhorn = next(_longhorn_mounts(cluster, path), None)
    users = _users(scene, cluster, path)
    if longhorn is None and not users:
        return
    what = "Longhorn, which executes its engines there" if longhorn else wording.listed_names(users)
    places = [longhorn] if longhorn else []
    yield rule.finding(
        f"{part.kind} at {path} is mounted noexec since Talos 1.14, and is used by {what}",
        at=part.config.place(),
        clusters=(cluster.name,),
        evidence=(
            *(Evidence(f"mounted at {_LONGHORN}", place) for place in places),
            *(Evidence(f"{name} uses {path}", place) for name, place in [*users.items()][:_SHOWN]),
        ),
        key=f"{path} of {cluster.name}",
        # What others keep there need not be programs.
        severity=None if longhorn else Severity.NOTE,
    )


def _longhorn_mounts(cluster: Cluster, path: str) -> Iterator[Place]:
    """Yield where kubelets are told to show a volume, or a part of it, at Longhorn's directory."""
    steps = ("machine", "kubelet", "extraMounts")
    for part in cluster.parts:
        for number, mount in enumerate(within.sequence(part.config.value, *steps) if not part.kind else ()):
            source = within.text(mount, "source")
            is_of_volume = source == path or source.startswith(f"{path}/")
            if is_of_volume and within.text(mount, "destination").startswith(_LONGHORN):
                yield part.config.place(*steps, number)


def _users(scene: PlatformView, cluster: Cluster, path: str) -> Mapping[str, Place]:
    """Components whose values or objects name a directory of the volume."""
    named = re.compile(rf"(?<![\w/.-]){re.escape(path)}(?![\w.-])")
    found: dict[str, Place] = {}
    for component in scene.platform.components_of(cluster.name):
        for layer in scene.values(component):
            if wording.mentions(layer.value, named):
                found.setdefault(component.name, component.origins[0].place)
        for origin in component.origins:
            for stated in origin.stated:
                if stated.id.kind != "Secret" and wording.mentions(stated.value, named):
                    found.setdefault(component.name, stated.place)
    return found
