"""What disappears from a cluster with all that hangs on it when a file disappears from Git."""

from collections import defaultdict
from collections.abc import Iterator

from firstlight.commands.audit import stated_edits, wording
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.model.component import Origin, Side, SourceForm, Stated
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import FileEdit, Finding
from firstlight.repo.platform_view import AppliedObject, PlatformView

_KEPT = ("Prune=false", "Prune=confirm")
_CNI_WORKLOADS = ("apps/DaemonSet", flux_names.HELM_RELEASE_GROUP_KIND)
_SHOWN = 8


def definitions(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """CRDs that are pruned, and with them all their objects; one finding for those of one Kustomization."""
    found: dict[tuple[str, str], list[AppliedObject]] = defaultdict(list)
    for item in scene.of_kind("apiextensions.k8s.io/CustomResourceDefinition"):
        # Argo CD marks no CRD as its own, and so never prunes one. Flux's own kinds stand like that in everybody's
        # repo, and go only with Flux itself.
        is_flux = item.origin.form is SourceForm.KUSTOMIZATION and not item.object.id.name.endswith(
            f".{flux_names.TOOLKIT_DOMAIN}"
        )
        if is_flux and _is_pruned(item.origin, item.object):
            found[item.cluster, item.origin.id].append(item)
    for (cluster, _), items in found.items():
        first, names = items[0], wording.first_name(each.object.id.name for each in items)
        yield rule.finding(
            f"{first.origin.name} prunes CustomResourceDefinition {names}: "
            "taken out of Git, all objects of these kinds go with it",
            at=first.object.place,
            clusters=(cluster,),
            subject=first.component.name,
            evidence=tuple(Evidence(each.object.id.name, each.object.place) for each in items[:_SHOWN]),
            edits=tuple(edit for each in items for edit in _keep(each)),
            key=f"{first.origin.id} prunes CRDs",
        )


def namespaces(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Namespaces that are pruned, and with them the data of others."""
    data = _data(scene)
    for item in scene.of_kind("/Namespace"):
        if not _is_pruned(item.origin, item.object):
            continue
        others = [
            each
            for each in data.get((item.cluster, item.object.id.name), ())
            if not _brings(scene, item.origin, each.origin)
        ]
        if others:
            yield rule.finding(
                f"{item.origin.name} prunes Namespace {item.object.id.name}, "
                f"which holds {others[0].object.id.kind} {others[0].object.id.name} of {others[0].origin.name}",
                at=item.object.place,
                clusters=(item.cluster,),
                subject=item.component.name,
                evidence=tuple(
                    Evidence(f"{each.object.id} of {each.origin.name}", each.object.place) for each in others[:_SHOWN]
                ),
                edits=_keep(item),
            )


def network(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """The CNI, as a HelmRelease or as it is, in a Kustomization that prunes."""
    for item in scene.of_kind(*_CNI_WORKLOADS):
        component = next(
            (
                each
                for each in scene.with_role("cni", item.cluster)
                if any(origin.place == item.object.place for origin in each.origins) or each is item.component
            ),
            None,
        )
        is_flux = item.origin.form is SourceForm.KUSTOMIZATION
        if component is not None and is_flux and _is_pruned(item.origin, item.object):
            yield rule.finding(
                f"{item.origin.name} prunes {item.object.id.kind} {item.object.id.name}: "
                "taken out of Git by mistake, the network of every pod goes with it",
                at=item.object.place,
                clusters=(item.cluster,),
                subject=component.name,
                edits=_keep(item),
                severity=Severity.WARNING,
            )


def _is_pruned(origin: Origin, stated: Stated) -> bool:
    metadata = mapping(stated.value, "metadata")
    marks = {**mapping(metadata, "labels"), **mapping(metadata, "annotations")}
    if origin.side is not Side.GITOPS:
        return False
    if origin.form is SourceForm.KUSTOMIZATION:
        off = [
            str(marks.get(each, "")).lower() == "disabled"
            for each in (flux_names.PRUNE_ANNOTATION, flux_names.RECONCILE_ANNOTATION)
        ]
        return at(origin.definition, "spec", "prune") is True and not any(off)
    if origin.form is SourceForm.APPLICATION:
        options = [each.strip() for each in str(marks.get(argocd_names.SYNC_OPTIONS_ANNOTATION, "")).split(",")]
        said = [str(each) for each in sequence(origin.definition, "spec", "syncPolicy", "syncOptions")]
        is_on = at(origin.definition, "spec", "syncPolicy", "automated", "prune") is True
        return is_on and not any(each in _KEPT for each in (*options, *said))
    return False


def _keep(item: AppliedObject) -> tuple[FileEdit, ...]:
    """The annotation that keeps an object; not where Argo CD's options are said already and would be written over."""
    stated = item.object
    # A value that a kustomization wrote, or one that is there already, is a person's to change.
    if item.origin.form is SourceForm.KUSTOMIZATION:
        return stated_edits.set_edit(stated, "metadata", "annotations", flux_names.PRUNE_ANNOTATION, value="disabled")
    if text(stated.value, "metadata", "annotations", argocd_names.SYNC_OPTIONS_ANNOTATION):
        return ()
    return stated_edits.set_edit(
        stated, "metadata", "annotations", argocd_names.SYNC_OPTIONS_ANNOTATION, value=_KEPT[0]
    )


def _data(scene: PlatformView) -> dict[tuple[str, str], list[AppliedObject]]:
    """What holds data, by cluster and namespace."""
    found: dict[tuple[str, str], list[AppliedObject]] = defaultdict(list)
    kinds = (
        "/PersistentVolumeClaim",
        "postgresql.cnpg.io/Cluster",
        "ceph.rook.io/CephCluster",
        "kafka.strimzi.io/Kafka",
    )
    for item in (*scene.of_kind(*kinds), *scene.of_kind("apps/StatefulSet")):
        if item.object.id.kind == "StatefulSet" and not sequence(item.value, "spec", "volumeClaimTemplates"):
            continue
        found[item.cluster, item.object.id.namespace].append(item)
    return found


def _brings(scene: PlatformView, origin: Origin, other: Origin) -> bool:
    """Whether one is the other, or brings it: then they belong together."""
    above = {each.id: each for part in scene.platform.components_of(origin.cluster) for each in part.origins}
    seen: set[str] = set()
    while other.id not in seen:
        if other.id == origin.id:
            return True
        seen.add(other.id)
        other = above.get(other.parent, other)
    return False
