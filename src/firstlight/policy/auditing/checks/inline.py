"""Manifests that Talos itself applies: few, and nobody else's."""

import re
from collections.abc import Iterator

from firstlight.model.component import Component, Form, Origin, Owner, Side
from firstlight.model.finding import Evidence, Severity
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.plan import boundary, facts
from firstlight.policy.auditing import listing
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Item, Scene
from firstlight.policy.deciding.versions import allows

_FORMS = {Form.INLINE_MANIFEST, Form.EXTRA_MANIFEST}
_ROLES = {"cni", "engine", "dns", "crds", "certificates", "metrics", "load-balancers"}
"""What Talos's own documentation embeds, or what the network and the engine cannot start without."""
_NEEDED = re.compile(r"cloud-controller|\bccm\b|csr|cert-approver|metrics-server|gateway-api")
"""Nodes are not initialised, or kubelets have no certificates, without these."""
_SHOWN = 60
"""Characters of a value."""
_WORKLOADS = {"Deployment", "DaemonSet", "StatefulSet", "CronJob"}


def beyond_core(scene: Scene) -> Iterator[Hit]:
    """Workloads among the inline manifests that are neither the network nor the engine."""
    for component, origin in _inline(scene):
        workloads = [each for each in origin.objects if each.kind in _WORKLOADS]
        if component.role not in _ROLES and workloads and not _NEEDED.search(component.name):
            yield Hit(
                message=f"{component.name} is an inline manifest, and neither the network nor the engine",
                place=origin.place,
                clusters=(component.cluster,),
                component=component.name,
                evidence=tuple(Evidence(f"it has {each}", origin.place) for each in workloads[:3]),
            )


def owned_twice(scene: Scene) -> Iterator[Hit]:
    """An inline manifest that Git owns as well, of the same version as far as that is known."""
    for component, origin, theirs in _also_in_git(scene):
        if not _are_apart(component) and not _changed(scene, component, origin):
            yield Hit(
                message=f"{component.name} is embedded in the machine config, and Git owns it as well",
                place=origin.place,
                clusters=(component.cluster,),
                component=component.name,
                evidence=(Evidence(f"Git has it as {theirs.form}", theirs.place),),
                # With a firstlight.yaml the handover releases it from Talos.
                severity=Severity.NOTE if scene.platform.declared is not None else None,
            )


def stale(scene: Scene) -> Iterator[Hit]:
    """An inline manifest of another version than Git has, or with objects that Git has otherwise."""
    for component, origin in _inline(scene):
        changed = () if _are_apart(component) else tuple(_changed(scene, component, origin))
        if changed:
            names = listing.listed(what for what, _, _ in changed)
            yield Hit(
                message=f"Git has {names} otherwise than the machine config: the next upgrade-k8s takes it back",
                place=changed[0][1],
                clusters=(component.cluster,),
                component=component.name,
                evidence=tuple(each for _, _, both in changed[:3] for each in both),
            )
    for component, origin, theirs in _also_in_git(scene):
        if _are_apart(component):
            embedded, wanted = facts.versions(component)
            yield Hit(
                message=f"{component.name} is embedded as {embedded}, and Git has {wanted}: "
                "the next upgrade-k8s takes it back",
                place=origin.place,
                clusters=(component.cluster,),
                component=component.name,
                evidence=(Evidence(f"{wanted} in Git", theirs.place),),
            )


def _changed(scene: Scene, component: Component, origin: Origin) -> list[tuple[str, Place, tuple[Evidence, ...]]]:
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


def _is_gits(item: Item, cluster: str) -> bool:
    return item.cluster == cluster and item.origin.side is Side.GITOPS


def _are_apart(component: Component) -> bool:
    embedded, wanted = facts.versions(component)
    return bool(embedded and wanted) and allows(wanted, embedded) is False


def _inline(scene: Scene) -> Iterator[tuple[Component, Origin]]:
    for component in scene.platform.components:
        for origin in facts.origins(component, Side.BOOTSTRAP):
            if origin.form in _FORMS:
                yield component, origin


def _also_in_git(scene: Scene) -> Iterator[tuple[Component, Origin, Origin]]:
    """Inline workloads whose component Git has; a Job that installs something is not the thing itself."""
    for component, origin in _inline(scene):
        theirs = facts.origins(component, Side.GITOPS)
        has_workloads = any(each.kind in _WORKLOADS for each in origin.objects)
        if component.owner is Owner.GITOPS and theirs and has_workloads:
            yield component, origin, theirs[0]
