"""Sync waves of Argo CD that do nothing, or put something before what it needs."""

from collections.abc import Iterator

from firstlight.commands.audit import apply_order, stated_edits
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, sequence, text
from firstlight.model import argocd_names
from firstlight.model.component import Component, Origin, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts
from firstlight.repo.platform_view import PlatformView

_HEALTH = "waves-without-health"
_ROOTLESS = "argocd-waves-without-parent"
_IDLE = (_ROOTLESS, "argocd-wave-on-generated", "argocd-wave-replaced")
"""What the reader of Argo CD says of waves."""

Waved = tuple[Component, Origin, int]


def waves_unhealthy(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Waves of Applications that do not wait until those before are healthy."""
    yield from _said(rule, scene, (_HEALTH,))


def waves_idle(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Waves that order nothing."""
    yield from _said(rule, scene, _IDLE)


def _said(rule: AuditRule, scene: PlatformView, codes: tuple[str, ...]) -> Iterator[Finding]:
    found: dict[str, list[Diagnostic]] = {}
    for diagnostic in scene.platform.diagnostics:
        if diagnostic.code in codes:
            found.setdefault(diagnostic.message, []).append(diagnostic)
    for message, (first, *more) in found.items():
        evidence = tuple(Evidence("and here", each.place) for each in more)
        # The Application that brings them may be made elsewhere: by hand, by Terraform, by a chart.
        severity = Severity.NOTE if first.code == _ROOTLESS else None
        yield rule.finding(message, at=first.place, fix=first.fix, evidence=evidence, severity=severity)


def waves_early(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Applications in an earlier wave than one of the same parent that they need.

    Within one sync Argo CD itself moves namespaces and CRDs before the first object that needs them.
    """
    for cluster in scene.clusters:
        waved: dict[str, list[Waved]] = {}
        for component in scene.platform.components_of(cluster.name):
            for origin in component.origins:
                if origin.form is SourceForm.APPLICATION:
                    waved.setdefault(origin.parent, []).append((component, origin, origin.wave or 0))
        for parent, group in waved.items():
            if parent:
                yield from _applications(rule, scene, group)


def _applications(rule: AuditRule, scene: PlatformView, group: list[Waved]) -> Iterator[Finding]:
    waits = not any(each.code == _HEALTH for each in scene.platform.diagnostics)
    for component, origin, wave in group:
        # A thing that comes with another one in an earlier wave is there in time.
        for what, shown, who in _needs(scene, component, origin, group):
            if not who or min(each[2] for each in who) <= wave:
                continue
            other, there, later = min(who, key=lambda each: each[2])
            stated = scene.declaring(origin)
            steps = ("metadata", "annotations", argocd_names.SYNC_WAVE_ANNOTATION)
            yield rule.finding(
                f"{origin.name} is in wave {wave}, and needs {what} of {there.name}, which is in wave {later}"
                + (f": {origin.name} is never healthy, and the wave never ends" if waits else ""),
                at=stated.at(*steps) if stated else origin.place,
                clusters=(component.cluster,),
                subject=component.name,
                evidence=(shown, Evidence(f"{other.name} is in wave {later}", there.place)),
                # Without a health check of Applications the next wave comes in any case.
                severity=None if waits else Severity.WARNING,
            )
            break


def _needs(
    scene: PlatformView, component: Component, origin: Origin, group: list[Waved]
) -> Iterator[tuple[str, Evidence, list[Waved]]]:
    """What an Application needs: volumes, and kinds of its objects."""
    classes = [each for each in group if each[0].role == "storage" and each[1].id != origin.id]
    storage = _claims(scene, component, origin)
    if storage is not None and component.role != "storage":
        yield "the volumes", storage, classes
    brought = apply_order.suppliers_of_kinds(scene, component.cluster)
    for each in origin.stated:
        who = {id(other) for _, other in brought.get(each.id.group, ())}
        mine = [other for other in group if id(other[1]) in who]
        # Argo CD's own kinds are there before it reads anything.
        if who and len(mine) == len(who) and each.id.group != argocd_names.GROUP:
            yield f"the kind {each.id.kind}", Evidence(f"{origin.name} has {each.id}", each.place), mine


def _claims(scene: PlatformView, component: Component, origin: Origin) -> Evidence | None:
    """What shows that it does not start without volumes."""
    for each in origin.stated:
        if each.id.kind == "PersistentVolumeClaim" or sequence(each.value, "spec", "volumeClaimTemplates"):
            return Evidence(f"{each.id} claims volumes", each.place)
    if not any(isinstance(each, ChartSource) for each in cluster_facts.sources(origin)):
        return None
    for path in (("server", "dataStorage", "enabled"), ("persistence", "enabled"), ("dataStorage", "enabled")):
        given = scene.value(component, *path)
        if given is not None and given.value is True:
            return Evidence(f"{'.'.join(path)} claims volumes", given.place)
    return None


# Applications whose deletion deletes what nobody wants to lose.


_LOST = {
    "cni": "the network of every pod",
    "storage": "what serves the volumes",
    "engine": "the engine itself",
}
"""What goes with an Application, by the role of its component; CRDs do not, since Argo CD marks none as its own."""


def deleting_finalizers(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Applications of the foundation, and those that bring others, that delete all they have when they are deleted."""
    told: set[tuple[str, str]] = set()
    for component in scene.platform.components:
        for origin in component.origins:
            written = [str(each) for each in sequence(origin.definition, "metadata", "finalizers")]
            cascading = [each for each in written if each.partition("/")[0] == argocd_names.RESOURCES_FINALIZER]
            if origin.form is not SourceForm.APPLICATION:
                continue
            if not cascading:
                # Only of the foundation: everybody's ApplicationSets are like that.
                if component.role in _LOST and _is_given_by_default(origin):
                    yield from _of_set(rule, scene, component, origin, told)
                continue
            children = [
                each
                for each in scene.platform.components_of(component.cluster)
                if any(inner.parent == origin.id for inner in each.origins)
            ]
            lost = _LOST.get(component.role) or _counted(children)
            if not lost:
                continue
            if origin.maker:
                yield from _of_set(rule, scene, component, origin, told)
                continue
            stated = stated_edits.declaring_object(scene, origin)
            steps = ("metadata", "finalizers")
            whole = len(written) == len(cascading)
            edits = stated_edits.remove_edit(stated, *steps, *(() if whole else (written.index(cascading[0]),)))
            yield rule.finding(
                f"Application {origin.name} has the finalizer {cascading[0]}: deleted, it deletes {lost}",
                at=stated.at("metadata", "finalizers") if stated else origin.place,
                clusters=(component.cluster,),
                subject=component.name,
                evidence=tuple(Evidence(f"it brings {each.name}", each.origins[0].place) for each in children),
                edits=edits,
                severity=None if component.role in _LOST else Severity.WARNING,
            )


def _is_given_by_default(origin: Origin) -> bool:
    """Whether an ApplicationSet makes it, and adds the finalizer because nobody told it not to."""
    keeps = at(origin.maker, "spec", "syncPolicy", "preserveResourcesOnDeletion")
    return bool(origin.maker) and keeps is not True


def _of_set(
    rule: AuditRule, scene: PlatformView, component: Component, origin: Origin, told: set[tuple[str, str]]
) -> Iterator[Finding]:
    """One finding for all Applications of a set; its controller adds the finalizer again where it is only left out."""
    name = text(origin.maker, "metadata", "name")
    if not name or (component.cluster, name) in told:
        return
    told.add((component.cluster, name))
    stated = stated_edits.declaring_object(scene, origin)
    is_written = bool(sequence(origin.definition, "metadata", "finalizers"))
    how = "gives its Applications" if is_written else "lets Argo CD give its Applications"
    also = (
        ", and take the finalizer out of its template. Without the first, Argo CD adds it again" if is_written else ""
    )
    yield rule.finding(
        f"ApplicationSet {name} {how} the finalizer {argocd_names.RESOURCES_FINALIZER}: "
        f"deleted, {origin.name} and the others delete what they have applied",
        at=stated.at("spec", *(("template", "metadata", "finalizers") if is_written else ("syncPolicy",)))
        if stated
        else origin.place,
        clusters=(component.cluster,),
        subject=component.name,
        fix=f"Set spec.syncPolicy.preserveResourcesOnDeletion: true on ApplicationSet {name}{also}.",
        severity=None if is_written and component.role in _LOST else Severity.WARNING,
        key=f"finalizer of ApplicationSet {name}",
    )


def _counted(children: list[Component]) -> str:
    return "" if not children else "an Application" if not children[1:] else f"{len(children)} Applications"


# Applications that could not take over what bootstrap brought.


_SERVER_SIDE = "ServerSideApply=true"
_REPLACE = "Replace=true"


def cannot_take_over(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Applications without server-side apply of components that bootstrap installs first."""
    for component in scene.platform.components:
        first = cluster_facts.origins(component, Side.BOOTSTRAP)
        if not first or not cluster_facts.is_adopted(component):
            continue
        for origin in cluster_facts.origins(component, Side.GITOPS):
            options = [str(each) for each in sequence(origin.definition, "spec", "syncPolicy", "syncOptions")]
            replaces = _REPLACE in options
            if origin.form is not SourceForm.APPLICATION or (_SERVER_SIDE in options and not replaces):
                continue
            stated = stated_edits.declaring_object(scene, origin)
            is_set = bool(text(origin.maker, "kind"))
            steps = (*(("spec", "template") if is_set else ()), "spec", "syncPolicy", "syncOptions")
            why = f"{_REPLACE} wins over {_SERVER_SIDE}" if replaces else f"it has no {_SERVER_SIDE}"
            yield rule.finding(
                f"Application {origin.name} cannot take {component.name} over from bootstrap: {why}",
                at=stated.at(*steps) if stated else origin.place,
                clusters=(component.cluster,),
                subject=component.name,
                evidence=(Evidence(f"bootstrap brings {component.name}, too", first[0].place),),
                edits=() if replaces else stated_edits.append_edit(stated, *steps, value=_SERVER_SIDE),
                fix=f"Leave {_REPLACE} out of syncOptions." if replaces else "",
            )
