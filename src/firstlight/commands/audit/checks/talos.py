"""Machine configs that do not fit what is installed, or are dangerous to leave so."""

import re
from collections.abc import Iterator

from firstlight.commands.audit import wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.model import fact
from firstlight.model.cluster import Cluster, ConfigBase
from firstlight.model.component import Component, Origin, Owner, Side, SourceForm
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.plan import boundary, cluster_facts
from firstlight.plan.version_bump import allows
from firstlight.repo.platform_view import AppliedObject, PlatformView


def wiping(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A disk that is wiped whenever Talos is installed to it."""
    for cluster in scene.clusters:
        for part in cluster.parts:
            steps = ("machine", "install", "wipe")
            if part.config.get(*steps) is True:
                yield rule.finding(
                    "machine.install.wipe is true: whoever installs the machine anew loses what the disk holds",
                    at=part.config.place(*steps),
                    clusters=(cluster.name,),
                    fix="Set machine.install.wipe: false once the machine is installed.",
                )
        yield from _unattended(rule, cluster)


def _unattended(rule: AuditRule, cluster: Cluster) -> Iterator[Finding]:
    """The document of Talos 1.14 that installs; without ``wipe`` it wipes, unless another part says otherwise."""
    parts = [each for each in cluster.parts if each.kind == "UnattendedInstallConfig"]
    steps = ("provisioning", "wipe")
    told = [each for each in parts if each.config.get(*steps) is not None]
    for part in told or parts[:1]:
        if part.config.get(*steps) not in (None, True):
            continue
        whole = cluster.base is ConfigBase.WHOLE and not cluster.unread
        default = fact.default(True, "UnattendedInstallConfig wipes unless it is told not to", is_certain=True)
        # What is patched may say it already: generated configs do.
        known = default if whole else fact.unknown(True, "the document may be a part of a generated one")
        said = "is true" if told else "is not said, and true by default"
        yield rule.finding(
            f"provisioning.wipe of UnattendedInstallConfig {said}: a new installation loses what the disk holds",
            at=part.config.place(*steps),
            clusters=(cluster.name,),
            fix="Set provisioning.wipe: false once the machine is installed.",
            rests=() if told else (known,),
        )


# Manifests that Talos itself applies: few, and nobody else's.


_FORMS = {SourceForm.INLINE_MANIFEST, SourceForm.EXTRA_MANIFEST}
_ROLES = {"cni", "engine", "dns", "crds", "certificates", "metrics", "load-balancers"}
"""What Talos's own documentation embeds, or what the network and the engine cannot start without."""
_NEEDED = re.compile(r"cloud-controller|\bccm\b|csr|cert-approver|metrics-server|gateway-api")
"""Nodes are not initialised, or kubelets have no certificates, without these."""
_SHOWN = 60
"""Characters of a value."""
_WORKLOADS = {"Deployment", "DaemonSet", "StatefulSet", "CronJob"}


def inline_beyond_core(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Workloads among the inline manifests that are neither the network nor the engine."""
    for component, origin in _inline(scene):
        workloads = [each for each in origin.objects if each.kind in _WORKLOADS]
        if component.role not in _ROLES and workloads and not _NEEDED.search(component.name):
            yield rule.finding(
                f"{component.name} is an inline manifest, and neither the network nor the engine",
                at=origin.place,
                clusters=(component.cluster,),
                subject=component.name,
                evidence=tuple(Evidence(f"it has {each}", origin.place) for each in workloads[:3]),
            )


def inline_owned_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """An inline manifest that Git owns as well, of the same version as far as that is known."""
    for component, origin, theirs in _also_in_git(scene):
        if not _are_apart(component) and not _changed(scene, component, origin):
            yield rule.finding(
                f"{component.name} is embedded in the machine config, and Git owns it as well",
                at=origin.place,
                clusters=(component.cluster,),
                subject=component.name,
                evidence=(Evidence(f"Git has it as {theirs.form}", theirs.place),),
                # With a firstlight.yaml the handover releases it from Talos.
                severity=Severity.NOTE if scene.platform.declared is not None else None,
            )


def inline_stale(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """An inline manifest of another version than Git has, or with objects that Git has otherwise."""
    for component, origin in _inline(scene):
        changed = () if _are_apart(component) else tuple(_changed(scene, component, origin))
        if changed:
            names = wording.listed_names(what for what, _, _ in changed)
            yield rule.finding(
                f"Git has {names} otherwise than the machine config: the next upgrade-k8s takes it back",
                at=changed[0][1],
                clusters=(component.cluster,),
                subject=component.name,
                evidence=tuple(each for _, _, both in changed[:3] for each in both),
            )
    for component, origin, theirs in _also_in_git(scene):
        if _are_apart(component):
            embedded, wanted = cluster_facts.versions(component)
            yield rule.finding(
                f"{component.name} is embedded as {embedded}, and Git has {wanted}: the next upgrade-k8s takes it back",
                at=origin.place,
                clusters=(component.cluster,),
                subject=component.name,
                evidence=(Evidence(f"{wanted} in Git", theirs.place),),
            )


def _changed(
    scene: PlatformView, component: Component, origin: Origin
) -> list[tuple[str, Place, tuple[Evidence, ...]]]:
    """Embedded objects that Git has as well and that differ: what, where, and both sides of the first difference."""
    theirs = {each.object.id: each.object for each in scene.items if _is_gits(each, component.cluster)}
    found: list[tuple[str, Place, tuple[Evidence, ...]]] = []
    for mine in origin.stated:
        other = theirs.get(mine.id)
        compared = boundary.compare([Object(mine.value)], [Object(other.value)]) if other else ()
        for each in (one.differences[0] for one in compared if one.differences):
            assert other is not None
            path, place = ".".join(str(step) for step in each.path), mine.at(*each.path)
            both = (
                Evidence(f"embedded: {path}: {(each.bootstrap or 'nothing')[:_SHOWN]}", place),
                Evidence(f"in Git: {path}: {(each.gitops or 'nothing')[:_SHOWN]}", other.at(*each.path)),
            )
            found.append((str(mine.id), place, both))
    return found


def _is_gits(item: AppliedObject, cluster: str) -> bool:
    return item.cluster == cluster and item.origin.side is Side.GITOPS


def _are_apart(component: Component) -> bool:
    embedded, wanted = cluster_facts.versions(component)
    return bool(embedded and wanted) and allows(wanted, embedded) is False


def _inline(scene: PlatformView) -> Iterator[tuple[Component, Origin]]:
    for component in scene.platform.components:
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            if origin.form in _FORMS:
                yield component, origin


def _also_in_git(scene: PlatformView) -> Iterator[tuple[Component, Origin, Origin]]:
    """Inline workloads whose component Git has; a Job that installs something is not the thing itself."""
    for component, origin in _inline(scene):
        theirs = cluster_facts.origins(component, Side.GITOPS)
        has_workloads = any(each.kind in _WORKLOADS for each in origin.objects)
        if component.owner is Owner.GITOPS and theirs and has_workloads:
            yield component, origin, theirs[0]
